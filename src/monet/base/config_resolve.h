#pragma once
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "monet/base/config.h"

namespace monet::config {

// Includes and parameters, taken out of a tree before anyone reads it: in any map, `parameters:` names numbers that
// ${…} below it may compute with, and `include:` takes over the entries of another file that are not written beside it.
// Every value of the result still knows the file, line and column it comes from.

struct ResolveOptions {
  // The tree of an included file. Throws InputError.
  std::function<const Tree&(const std::string& path)> open{};
  // name, value: replaces what the `parameters` of the file itself say.
  std::vector<std::pair<std::string, std::string>> overrides{};
  // path, value: what the file has there once all is resolved ("cores.array.memories.buffer.size", "links.0.energy"),
  // or has not yet, gives way to it. Only the last part of a path may be missing.
  std::vector<std::pair<std::string, std::string>> fields{};
};

Tree resolve(const Tree& tree, const ResolveOptions& options, Findings& findings);

}  // namespace monet::config
