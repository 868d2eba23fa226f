#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "monet/base/diagnostic.h"
#include "monet/hardware/load.h"
#include "monet/hardware/yaml.h"

namespace {

// The one other file there is: a fragment to include.
std::string read(const std::string& path) {
  if (path != "part.yaml") throw monet::InputError(monet::Diagnostic{.file = path, .message = "no such file"});
  return "parameters: {n: 2}\nsize: ${n} KiB\nholds: all\nbits_per_cycle: 64\n";
}

}  // namespace

// Any bytes are a chip or an InputError; and a chip, once printed, is read back as the same chip.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace monet;
  hardware::Hardware chip;
  try {
    chip = hardware::parse_hardware(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz.yaml",
                                    {.read = read})
               .hardware;
  } catch (const InputError& error) {
    if (error.diagnostics().empty()) std::abort();
    return 0;
  }
  const std::string text = hardware::print(chip);
  if (hardware::parse_hardware(text, "printed.yaml").hardware != chip) std::abort();
  return 0;
}
