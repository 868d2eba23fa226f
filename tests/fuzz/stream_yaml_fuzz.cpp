#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "monet/base/config.h"
#include "monet/base/diagnostic.h"
#include "monet/cost/zigzag_files.h"
#include "monet/hardware/load.h"
#include "monet/hardware/yaml.h"

namespace {

// The one core file an accelerator can name.
std::string read(const std::string& path) {
  if (path != "core.yaml") throw monet::InputError(monet::Diagnostic{.file = path, .message = "no such file"});
  return "name: c\nmemories:\n  m: {size: 1024, r_cost: 1, w_cost: 1, area: 0, latency: 1, operands: [I1, I2, O], "
         "served_dimensions: "
         "[D1], r_bw: 8, w_bw: 8, ports: [{fh: w_port_1, tl: r_port_1}, {fh: w_port_1, tl: r_port_1}, {fh: w_port_1, "
         "tl: r_port_1, "
         "fl: w_port_1, th: r_port_1}]}\nmultipliers: {dimensions: [D1], sizes: [4], unit_energy: 1}\n";
}

template <class F>
void attempt(F f) {
  using namespace monet;
  try {
    f();
  } catch (const InputError& error) {
    if (error.diagnostics().empty()) std::abort();
  }
}

}  // namespace

// Any bytes are a ZigZag or Stream file or an InputError, whichever reader gets them; a chip is printed and read back.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace monet;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  attempt([&] {
    const hardware::Hardware chip = hardware::parse_hardware(text, "fuzz.yaml", {.read = read}).hardware;
    if (hardware::parse_hardware(hardware::print(chip), "printed.yaml").hardware != chip) std::abort();
  });
  attempt([&] { cost::parse_mapping(text, "fuzz.yaml"); });
  attempt([&] { cost::parse_workload(text, "fuzz.yaml"); });
  attempt([&] { config::parse_json(text, "fuzz.json"); });
  return 0;
}
