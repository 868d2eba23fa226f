#include <algorithm>
#include <numeric>

#include "monet/schedule/stream_layers.h"

namespace monet::schedule {
namespace {

// Distinct indices of a relation: fewer than a · b where windows overlap.
double distinct(const StreamRelation& r, double a, double b) {
  const std::int64_t common = std::gcd(r.step_a, r.step_b);
  const double step_a = static_cast<double>(r.step_a / common), step_b = static_cast<double>(r.step_b / common);
  return std::min(a * b - std::max(0.0, b - step_a) * (a - step_b), static_cast<double>(r.extent));
}

}  // namespace

std::vector<std::size_t> irrelevant_dimensions(const StreamLayer& layer, const StreamLayerOperand& operand,
                                               const std::vector<std::int64_t>& sizes) {
  std::vector<bool> relevant(layer.dimensions.size(), false);
  bool is_partial = false;
  for (const std::size_t axis : operand.axes) {
    if (axis < relevant.size())
      relevant[axis] = true;
    else
      is_partial = true;
  }
  for (std::size_t r = 0; is_partial && r < layer.relations.size(); ++r)
    relevant[layer.relations[r].a] = relevant[layer.relations[r].b] = true;
  std::vector<std::size_t> out;
  for (std::size_t d = 0; d < relevant.size(); ++d)
    if (!relevant[d] && sizes[d] != 1) out.push_back(d);
  return out;
}

std::int64_t operand_bits(const StreamLayer& layer, const StreamLayerOperand& operand,
                          const std::vector<std::int64_t>& sizes) {
  double bits = static_cast<double>(operand.partial_bits);
  for (const std::size_t axis : operand.axes) {
    if (axis < layer.dimensions.size()) {
      bits *= static_cast<double>(sizes[axis]);
      continue;
    }
    const StreamRelation& r = layer.relations[axis - layer.dimensions.size()];
    bits *= distinct(r, static_cast<double>(sizes[r.a]), static_cast<double>(sizes[r.b]));
  }
  constexpr double kMost = 9e18;
  return static_cast<std::int64_t>(std::min(bits, kMost));
}

cost::Layer cost_layer(const StreamLayer& layer, const std::vector<std::int64_t>& sizes) {
  cost::Layer out{.name = layer.name, .operator_type = layer.type};
  for (std::size_t d = 0; d < layer.dimensions.size(); ++d)
    out.dimensions.push_back({layer.dimensions[d].name, sizes[d]});
  for (const StreamLayerOperand& operand : layer.operands) {
    cost::Operand& o = out.operands.emplace_back();
    o.name = operand.name;
    o.slot = operand.slot;
    o.bits = static_cast<double>(operand.bits);
    o.partial_bits = static_cast<double>(operand.partial_bits);
    for (const std::size_t axis : operand.axes) {
      if (axis < sizes.size()) {
        o.axes.push_back({.extent = sizes[axis], .offset = 0, .terms = {{axis, 1}}});
        continue;
      }
      const StreamRelation& r = layer.relations[axis - sizes.size()];
      o.axes.push_back({.extent = r.extent, .offset = 0, .terms = {{r.a, r.step_a}, {r.b, r.step_b}}});
    }
  }
  return out;
}

}  // namespace monet::schedule
