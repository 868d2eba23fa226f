// The only file that knows SQLite.
#include "monet/store/run_store.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <filesystem>
#include <utility>

#include "monet/base/assert.h"
#include "monet/base/diagnostic.h"

namespace monet::store {
namespace {

constexpr int kApplication = 0x4d4f4e45;  // SQLite's application_id: who made the file

std::string in_quotes(std::string_view name) {
  std::string out = "\"";
  for (const char c : name) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}

}  // namespace

struct RunStore::Database {
  // A prepared statement, ready to be run again and again.
  class Statement {
   public:
    Statement(Database& database, const std::string& sql) : database_(database) {
      database.check(sqlite3_prepare_v2(database.handle, sql.c_str(), -1, &statement_, nullptr));
    }
    ~Statement() { sqlite3_finalize(statement_); }
    Statement(const Statement&) = delete;
    Statement& operator=(const Statement&) = delete;

    void bind(int at, std::string_view text) {
      database_.check(sqlite3_bind_text(statement_, at, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT));
    }
    void bind(int at, double value) { database_.check(sqlite3_bind_double(statement_, at, value)); }
    void bind_nothing(int at) { database_.check(sqlite3_bind_null(statement_, at)); }
    bool step() {  // true: there is a row
      const int code = sqlite3_step(statement_);
      if (code != SQLITE_ROW && code != SQLITE_DONE) database_.check(code);
      return code == SQLITE_ROW;
    }
    void reset() { sqlite3_reset(statement_); }
    std::string text(int column) const {
      const auto* bytes = sqlite3_column_text(statement_, column);
      return bytes == nullptr ? ""
                              : std::string(reinterpret_cast<const char*>(bytes),
                                            static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)));
    }
    double number(int column) const { return sqlite3_column_double(statement_, column); }

   private:
    Database& database_;
    sqlite3_stmt* statement_ = nullptr;
  };

  explicit Database(std::string file, bool may_create = true) : path(std::move(file)) {
    const int code =
        sqlite3_open_v2(path.c_str(), &handle, SQLITE_OPEN_READWRITE | (may_create ? SQLITE_OPEN_CREATE : 0), nullptr);
    if (code != SQLITE_OK) close_and_refuse(code);
  }
  ~Database() {
    find.reset();
    insert.reset();
    sqlite3_close(handle);
  }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // Whose faults are told, for as long as it is there.
  class Named {
   public:
    Named(Database& database, std::string path)
        : database_(database), own_(std::exchange(database.path, std::move(path))) {
      database_.is_read = true;
    }
    ~Named() {
      database_.path = std::move(own_);
      database_.is_read = false;
    }
    Named(const Named&) = delete;
    Named& operator=(const Named&) = delete;

   private:
    Database& database_;
    std::string own_;
  };

  void close_and_refuse(int code) {
    const std::string message = handle != nullptr ? sqlite3_errmsg(handle) : sqlite3_errstr(code);
    sqlite3_close(handle);
    handle = nullptr;
    refuse_file(path, message, "is the folder there, and may it be written?");
  }

  void check(int code) const {
    if (code == SQLITE_OK) return;
    const std::string message = sqlite3_errmsg(handle);
    switch (code & 0xff) {
      case SQLITE_BUSY:
      case SQLITE_LOCKED: refuse_file(path, "another run has it open", "wait for it, or choose another --out");
      case SQLITE_NOTADB: refuse_file(path, "this is no run store", "--out and --merge take folders of runs");
      case SQLITE_CORRUPT: refuse_file(path, "the run store is damaged", "choose another --out, or remove the file");
      case SQLITE_FULL:
        refuse_file(path, "the disk is full", "what was saved before is in the file: make room, then --resume");
      case SQLITE_IOERR:
        // SQLite has no words of its own for a quota or a limit of file sizes.
        if (sqlite3_extended_errcode(handle) == SQLITE_IOERR_WRITE)
          refuse_file(path, "a write failed: the disk may be full, or a quota or a limit of file sizes reached",
                      "what was saved before is in the file: make room, then --resume");
        [[fallthrough]];
      case SQLITE_READONLY:
      case SQLITE_CANTOPEN:
        refuse_file(path, fmt::format("cannot be {}: {}", is_read ? "read" : "written", message),
                    is_read ? "reading a run, too, needs permission to write in its folder: copy it"
                            : "what was saved before is in the file: mend it, then --resume");
      default: refuse_file(path, message, "");
    }
  }

  void run(const std::string& sql) { check(sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, nullptr)); }
  std::string ask(const std::string& sql) {
    Statement s(*this, sql);
    return s.step() ? s.text(0) : "";
  }

  std::string path;
  std::string question, names;  // what the rows answer; their columns
  sqlite3* handle = nullptr;
  std::vector<std::string> figures;  // those of the columns that are numbers
  std::size_t rows = 0;
  std::unique_ptr<Statement> find, insert;
  bool is_open = false;  // a transaction
  bool is_read = false;  // and nothing else: a query, the other one of a merge
};

RunStore::RunStore(const std::string& path, const std::string& question, const std::vector<std::string>& columns,
                   const std::string& about)
    : database_(std::make_unique<Database>(path)) {
  Database& d = *database_;
  d.figures = columns;
  d.question = question;
  d.names = "key,reason";
  for (const std::string& c : columns) d.names += "," + c;
  // Whoever opens it holds it until the end.
  d.run("PRAGMA locking_mode = EXCLUSIVE");
  d.run("PRAGMA journal_mode = WAL");  // what is saved is safe from a kill at once, and costs no wait for the disk
  d.run("PRAGMA synchronous = NORMAL");
  d.run("BEGIN EXCLUSIVE");
  const auto set_question = [&] {
    d.run("DELETE FROM question");
    Database::Statement ask(d, "INSERT INTO question VALUES (?, ?)");
    ask.bind(1, question);
    ask.bind(2, about);
    ask.step();
  };
  const std::string application = d.ask("PRAGMA application_id");
  if (d.ask("SELECT count(*) FROM sqlite_master") == "0") {
    std::string kinds;
    for (const std::string& c : columns) kinds += fmt::format(", {} REAL", in_quotes(c));
    d.run(fmt::format("PRAGMA application_id = {}", kApplication));
    d.run("CREATE TABLE question (text TEXT NOT NULL, about TEXT NOT NULL)");
    d.run(fmt::format("CREATE TABLE points (key TEXT PRIMARY KEY NOT NULL, reason TEXT NOT NULL{}) WITHOUT ROWID",
                      kinds));
    set_question();
  } else if (application != std::to_string(kApplication)) {
    refuse_file(path, "this is a database, but no run store", "choose another --out");
  } else if (d.ask("SELECT text FROM question") != question) {
    if (d.ask("SELECT count(*) FROM points") != "0")
      refuse_file(path,
                  "it holds results of another question: a model, a file (to the byte), limits or other options that "
                  "change results are not the same",
                  "choose another --out");
    set_question();  // of a run that ended before its first result
  } else {
    if (d.ask("SELECT group_concat(name) FROM pragma_table_info('points')") != d.names)
      refuse_file(path, "it was made by another version of monet, which kept other figures", "choose another --out");
  }
  d.run("COMMIT");
  d.rows = static_cast<std::size_t>(std::stoull(d.ask("SELECT count(*) FROM points")));
  std::string list, marks;
  for (const std::string& c : columns) {
    list += ", " + in_quotes(c);
    marks += ", ?";
  }
  d.find = std::make_unique<Database::Statement>(d, fmt::format("SELECT reason{} FROM points WHERE key = ?", list));
  d.insert = std::make_unique<Database::Statement>(
      d, fmt::format("INSERT OR IGNORE INTO points (key, reason{}) VALUES (?, ?{})", list, marks));
}

RunStore::~RunStore() {
  try {
    save();
  } catch (const InputError&) {
    // Nobody can be told any more; what was saved before is safe.
  }
}

std::size_t RunStore::size() const { return database_->rows; }

std::optional<RunStore::Row> RunStore::find(std::string_view key) const {
  Database::Statement& s = *database_->find;
  s.reset();
  s.bind(1, key);
  std::optional<Row> out;
  if (s.step()) {
    out.emplace(Row{.key = std::string(key), .reason = s.text(0)});
    if (out->reason.empty())
      for (std::size_t c = 0; c < database_->figures.size(); ++c)
        out->values.push_back(s.number(static_cast<int>(c) + 1));
  }
  s.reset();
  return out;
}

void RunStore::add(const Row& row) {
  Database& d = *database_;
  MONET_ASSERT(row.values.size() == (row.reason.empty() ? d.figures.size() : 0), "a value for every column");
  if (!d.is_open) d.run("BEGIN");
  d.is_open = true;
  Database::Statement& s = *d.insert;
  s.reset();
  s.bind(1, row.key);
  s.bind(2, row.reason);
  for (std::size_t c = 0; c < d.figures.size(); ++c)
    if (row.values.empty())
      s.bind_nothing(static_cast<int>(c) + 3);
    else
      s.bind(static_cast<int>(c) + 3, row.values[c]);
  s.step();
  s.reset();
  d.rows += static_cast<std::size_t>(sqlite3_changes(d.handle));
}

std::size_t RunStore::merge(const std::string& path) {
  save();
  Database& d = *database_;
  if (std::error_code error; !std::filesystem::exists(path, error))
    refuse_file(path, "there is no such file", "--merge takes the folders of other runs");
  if (std::error_code error; std::filesystem::equivalent(path, d.path, error))
    refuse_file(path, "this is the run itself", "--merge takes the folders of other runs");
  const Database::Named other(d, path);  // faults are those of the other file
  {
    Database::Statement attach(d, "ATTACH DATABASE ? AS other");
    attach.bind(1, path);
    attach.step();
  }
  const auto refuse_other = [&](std::string message, std::string hint) {
    sqlite3_exec(d.handle, "DETACH DATABASE other", nullptr, nullptr, nullptr);
    refuse_file(path, std::move(message), std::move(hint));
  };
  if (d.ask("SELECT count(*) FROM other.sqlite_master WHERE name = 'question' OR name = 'points'") != "2")
    refuse_other("this is no run store", "--merge takes the folders of other runs");
  if (d.ask("SELECT text FROM other.question") != d.question ||
      d.ask("SELECT group_concat(name) FROM pragma_table_info('points', 'other')") != d.names)
    refuse_other("it holds results of another question",
                 "only runs of the same models, space and options can be merged");
  std::string differs = "mine.reason IS NOT theirs.reason";
  for (const std::string& c : d.figures) differs += fmt::format(" OR mine.{0} IS NOT theirs.{0}", in_quotes(c));
  if (const std::string key =
          d.ask("SELECT key FROM main.points mine JOIN other.points theirs USING (key) WHERE " + differs + " LIMIT 1");
      !key.empty())
    refuse_other(fmt::format("its point {} has other figures than the same point here", key),
                 "one of them is of another version of monet, or was changed: choose another --out for each");
  d.is_read = false;
  d.run("INSERT OR IGNORE INTO main.points SELECT * FROM other.points");
  const auto added = static_cast<std::size_t>(sqlite3_changes(d.handle));
  d.rows += added;
  d.run("DETACH DATABASE other");
  return added;
}

void RunStore::save() {
  Database& d = *database_;
  if (!d.is_open) return;
  d.is_open = false;
  d.run("COMMIT");
}

StoreReader::StoreReader(const std::string& path) {
  if (std::error_code error; !std::filesystem::exists(path, error))
    refuse_file(path, "there is no such file", "--out names the folder of a run");
  database_ = std::make_unique<RunStore::Database>(path, false);
  RunStore::Database& d = *database_;
  d.is_read = true;
  // As who writes it: without it, SQLite wants memory that processes share, which folders on other machines lack.
  d.run("PRAGMA locking_mode = EXCLUSIVE");
  if (d.ask("SELECT count(*) FROM sqlite_master") == "0")
    refuse_file(path, "there are no points in it yet", "its run goes on with --resume");
  if (d.ask("PRAGMA application_id") != std::to_string(kApplication) ||
      d.ask("SELECT count(*) FROM sqlite_master WHERE name = 'question' OR name = 'points'") != "2")
    refuse_file(path, "this is no run store", "choose another --out");
  if (d.ask("SELECT count(*) FROM pragma_table_info('question') WHERE name = 'about'") == "1")
    about_ = d.ask("SELECT about FROM question");
  RunStore::Database::Statement names(d, "SELECT name FROM pragma_table_info('points')");
  while (names.step()) columns_.push_back(names.text(0));
  if (columns_.size() < 2 || columns_[0] != "key" || columns_[1] != "reason")
    refuse_file(path, "this is no run store", "choose another --out");
  columns_.erase(columns_.begin(), columns_.begin() + 2);
}

StoreReader::~StoreReader() = default;

void StoreReader::for_each(const std::function<void(const RunStore::Row&)>& visit) const {
  std::string list;
  for (const std::string& c : columns_) list += ", " + in_quotes(c);
  RunStore::Database::Statement s(*database_, fmt::format("SELECT key, reason{} FROM points ORDER BY key", list));
  while (s.step()) {
    RunStore::Row row{.key = s.text(0), .reason = s.text(1)};
    if (row.reason.empty())
      for (std::size_t c = 0; c < columns_.size(); ++c) row.values.push_back(s.number(static_cast<int>(c) + 2));
    visit(row);
  }
}

}  // namespace monet::store
