// Bad files carry what must be said of them: # expect: error "…" (or warning) in the line it must be said of.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "monet/verbs/hardware.h"

namespace monet {
namespace {

namespace fs = std::filesystem;

struct Expected {
  std::string file;
  int line = 0;
  Severity severity = Severity::Error;
  std::string text;
};

std::vector<Expected> expectations(const fs::path& path) {
  std::vector<Expected> list;
  std::ifstream in(path);
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    for (std::size_t at = line.find("# expect: "); at != std::string::npos; at = line.find("# expect: ", at + 1)) {
      const std::string rest = line.substr(at + 10);
      const std::size_t open = rest.find('"'), close = rest.find('"', open + 1);
      EXPECT_NE(close, std::string::npos) << path << ":" << number;
      if (close == std::string::npos) continue;
      list.push_back({path.string(), number, rest.starts_with("warning") ? Severity::Warning : Severity::Error,
                      rest.substr(open + 1, close - open - 1)});
    }
  }
  return list;
}

std::vector<Diagnostic> diagnose(const fs::path& path) {
  try {
    return check_configuration(path.string()).warnings;
  } catch (const InputError& error) {
    return error.diagnostics();
  }
}

TEST(Diagnostics, OfEveryBadFileAreThoseItExpects) {
  const fs::path folder = fs::path(MONET_TEST_DATA).parent_path() / "diagnostics";
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    const std::string parent = entry.path().parent_path().filename().string();
    // Parts are named by the files that take them in.
    if (entry.path().extension() == ".yaml" && parent != "parts" && parent != "cores") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  ASSERT_GT(files.size(), 20u);
  for (const fs::path& file : files) {
    std::vector<Expected> wanted = expectations(file);
    std::vector<Diagnostic> found = diagnose(file);
    // What is said of a part is expected in the part.
    std::vector<std::string> others;
    for (const Diagnostic& d : found)
      if (d.file != file.string() && std::find(others.begin(), others.end(), d.file) == others.end())
        others.push_back(d.file);
    for (const std::string& other : others)
      for (Expected& e : expectations(other)) wanted.push_back(std::move(e));
    EXPECT_FALSE(wanted.empty()) << file << " expects nothing";
    for (const Expected& e : wanted) {
      const auto is_it = [&](const Diagnostic& d) {
        return d.file == e.file && d.line == e.line && d.severity == e.severity &&
               d.message.find(e.text) != std::string::npos;
      };
      const auto match = std::find_if(found.begin(), found.end(), is_it);
      if (match == found.end())
        ADD_FAILURE() << fmt::format("{}:{}: nobody said '{}'", e.file, e.line, e.text);
      else
        found.erase(match);
    }
    for (const Diagnostic& d : found) ADD_FAILURE() << "nobody expected: " << to_string(d);
  }
}

}  // namespace
}  // namespace monet
