#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "monet/base/diagnostic.h"
#include "monet/hardware/hardware.h"
#include "monet/hardware/origins.h"
#include "monet/hardware/reading.h"

namespace monet::hardware {

// A chip from a file of any form there is: MONET's own, ZigZag's, Stream's. The form is told by content.

struct LoadOptions {
  ReadText read{};                                                // none: the file system
  const Sources* known{};                                         // files that are parsed already
  std::vector<std::pair<std::string, std::string>> parameters{};  // name, value: over those of the file
  std::vector<std::pair<std::string, std::string>> fields{};      // path, value (config_resolve.h)
};

// Whether a name is that of a field of the file, not of a parameter: it has dots, or is a figure of the whole chip.
bool is_field(std::string_view name);

struct Loaded {
  Hardware hardware{};
  std::string form{};  // "MONET hardware", "ZigZag accelerator", "Stream accelerator"
  std::vector<Diagnostic> warnings{};
  std::vector<std::string> parameters{};  // names of those the file has
  std::vector<SourceFile> files{};        // the file and all that it takes in
  Origins origins{};                      // the line of each figure
};

// All throw InputError with everything wrong in the file.
Loaded load_hardware(const std::string& path, const LoadOptions& options = {});
Loaded parse_hardware(std::string_view text, const std::string& path, const LoadOptions& options = {});
// With every file that is read left in `sources`, for later ones.
Loaded load_hardware(const std::string& path, Sources& sources, const LoadOptions& options = {});

// Whether a parsed file looks like a chip of any form.
bool looks_like_hardware(const config::Value& root);

}  // namespace monet::hardware
