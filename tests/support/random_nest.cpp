#include "support/random_nest.h"

#include <fmt/format.h>

#include <algorithm>

#include "monet/base/rng.h"

namespace monet::test {
namespace {

using hardware::Direction;
using hardware::Slot;

class NestDraw {
 public:
  NestDraw(std::uint64_t seed, std::uint64_t stream) : seed_(seed), stream_(stream) {}
  // from low to high, both included
  std::int64_t in(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random_bits(seed_, stream_, counter_++) %
                                           static_cast<std::uint64_t>(high - low + 1));
  }
  bool chance(std::int64_t percent) { return in(0, 99) < percent; }
  template <class T>
  const T& of(const std::vector<T>& list) {
    return list[static_cast<std::size_t>(in(0, static_cast<std::int64_t>(list.size()) - 1))];
  }

 private:
  std::uint64_t seed_, stream_, counter_ = 0;
};

// ---- Layers ----

struct LayerDraw {
  NestDraw& draw;
  bool deep_padding = true;
  cost::Layer layer{};

  std::size_t dimension(std::string name, std::int64_t most) {
    layer.dimensions.push_back({std::move(name), draw.in(1, most)});
    return layer.dimensions.size() - 1;
  }
  work::Axis plain(std::size_t d) const { return {.extent = layer.dimensions[d].size, .offset = 0, .terms = {{d, 1}}}; }
  std::vector<work::Axis> plain(const std::vector<std::size_t>& list) const {
    std::vector<work::Axis> axes;
    for (const std::size_t d : list) axes.push_back(plain(d));
    return axes;
  }
  // index = stride · position + dilation · tap - padding
  work::Axis window(std::size_t position, std::size_t tap) {
    const std::int64_t stride = draw.in(1, 3), dilation = draw.in(1, 2);
    const std::int64_t span =
        (layer.dimensions[position].size - 1) * stride + (layer.dimensions[tap].size - 1) * dilation + 1;
    const std::int64_t deep = deep_padding ? 2 : std::min<std::int64_t>(2, (layer.dimensions[tap].size - 1) * dilation);
    const std::int64_t before = draw.chance(50) ? draw.in(0, std::min(deep, span - 1)) : 0;
    const std::int64_t after = draw.chance(50) ? draw.in(0, std::min(deep, span - 1 - before)) : 0;
    work::Axis axis{.extent = span - before - after, .offset = -before, .terms = {{position, stride}, {tap, dilation}}};
    if (layer.dimensions[tap].size == 1 && draw.chance(50)) axis.terms.pop_back();  // padding without a window
    return axis;
  }
  void operand(Slot slot, std::vector<work::Axis> axes) {
    static const std::vector<double> kBits{8, 8, 16, 4, 5, 8.25};
    cost::Operand o{.name = slot == Slot::Output ? "O" : slot == Slot::Weight ? "W" : "I", .slot = slot};
    o.bits = draw.of(kBits);
    o.partial_bits = slot == Slot::Output ? o.bits + static_cast<double>(draw.in(0, 2) * 8) : o.bits;
    o.axes = std::move(axes);
    layer.operands.push_back(std::move(o));
  }
};

std::vector<work::Axis> operator+(std::vector<work::Axis> a, const std::vector<work::Axis>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

enum class Pass { Forward, DataGradient, WeightGradient };

void convolution(LayerDraw& l, Pass pass, bool grouped, bool deep) {
  std::vector<std::size_t> batch, k, c;
  batch.push_back(l.dimension("B", 2));
  if (grouped) {
    const std::size_t g = l.dimension("G", 4);
    k.push_back(g);
    c.push_back(g);
  }
  if (deep) {
    k.push_back(l.dimension("K", 6));
    c.push_back(l.dimension("C", 6));
  }
  std::vector<std::size_t> positions, taps;
  std::vector<work::Axis> windows;
  const bool flat = l.draw.chance(50);
  for (const char* name : {"Y", "X"}) {
    if (flat && *name == 'Y') continue;
    positions.push_back(l.dimension(fmt::format("O{}", name), flat ? 9 : 4));
    taps.push_back(l.dimension(fmt::format("F{}", name), 3));
    windows.push_back(l.window(positions.back(), taps.back()));
  }
  std::vector<std::size_t> weights = k;
  for (const std::size_t d : c)
    if (std::find(weights.begin(), weights.end(), d) == weights.end()) weights.push_back(d);
  const auto small = l.plain(weights) + l.plain(taps);                   // the weights or their gradient
  const auto narrow = l.plain(batch) + l.plain(k) + l.plain(positions);  // on the output's side
  const auto wide = l.plain(batch) + l.plain(c) + windows;               // on the input's side
  l.layer.operator_type = pass == Pass::Forward ? "conv" : pass == Pass::DataGradient ? "data" : "weight";
  l.operand(Slot::Output, pass == Pass::Forward ? narrow : pass == Pass::DataGradient ? wide : small);
  l.operand(Slot::Weight, pass == Pass::WeightGradient ? narrow : small);
  l.operand(Slot::Input, pass == Pass::DataGradient ? narrow : wide);
}

void matmul(LayerDraw& l, bool batched) {
  l.layer.operator_type = "matmul";
  const std::size_t h = l.dimension("H", batched ? 4 : 1), m = l.dimension("M", 8), n = l.dimension("N", 8),
                    k = l.dimension("K", 9);
  l.operand(Slot::Output, l.plain(std::vector{h, m, n}));
  l.operand(Slot::Weight, batched ? l.plain(std::vector{h, k, n}) : l.plain(std::vector{k, n}));
  l.operand(Slot::Input, l.plain(std::vector{h, m, k}));
}

void elementwise(LayerDraw& l) {
  l.layer.operator_type = "add";
  const std::size_t a = l.dimension("A", 9), b = l.dimension("B", 9);
  l.operand(Slot::Output, l.plain(std::vector{a, b}));
  l.operand(Slot::Weight, l.plain(l.draw.chance(50) ? std::vector{a, b} : std::vector{b}));
  l.operand(Slot::Input, l.plain(std::vector{a, b}));
}

void pooling(LayerDraw& l) {
  l.layer.operator_type = "pool";
  const std::size_t g = l.dimension("G", 5), x = l.dimension("OX", 7), f = l.dimension("FX", 3);
  l.operand(Slot::Output, l.plain(std::vector{g, x}));
  l.operand(Slot::Input, l.plain(std::vector{g}) + std::vector{l.window(x, f)});
}

cost::Layer random_layer(NestDraw& draw, bool deep_padding) {
  LayerDraw l{draw, deep_padding};
  switch (draw.in(0, 10)) {
    case 0:
    case 1: convolution(l, Pass::Forward, false, true); break;
    case 2:
    case 3: convolution(l, Pass::DataGradient, draw.chance(20), true); break;
    case 4:
    case 5: convolution(l, Pass::WeightGradient, draw.chance(20), true); break;
    case 6: convolution(l, static_cast<Pass>(draw.in(0, 2)), true, false); break;
    case 7: convolution(l, Pass::Forward, true, true); break;
    case 8: matmul(l, draw.chance(50)); break;
    case 9: elementwise(l); break;
    default: pooling(l); break;
  }
  l.layer.name = l.layer.operator_type;
  l.layer.starts_from_stored = draw.chance(15);
  return l.layer;
}

// ---- Cores ----

void add_ports(NestDraw& draw, std::int64_t wider, hardware::Memory& memory) {
  std::vector<hardware::PortUse> uses;
  for (const Slot slot : memory.slots)
    for (const Direction d : hardware::kDirections)
      if (slot == Slot::Output || d == Direction::WriteFromHigh || d == Direction::ReadToLow) uses.push_back({slot, d});
  const std::int64_t style = draw.in(0, 3);  // one port, a read and a write port, one for each slot, one for each use
  for (const hardware::PortUse& use : uses) {
    const std::string name = style == 0   ? "rw"
                             : style == 1 ? (is_read(use.direction) ? "r" : "w")
                             : style == 2
                                 ? std::string(hardware::name(use.slot))
                                 : fmt::format("{} {}", hardware::name(use.slot), hardware::name(use.direction));
    auto port = std::find_if(memory.ports.begin(), memory.ports.end(), [&](const auto& p) { return p.name == name; });
    if (port == memory.ports.end()) {
      const std::int64_t most = wider * draw.of(std::vector<std::int64_t>{8, 16, 32, 48, 64, 128, 256, 1024});
      const std::int64_t least = draw.chance(50) ? most : std::max<std::int64_t>(1, most / draw.in(2, 8));
      memory.ports.push_back({.name = name, .min_bits_per_cycle = least, .max_bits_per_cycle = most});
      port = memory.ports.end() - 1;
    }
    port->uses.push_back(use);
  }
}

hardware::Core random_core(NestDraw& draw, bool two_inputs, const NestLimits& limits) {
  hardware::Core core{.name = "random"};
  core.array.emplace();
  const std::int64_t dimensions = draw.in(1, 3);
  for (std::int64_t a = 0; a < dimensions; ++a)
    core.array->dimensions.push_back({fmt::format("D{}", a + 1), draw.in(1, 6)});
  std::vector<Slot> slots{Slot::Output, Slot::Input};
  if (two_inputs) slots.push_back(Slot::Weight);
  std::array<std::int64_t, 3> left{};
  for (const Slot slot : slots) left[static_cast<std::size_t>(slot)] = draw.in(1, 3);
  const std::int64_t most = *std::max_element(left.begin(), left.end());
  for (std::int64_t height = most; height > 0; --height) {
    // The operands that are this far from their top share memories, or not.
    std::vector<Slot> here;
    for (const Slot slot : slots)
      if (left[static_cast<std::size_t>(slot)] >= height) here.push_back(slot);
    while (!here.empty()) {
      hardware::Memory memory{.name = fmt::format("m{}", core.memories.size()), .size_bits = 1 << 20};
      memory.slots.push_back(here.back());
      here.pop_back();
      while (!here.empty() && draw.chance(60)) {
        memory.slots.push_back(here.back());
        here.pop_back();
      }
      for (std::size_t a = 0; a < core.array->dimensions.size(); ++a)
        if (!limits.replicates || draw.chance(height == 1 ? 95 : 50)) memory.served_dimensions.push_back(a);
      add_ports(draw, limits.wider, memory);
      core.memories.push_back(std::move(memory));
    }
  }
  return core;
}

// ---- Mappings ----

std::int64_t unrolled(const cost::Spatial& spatial, std::size_t d) {
  std::int64_t product = 1;
  for (const auto& loops : spatial)
    for (const cost::SpatialLoop& loop : loops)
      if (loop.dimension == d) product *= loop.factor;
  return product;
}

// Lanes that no pass fills are taken away: 5 on 4 lanes is two passes of 3. Of several loops of a dimension the first
// largest gives way.
void spread_evenly(const cost::Layer& layer, std::size_t d, cost::Spatial& spatial) {
  cost::SpatialLoop* largest = nullptr;
  std::int64_t before = 1, before_largest = 1;
  for (auto& loops : spatial)
    for (cost::SpatialLoop& loop : loops) {
      if (loop.dimension != d) continue;
      if (largest == nullptr || loop.factor > largest->factor) {
        largest = &loop;
        before_largest = before;
      }
      before *= loop.factor;
    }
  if (largest == nullptr) return;
  const std::int64_t size = layer.dimensions[d].size, covered = largest->factor * before_largest;
  const std::int64_t passes = (size + covered - 1) / covered, shared = passes * before_largest;
  const std::int64_t factor = (size + shared - 1) / shared;
  if (factor == largest->factor) return;
  largest->factor = factor;
  spread_evenly(layer, d, spatial);
}

cost::Spatial random_spatial(NestDraw& draw, const cost::Layer& layer, const hardware::Core& core, std::int64_t lanes) {
  cost::Spatial spatial(core.array->dimensions.size());
  std::int64_t used = 1;
  for (std::size_t a = 0; a < spatial.size(); ++a) {
    std::int64_t left = std::min(core.array->dimensions[a].size, lanes / used);
    for (std::int64_t i = draw.in(0, 2); i > 0 && left > 1; --i) {
      const auto d = static_cast<std::size_t>(draw.in(0, static_cast<std::int64_t>(layer.dimensions.size()) - 1));
      const std::int64_t most = std::min(left, layer.dimensions[d].size / unrolled(spatial, d));
      if (most < 2) continue;
      spatial[a].push_back({d, draw.in(2, most)});
      left /= spatial[a].back().factor;
      used *= spatial[a].back().factor;
    }
  }
  for (std::size_t d = 0; d < layer.dimensions.size(); ++d) spread_evenly(layer, d, spatial);
  return spatial;
}

std::vector<cost::TemporalLoop> random_order(NestDraw& draw, const cost::Layer& layer, const cost::Spatial& spatial) {
  std::vector<cost::TemporalLoop> order;
  for (std::size_t d = 0; d < layer.dimensions.size(); ++d) {
    const std::int64_t lanes = unrolled(spatial, d);
    std::int64_t left = (layer.dimensions[d].size + lanes - 1) / lanes;
    while (left > 1) {
      std::int64_t factor = draw.in(2, left);
      while (left % factor != 0) --factor;
      if (factor == 1) factor = left;
      order.push_back({static_cast<std::uint32_t>(d), static_cast<double>(factor)});
      left /= factor;
    }
  }
  if (order.empty()) order.push_back({});
  for (std::size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[static_cast<std::size_t>(draw.in(0, static_cast<std::int64_t>(i) - 1))]);
  return order;
}

}  // namespace

RandomNest random_nest(std::uint64_t seed, std::uint64_t number, const NestLimits& limits) {
  NestDraw draw(seed, number);
  RandomNest random;
  SimulatedNest& nest = random.nest;
  double iterations = 0;
  do {
    nest.layer = random_layer(draw, limits.deep_padding);
    nest.core = random_core(draw, nest.layer.operands.size() == 3, limits);
    nest.spatial = random_spatial(draw, nest.layer, nest.core, limits.lanes);
    nest.order = random_order(draw, nest.layer, nest.spatial);
    iterations = 1;
    for (const cost::TemporalLoop& loop : nest.order) iterations *= loop.factor;
  } while (iterations > static_cast<double>(limits.iterations));
  for (std::size_t o = 0; o < nest.layer.operands.size(); ++o) {
    std::vector<std::uint8_t> cuts;
    for (const hardware::Memory& memory : nest.core.memories)
      if (std::count(memory.slots.begin(), memory.slots.end(), nest.layer.operands[o].slot) > 0)
        cuts.push_back(static_cast<std::uint8_t>(draw.in(0, static_cast<std::int64_t>(nest.order.size()))));
    std::sort(cuts.begin(), cuts.end());
    cuts.back() = static_cast<std::uint8_t>(nest.order.size());
    for (std::size_t m = 0; m < cuts.size(); ++m) {
      nest.cuts[o][m] = cuts[m];
      nest.doubled[o][m] = draw.chance(50);
    }
  }
  for (const work::Axis& axis : nest.layer.operands[0].axes) random.scatters = random.scatters || axis.terms.size() > 1;
  return random;
}

std::string describe(const SimulatedNest& nest) {
  std::string text = fmt::format("{}{}:", nest.layer.name, nest.layer.starts_from_stored ? " from stored" : "");
  for (const work::Dimension& d : nest.layer.dimensions) text += fmt::format(" {}={}", d.name, d.size);
  const auto name = [&](std::size_t d) { return nest.layer.dimensions[d].name; };
  for (std::size_t o = 0; o < nest.layer.operands.size(); ++o) {
    const cost::Operand& operand = nest.layer.operands[o];
    text += fmt::format("\n  {} {}/{} bits:", operand.name, operand.bits, operand.partial_bits);
    for (const work::Axis& axis : operand.axes) {
      text += fmt::format(" [{}", axis.offset);
      for (const work::Term& term : axis.terms) text += fmt::format("+{}{}", term.coefficient, name(term.dimension));
      text += fmt::format(" <{}]", axis.extent);
    }
    std::size_t m = 0;
    for (const hardware::Memory& memory : nest.core.memories)
      if (std::count(memory.slots.begin(), memory.slots.end(), operand.slot) > 0) {
        text += fmt::format(" {}:{}{}", memory.name, nest.cuts[o][m], nest.doubled[o][m] ? "x2" : "");
        ++m;
      }
  }
  text += "\n  spatial";
  for (const auto& loops : nest.spatial) {
    text += " (";
    for (const cost::SpatialLoop& loop : loops) text += fmt::format(" {}{}", name(loop.dimension), loop.factor);
    text += " )";
  }
  text += "\n  order";
  for (const cost::TemporalLoop& loop : nest.order) text += fmt::format(" {}{}", name(loop.dimension), loop.factor);
  for (const hardware::Memory& memory : nest.core.memories) {
    text += fmt::format("\n  {} serves", memory.name);
    for (const std::size_t a : memory.served_dimensions) text += fmt::format(" D{}", a + 1);
    for (const hardware::Port& port : memory.ports) {
      text += fmt::format("; {}..{}:", port.min_bits_per_cycle, port.max_bits_per_cycle);
      for (const hardware::PortUse& use : port.uses)
        text += fmt::format(" {} {}", hardware::name(use.slot), hardware::name(use.direction));
    }
  }
  return text;
}

}  // namespace monet::test
