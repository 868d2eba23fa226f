#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace monet::store {

// What a long search has found so far, in one SQLite file: a row for every point, by a key that says which one it is.
// Whatever was saved is there after a crash or a kill; what was added since is not, and nothing else is lost. The file
// is held by one process at a time.
class RunStore {
 public:
  struct Row {
    std::string key{};
    std::string reason{};          // why the point is not possible; empty: it is
    std::vector<double> values{};  // one for each column; none where it is not possible
    bool operator==(const Row&) const = default;
  };

  // Opens the file, or makes it. `question`: all that the rows depend on; `about`: what their keys mean, for who reads
  // the file without asking that question. Throws InputError if the file is no store, belongs to another question, is
  // held by another process or cannot be written.
  RunStore(const std::string& path, const std::string& question, const std::vector<std::string>& columns,
           const std::string& about = "");
  ~RunStore();  // saves
  RunStore(const RunStore&) = delete;
  RunStore& operator=(const RunStore&) = delete;

  std::size_t size() const;
  std::optional<Row> find(std::string_view key) const;
  void add(const Row& row);  // one that is there already stays as it is
  // Takes in all rows of another file that answers the same question; says how many were new. Throws InputError.
  std::size_t merge(const std::string& path);
  void save();

 private:
  friend class StoreReader;
  struct Database;
  std::unique_ptr<Database> database_;
};

// A store as it is, whatever its question: also one that a kill has left. Nothing is added.
class StoreReader {
 public:
  // Throws InputError if the file is not there, is no store, or is held by another process.
  explicit StoreReader(const std::string& path);
  ~StoreReader();
  StoreReader(const StoreReader&) = delete;
  StoreReader& operator=(const StoreReader&) = delete;

  const std::string& about() const { return about_; }                           // empty: nothing was said
  const std::vector<std::string>& columns() const { return columns_; }          // of the values
  void for_each(const std::function<void(const RunStore::Row&)>& visit) const;  // in the order of the keys' bytes

 private:
  std::unique_ptr<RunStore::Database> database_;
  std::string about_;
  std::vector<std::string> columns_;
};

}  // namespace monet::store
