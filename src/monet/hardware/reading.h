#pragma once
#include <deque>
#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "monet/base/config.h"
#include "monet/hardware/hardware.h"
#include "monet/hardware/origins.h"
#include "monet/hardware/verify.h"

namespace monet::hardware {

// What the readers of hardware files share: the files themselves, and where in them each part of the chip stands.

// The text of a file by its path. Throws InputError.
using ReadText = std::function<std::string(const std::string& path)>;

struct SourceFile {
  std::string path{}, sha256{};
  bool operator==(const SourceFile&) const = default;
};

// Keeps every file of one chip, parsed, while it is read.
class Sources {
 public:
  // Without `read` files are those of the file system. What `known` has parsed is not read again; it must outlive this.
  explicit Sources(ReadText read = {}, const Sources* known = nullptr);
  // Reads and parses a file; the same one only once.
  const config::Tree& open(const std::string& path);
  const config::Tree& add(std::string_view text, const std::string& path);
  const config::Tree& adopt(config::Tree tree);
  bool exists(const std::string& path) const;
  bool is_on_disk() const { return on_disk_; }
  const std::vector<SourceFile>& files() const { return files_; }

 private:
  bool on_disk_;
  ReadText read_;
  const Sources* known_;
  std::deque<config::Tree> trees_;
  std::map<std::string, const config::Tree*> by_path_;
  std::vector<SourceFile> files_;
};

// Where the parts of a chip stand in its files, by the paths verify.h uses.
class Places {
 public:
  void note(const std::string& path, const config::Value& value) { places_.insert_or_assign(path, value); }
  // Notes where the members of a part stand in its map: {member of hardware.h, key of the file}. A key may end in its
  // unit: `size` is also `size_kib`.
  void note_fields(const std::string& path, const config::Value& map,
                   std::initializer_list<std::pair<std::string_view, std::string_view>> fields);
  // Core `copy` was made of the lines of core `of`.
  void note_copy(std::size_t copy, std::size_t of) { copies_.insert_or_assign(core_path(copy), core_path(of)); }
  // The place of the part, or else of the part it belongs to.
  config::Value of(std::string path, const config::Value& otherwise) const;
  // All of them, without the trees.
  Origins origins() const;

 private:
  std::map<std::string, config::Value> places_;
  std::map<std::string, std::string> copies_;
};

// Applies the rules of verify.h and plausible.h and says where each one is broken.
void report(const Hardware& hardware, const Places& places, const config::Value& root, config::Findings& findings);

// Figures of a memory that its file leaves out, from its size, width, ports and node (technology.h).
struct Missing {
  bool read = false, write = false, leakage = false, area = false;
};
void complete(Memory& memory, const Missing& missing, double node_nm, std::string_view dram_type = "");

// "K, 32" -> {K, 32}: a name and a factor with a comma between; nothing if it is not that.
std::optional<std::pair<std::string, std::string>> split_pair(std::string_view text);

}  // namespace monet::hardware
