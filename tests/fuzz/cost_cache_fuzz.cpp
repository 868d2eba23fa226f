#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "monet/base/diagnostic.h"
#include "monet/cost/cache.h"
#include "monet/hardware/library.h"

namespace {

using namespace monet;

cost::Layer product() {
  cost::Layer layer{.name = "product", .operator_type = "Gemm"};
  layer.dimensions = {{"D", 4}, {"K", 40}, {"C", 33}};
  const work::Axis d{4, 0, {{0, 1}}}, k{40, 0, {{1, 1}}}, c{33, 0, {{2, 1}}};
  layer.operands = {{.name = "O", .slot = hardware::Slot::Output, .bits = 8, .partial_bits = 16, .axes = {d, k}},
                    {.name = "W", .slot = hardware::Slot::Weight, .bits = 8, .partial_bits = 8, .axes = {k, c}},
                    {.name = "I", .slot = hardware::Slot::Input, .bits = 8, .partial_bits = 8, .axes = {d, c}}};
  return layer;
}

void check(const std::string& bytes, const cost::MapOptions& options) {
  static const hardware::Core core = hardware::find_hardware("tpu_like").hardware.cores[0];
  static const cost::Layer layer = product();
  // No fuzzer guesses a digest: "@" stands for the key of the layer.
  const std::string key = cost::content_key(layer, core, {}, options);
  std::string text;
  for (const char c : bytes) c == '@' ? text += key : text += c;
  cost::Cache cache;
  try {
    cache.add(text, "fuzz.json", false);
  } catch (const InputError& error) {
    if (error.diagnostics().empty()) std::abort();
    return;
  }
  // What was read is written, and read again the same, digests and all.
  const std::string written = cache.text();
  cost::Cache again;
  again.add(written, "written.json");
  if (again.text() != written) std::abort();
  // A stored mapping is a mapping of the layer, or is searched again.
  const cost::MapResult result = cache.map(layer, core, {}, options);
  if (!result.mapped) return;
  static const double best = cost::map_layer(layer, core, {}, {}).mapped->evaluation.latency;
  if (options.quirks == cost::Quirks{} && result.mapped->evaluation.latency < best) std::abort();
}

}  // namespace

// Any bytes are a cost cache or an InputError; and whatever it holds, no mapping is believed that is none.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 20'000) return 0;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  check(bytes, {});
  check(bytes, {.quirks = monet::cost::kZigzagQuirks});
  return 0;
}
