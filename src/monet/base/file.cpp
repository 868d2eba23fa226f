#include "monet/base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include "monet/base/diagnostic.h"
#include "monet/base/nearest.h"

namespace monet {
namespace {

namespace fs = std::filesystem;

// An open file, or -1; closed at the end of its scope.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }
  bool close() { return ::close(std::exchange(number_, -1)) == 0; }

 private:
  int number_;
};

std::string missing_hint(const fs::path& path) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  std::error_code error;
  if (!fs::is_directory(folder, error)) return fmt::format("there is no folder '{}'", folder.string());
  std::vector<std::string> names;
  constexpr std::size_t kMost = 1000;  // a hint is not worth listing a huge folder
  for (fs::directory_iterator it(folder, error), end; !error && it != end && names.size() < kMost; it.increment(error))
    names.push_back(it->path().filename().string());
  std::sort(names.begin(), names.end());  // folders list in any order
  return did_you_mean(path.filename().string(), names, "check the spelling and the current folder");
}

void write_all(const Descriptor& out, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ::ssize_t written = ::write(out.number(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0)
      refuse_file(path, fmt::format("cannot be written: {}", std::strerror(errno)),
                  "free some space or choose another place");
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

// A file of a name nobody uses, beside its target so that renaming cannot cross file systems.
struct Temporary {
  std::string path;
  Descriptor descriptor;
};
Temporary open_temporary(const fs::path& target, const std::string& path) {
  for (int attempt = 0;; ++attempt) {
    const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
    std::string name = (folder / fmt::format(".monet-{}-{}.tmp", ::getpid(), attempt)).string();
    const int number = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (number >= 0) return {std::move(name), Descriptor(number)};
    if (errno == EEXIST && attempt < 10000) continue;
    const int why = errno;
    std::error_code error;
    if (!fs::is_directory(folder, error))
      refuse_file(path, fmt::format("there is no folder '{}' to write it to", folder.string()),
                  "make the folder first");
    refuse_file(path, fmt::format("cannot be written: {}", std::strerror(why)),
                fmt::format("check that you may write in '{}'", folder.string()));
  }
}

}  // namespace

std::string read_file(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) refuse_file(path, "is a folder, not a file", "name a file in it");
  const Descriptor in(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (in.number() < 0) {
    const int why = errno;
    if (why == ENOENT || why == ENOTDIR) refuse_file(path, "no such file", missing_hint(path));
    refuse_file(path, fmt::format("cannot be read: {}", std::strerror(why)), "check its permissions");
  }
  std::string bytes;
  std::array<char, 1 << 16> buffer;
  for (;;) {
    const ::ssize_t count = ::read(in.number(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) refuse_file(path, fmt::format("cannot be read: {}", std::strerror(errno)), "check its permissions");
    if (count == 0) return bytes;
    bytes.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

void write_file(const std::string& path, std::string_view bytes) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::is_directory(status)) refuse_file(path, "is a folder, not a file", "name a file in it");
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    const Descriptor out(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (out.number() < 0)
      refuse_file(path, fmt::format("cannot be written: {}", std::strerror(errno)), "check its permissions");
    write_all(out, bytes, path);
    return;
  }
  const bool there = fs::exists(status);
  if (there && ::access(path.c_str(), W_OK) != 0)  // renaming over it would not ask
    refuse_file(path, fmt::format("cannot be written: {}", std::strerror(errno)), "check its permissions");
  // A link stays a link: what it points to is replaced.
  fs::path target = there ? fs::canonical(path, error) : fs::path(path);
  if (error) target = path;
  Temporary temporary = open_temporary(target, path);
  try {
    if (there) ::fchmod(temporary.descriptor.number(), static_cast<::mode_t>(status.permissions()));
    write_all(temporary.descriptor, bytes, path);
    if (!temporary.descriptor.close() || ::rename(temporary.path.c_str(), target.c_str()) != 0)
      refuse_file(path, fmt::format("cannot be written: {}", std::strerror(errno)),
                  "check that you may write there and that there is space");
  } catch (...) {
    ::unlink(temporary.path.c_str());
    throw;
  }
}

void make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) throw InputError(Diagnostic{.file = path, .message = "cannot make the folder: " + error.message()});
}

void remove_numbered(const std::string& folder, std::string_view ending) {
  std::error_code error;
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error))
    if (const std::string name = entry.path().filename().string();
        name.ends_with(ending) && name.find_first_not_of("0123456789") == name.find('.') && name[0] != '.')
      found.push_back(entry.path());
  for (const std::filesystem::path& path : found)
    if (!std::filesystem::remove(path, error) && error)
      throw InputError(Diagnostic{.file = path.string(), .message = "cannot be removed: " + error.message()});
}

}  // namespace monet
