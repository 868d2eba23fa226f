#pragma once
// Cores and layers of the tests, in few words.
#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "monet/cost/layer.h"
#include "monet/cost/problem.h"
#include "monet/hardware/hardware.h"

namespace monet::cost::samples {

using hardware::Core;
using hardware::Direction;
using hardware::Slot;

inline Slot slot(const std::string& name) {
  return name == "I1" ? Slot::Input : name == "I2" ? Slot::Weight : Slot::Output;
}

inline std::vector<std::string> words(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> found;
  for (std::string word; in >> word;) found.push_back(word);
  return found;
}

struct PortSample {
  std::int64_t min_bits, max_bits;
  std::string uses;  // "I1.tl O.fh"
};

struct MemorySample {
  std::string name;
  std::int64_t bits;
  double read_pj, write_pj;
  std::string slots, served;  // "I1 O", "D1 D2"
  std::vector<PortSample> ports;
};

inline Core core(const std::vector<hardware::ArrayDimension>& dimensions, double mac_pj,
                 const std::vector<MemorySample>& memories) {
  Core core{.name = "core"};
  core.array = hardware::Array{.dimensions = dimensions, .mac_energy_pj = {.value = mac_pj}};
  for (const MemorySample& sample : memories) {
    hardware::Memory memory{.name = sample.name,
                            .size_bits = sample.bits,
                            .read_energy_pj = {.value = sample.read_pj},
                            .write_energy_pj = {.value = sample.write_pj}};
    for (const std::string& name : words(sample.slots)) memory.slots.push_back(slot(name));
    for (const std::string& name : words(sample.served))
      for (std::size_t a = 0; a < dimensions.size(); ++a)
        if (dimensions[a].name == name) memory.served_dimensions.push_back(a);
    for (const PortSample& port : sample.ports) {
      memory.ports.push_back({.min_bits_per_cycle = port.min_bits, .max_bits_per_cycle = port.max_bits});
      for (const std::string& use : words(port.uses)) {
        const std::string way = use.substr(use.find('.') + 1);
        memory.ports.back().uses.push_back({.slot = slot(use.substr(0, use.find('.'))),
                                            .direction = way == "fh"   ? Direction::WriteFromHigh
                                                         : way == "tl" ? Direction::ReadToLow
                                                         : way == "fl" ? Direction::WriteFromLow
                                                                       : Direction::ReadToHigh});
      }
    }
    core.memories.push_back(std::move(memory));
  }
  return core;
}

struct OperandSample {
  std::string name, slot;
  double bits, partial_bits;
  std::string axes;  // "B C OY+FY OX+FX"; "2OX+FX" for a stride
};

inline std::size_t dimension(const Layer& layer, const std::string& name) {
  for (std::size_t d = 0; d < layer.dimensions.size(); ++d)
    if (layer.dimensions[d].name == name) return d;
  throw std::invalid_argument("no dimension " + name);
}

// Axes along sums are as long as they have distinct indices, less `padding`.
inline Layer layer(const std::vector<work::Dimension>& dimensions, const std::vector<OperandSample>& operands,
                   std::int64_t padding = 0) {
  Layer layer{.name = "layer", .dimensions = dimensions};
  for (const OperandSample& sample : operands) {
    Operand operand{
        .name = sample.name, .slot = slot(sample.slot), .bits = sample.bits, .partial_bits = sample.partial_bits};
    for (std::string axis : words(sample.axes)) {
      work::Axis made;
      std::replace(axis.begin(), axis.end(), '+', ' ');
      for (std::string term : words(axis)) {
        const std::int64_t step = term[0] == '2' ? 2 : 1;
        if (step == 2) term.erase(0, 1);
        made.terms.push_back({.dimension = dimension(layer, term), .coefficient = step});
      }
      made.extent = dimensions[made.terms[0].dimension].size;
      if (made.terms.size() == 2) {
        const std::int64_t a = made.extent, b = dimensions[made.terms[1].dimension].size;
        made.extent = a * b - std::max<std::int64_t>(0, b - made.terms[0].coefficient) * (a - 1) - padding;
      }
      operand.axes.push_back(std::move(made));
    }
    layer.operands.push_back(std::move(operand));
  }
  return layer;
}

inline std::vector<TemporalLoop> order(const Layer& layer, const std::vector<std::pair<std::string, double>>& loops) {
  std::vector<TemporalLoop> made;
  for (const auto& [name, factor] : loops)
    made.push_back({.dimension = static_cast<std::uint32_t>(dimension(layer, name)), .factor = factor});
  return made;
}

// ZigZag's example accelerators, as golden/zigzag/accelerators.json states them.
inline Core tpu_like() {
  return core(
      {{"D1", 32}, {"D2", 32}}, 0.04,
      {{"rf_128B", 1024, 0.095, 0.095, "I2", "", {{8, 8, "I2.tl"}, {8, 8, "I2.fh"}}},
       {"rf_2B", 16, 0.021, 0.021, "O", "", {{16, 16, "O.tl"}, {16, 16, "O.th"}, {16, 16, "O.fh"}, {16, 16, "O.fl"}}},
       {"sram_2MB",
        16777216,
        416.16,
        378.4,
        "I1 O",
        "D1 D2",
        {{64, 2048, "I1.tl O.tl O.th"}, {64, 2048, "I1.fh O.fh O.fl"}}},
       {"dram", 10000000000, 700, 750, "I1 I2 O", "D1 D2", {{64, 64, "I1.fh I1.tl I2.fh I2.tl O.fh O.tl O.fl O.th"}}}});
}

inline Core edge_tpu_like() {
  const std::string all = "D1 D2 D3 D4";
  return core(
      {{"D1", 8}, {"D2", 8}, {"D3", 4}, {"D4", 4}}, 0.04,
      {{"rf_1B", 8, 0.01, 0.01, "I2", "D3 D4", {{8, 8, "I2.tl"}, {8, 8, "I2.fh"}}},
       {"rf_2B", 16, 0.02, 0.02, "O", "D2", {{16, 16, "O.tl"}, {16, 16, "O.th"}, {16, 16, "O.fh"}, {16, 16, "O.fl"}}},
       {"sram_32KB", 262144, 22.9, 52.01, "I2", all, {{64, 512, "I2.tl"}, {64, 512, "I2.fh"}}},
       {"sram_2MB",
        16777216,
        416.16,
        378.4,
        "I1 O",
        all,
        {{64, 2048, "I1.tl O.tl O.th"}, {64, 2048, "I1.fh O.fh O.fl"}}},
       {"dram", 10000000000, 700, 750, "I1 I2 O", all, {{64, 64, "I1.fh I1.tl I2.fh I2.tl O.fh O.tl O.fl O.th"}}}});
}

inline Core in_memory(bool analog) {
  Core made = core(
      {{"D1", 128}, {"D2", 128}}, 0,
      {{"cells", 8, 0, 0.095, "I2", "", {{8, 8, "I2.fh I2.tl"}}},
       {"rf_1B", 8, 0.021, 0.021, "I1", "D1", {{8, 8, "I1.tl"}, {8, 8, "I1.fh"}}},
       {"rf_2B", 16, 0.021, 0.021, "O", "D2", {{16, 16, "O.tl"}, {16, 16, "O.th"}, {16, 16, "O.fh"}, {16, 16, "O.fl"}}},
       {"sram_256KB",
        262144,
        416.16,
        378.4,
        "I1 O",
        "D1 D2",
        {{64, 512, "I1.tl O.tl O.th"}, {64, 512, "I1.fh O.fh O.fl"}}},
       {"dram", 10000000000, 700, 750, "I1 I2 O", "D1 D2", {{64, 64, "I1.fh I1.tl I2.fh I2.tl O.fh O.tl O.fl O.th"}}}});
  made.array->imc = hardware::InMemoryCompute{.analog = analog,
                                              .activation_bits = 8,
                                              .weight_bits = 8,
                                              .serial_bits = analog ? 2 : 1,
                                              .adc_bits = analog ? 8 : 0};
  return made;
}

// Layers of ResNet-18, 8 bits, 16 for partial sums. Dimensions in the order of the golden files.
inline Layer conv(std::int64_t k, std::int64_t c, std::int64_t o, std::int64_t f, bool strided = false) {
  const std::string s = strided ? "2" : "";
  return layer({{"B", 1}, {"K", k}, {"C", c}, {"OY", o}, {"OX", o}, {"FY", f}, {"FX", f}},
               {{"O", "O", 8, 16, "B K OY OX"},
                {"W", "I2", 8, 8, "K C FY FX"},
                {"I", "I1", 8, 8, "B C " + s + "OX+FX " + s + "OY+FY"}});
}
inline Layer resnet_conv2() { return conv(64, 64, 56, 3); }

inline Layer gemm(std::int64_t b, std::int64_t k, std::int64_t c) {
  return layer({{"B", b}, {"K", k}, {"C", c}},
               {{"O", "O", 8, 16, "B K"}, {"W", "I2", 8, 8, "K C"}, {"I", "I1", 8, 8, "B C"}});
}

}  // namespace monet::cost::samples
