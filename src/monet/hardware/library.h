#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "monet/hardware/load.h"

namespace monet::hardware {

// The chips that come with MONET: data/hardware, in the binary itself.

struct LibraryFile {
  std::string_view path;  // "tpu_like.yaml", "parts/dram.yaml"
  std::string_view text;
};
std::span<const LibraryFile> library_files();  // sorted by path; made at build time

std::vector<std::string> library_names();  // of the chips: "tpu_like"

// Where a chip is described: in the library by its name, or else in a file. Throws InputError, with the nearest name of
// a chip.
struct ChipFile {
  std::string path{};
  ReadText read{};  // none: the file system
};
ChipFile locate_hardware(const std::string& name_or_path);
Loaded find_hardware(const std::string& name_or_path, const LoadOptions& options = {});

}  // namespace monet::hardware
