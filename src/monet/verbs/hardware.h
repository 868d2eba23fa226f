#pragma once
#include <string>
#include <utility>
#include <vector>

#include "monet/base/json.h"
#include "monet/hardware/load.h"
#include "monet/report/document.h"

namespace monet {

struct HardwareRequest {
  std::string hardware{};                                         // a chip of the library, or a file
  std::vector<std::pair<std::string, std::string>> parameters{};  // --set name=value
};

// What was understood of a chip, and where each figure comes from. Throws InputError.
hardware::Loaded describe_hardware(const HardwareRequest& request);
std::string text(const hardware::Loaded& loaded);
Json json(const hardware::Loaded& loaded);
std::vector<DocumentInput> document_inputs(const hardware::Loaded& loaded);

// The library: name and description of each chip.
std::string list_hardware_text();
Json list_hardware_json();

// Is a YAML or JSON file sound, whatever kind of those we read it is? Throws InputError if not.
struct CheckedFile {
  std::string what{};  // "Stream accelerator, 7 cores"
  std::vector<Diagnostic> warnings{};
};
CheckedFile check_configuration(const std::string& path);

}  // namespace monet
