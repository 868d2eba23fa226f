#include "monet/hardware/library.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "monet/base/nearest.h"

namespace monet::hardware {
namespace {

constexpr std::string_view kFolder = "data/hardware/";  // paths of the library in messages

std::string read_library(const std::string& path) {
  if (path.starts_with(kFolder))
    for (const LibraryFile& file : library_files())
      if (file.path == std::string_view(path).substr(kFolder.size())) return std::string(file.text);
  throw InputError(Diagnostic{.file = path, .message = "no such file in the library"});
}

}  // namespace

std::vector<std::string> library_names() {
  std::vector<std::string> names;
  for (const LibraryFile& file : library_files())
    if (file.path.find('/') == std::string_view::npos && file.path.ends_with(".yaml"))
      names.emplace_back(file.path.substr(0, file.path.size() - 5));
  return names;
}

ChipFile locate_hardware(const std::string& name_or_path) {
  const std::vector<std::string> names = library_names();
  if (std::find(names.begin(), names.end(), name_or_path) != names.end())
    return {fmt::format("{}{}.yaml", kFolder, name_or_path), read_library};
  std::error_code error;
  const bool is_path =
      name_or_path.find_first_of("/.") != std::string::npos || std::filesystem::exists(name_or_path, error);
  if (!is_path)
    throw InputError(Diagnostic{
        .where = name_or_path,
        .message = "no such chip",
        .hint = did_you_mean(name_or_path, names, "monet hardware lists them; a YAML file can stand here too")});
  return {name_or_path, {}};
}

Loaded find_hardware(const std::string& name_or_path, const LoadOptions& options) {
  const ChipFile file = locate_hardware(name_or_path);
  LoadOptions with = options;
  if (file.read) with.read = file.read;
  return load_hardware(file.path, with);
}

}  // namespace monet::hardware
