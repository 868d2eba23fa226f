#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "monet/base/config_section.h"
#include "monet/hardware/hardware.h"
#include "monet/hardware/reading.h"

namespace monet::hardware {

// What the parts of MONET's own reader share. Quantities in the units of hardware.h.

extern const config::Quantity kSize;          // bits
extern const config::Quantity kBandwidth;     // bits per cycle, or per second
extern const config::Quantity kMinBandwidth;  // the same under min_…
extern const config::Quantity kEnergy;        // pJ
extern const config::Quantity kLinkEnergy;    // pJ per bit
extern const config::Quantity kPower;         // mW
extern const config::Quantity kArea;          // mm2
extern const config::Quantity kCycles;
extern const config::Quantity kFrequency;  // Hz
extern const config::Quantity kLength;     // nm
extern const config::Quantity kVoltage;    // V
extern const config::Quantity kFraction;

// What figures inherit from the blocks around them.
struct Block {
  std::string source{};
  bool assumed = false;
};
// The block a section makes: its `source:` and `assumed:` over those around it.
Block block_of(config::Section& section, const Block& outer);

// A figure: "416 pJ", {value: 416 pJ, source: …}, or nothing if it is absent or to be modelled.
std::optional<Figure> read_figure(config::Section& section, std::string_view key, const config::Quantity& quantity,
                                  const Block& block);

// Whole bits and bits per cycle; `clock_hz` is 0 if nobody knows it.
std::optional<std::int64_t> read_bits(config::Section& section, std::string_view key);
std::optional<std::int64_t> read_bandwidth(config::Section& section, std::string_view key,
                                           const config::Quantity& quantity, double clock_hz);

struct Context {
  double node_nm = 28;
  double clock_hz = 0;
  Places* places = nullptr;
  config::Findings* findings = nullptr;
};

Core read_monet_core(const config::Value& value, const std::string& name, std::size_t index, const Block& block,
                     const Context& context, std::optional<std::int64_t>& count);
std::vector<Memory> read_monet_memories(const config::Value& value, const Core& core, std::size_t index,
                                        const Block& block, const Context& context);

}  // namespace monet::hardware
