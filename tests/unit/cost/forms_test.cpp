#include "monet/cost/forms.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>

namespace monet::cost {
namespace {

using work::Axis;
using work::LoopNest;
using work::Operand;
using work::Role;

// The data gradient of a one-dimensional convolution, scattered: ix = stride·ox + dilation·fx - pad.
LoopNest data_gradient(std::int64_t ox, std::int64_t fx, std::int64_t stride, std::int64_t dilation, std::int64_t pad,
                       std::int64_t ix) {
  LoopNest nest;
  nest.dimensions = {{"K", 2}, {"C", 3}, {"OX", ox}, {"FX", fx}};
  const Axis k{2, 0, {{0, 1}}}, c{3, 0, {{1, 1}}};
  nest.operands = {
      {.role = Role::Input, .format = {}, .accumulator = {}, .axes = {k, {ox, 0, {{2, 1}}}}},
      {.role = Role::Weight, .format = {}, .accumulator = {}, .axes = {k, c, {fx, 0, {{3, 1}}}}},
      {.role = Role::Output, .format = {}, .accumulator = {}, .axes = {c, {ix, -pad, {{2, stride}, {3, dilation}}}}}};
  return nest;
}

using Index = std::vector<std::int64_t>;

// Runs a nest on numbers made from indices. `stored` says where an operand's elements come from.
std::map<Index, std::int64_t> run(const LoopNest& nest, std::int64_t spread) {
  std::map<Index, std::int64_t> sums;
  Index point(nest.dimensions.size(), 0);
  const auto address = [&](const Operand& operand) -> std::optional<Index> {
    Index index;
    for (const Axis& axis : operand.axes) {
      std::int64_t i = axis.offset;
      for (const work::Term& term : axis.terms) i += term.coefficient * point[term.dimension];
      if (i < 0 || i >= axis.extent) return std::nullopt;
      index.push_back(i);
    }
    return index;
  };
  for (;;) {
    std::int64_t product = 1;
    std::optional<Index> out;
    bool padded = false;
    for (const Operand& operand : nest.operands) {
      std::optional<Index> index = address(operand);
      if (!index) {
        padded = true;
        continue;
      }
      if (operand.role == Role::Output) {
        out = index;
      } else {
        // Between the elements of a gradient spread out there are zeros.
        if (operand.role == Role::Input && spread > 1) {
          if (index->back() % spread != 0) product = 0;
          index->back() /= spread;
        }
        std::int64_t value = operand.role == Role::Input ? 3 : 5;
        for (const std::int64_t i : *index) value = value * 7 + i;
        product *= value;
      }
    }
    if (!padded && out) sums[*out] += product;
    std::size_t d = 0;
    for (; d < point.size(); ++d) {
      if (++point[d] < nest.dimensions[d].size) break;
      point[d] = 0;
    }
    if (d < point.size()) continue;
    std::erase_if(sums, [](const auto& entry) { return entry.second == 0; });
    return sums;
  }
}

TEST(Forms, GatheredAndScatteredGradientsAreTheSameNumbers) {
  for (const std::int64_t stride : {1, 2, 3})
    for (const std::int64_t dilation : {1, 2})
      for (const std::int64_t pad : {0, 1, 2}) {
        const std::int64_t ox = 4, fx = 3;
        const std::int64_t ix = stride * (ox - 1) + dilation * (fx - 1) + 1 - 2 * pad;
        if (ix < 1) continue;
        const LoopNest scattered = data_gradient(ox, fx, stride, dilation, pad, ix);
        const LoopNest gather = gathered(scattered);
        EXPECT_TRUE(is_scattered(scattered));
        EXPECT_FALSE(is_scattered(gather));
        EXPECT_EQ(gather.dimensions[2].name, "IX");
        EXPECT_EQ(work::macs(gather), 2u * 3u * static_cast<unsigned>(ix) * 3u);
        EXPECT_EQ(run(scattered, 1), run(gather, stride)) << stride << " " << dilation << " " << pad;
      }
}

TEST(Forms, OnlyArraysThatSkipZerosScatterStridedGradients) {
  hardware::Array plain, skipping;
  skipping.skips_zeros = true;
  const LoopNest strided = data_gradient(4, 3, 2, 1, 1, 7), dense = data_gradient(4, 3, 1, 1, 1, 4);
  EXPECT_EQ(form_on(strided, plain), gathered(strided));
  EXPECT_EQ(form_on(strided, skipping), strided);
  EXPECT_EQ(form_on(dense, plain), gathered(dense));
  EXPECT_EQ(form_on(dense, skipping), gathered(dense));
  // Nothing else has two forms.
  LoopNest forward = gathered(dense);
  EXPECT_EQ(form_on(forward, plain), forward);
}

}  // namespace
}  // namespace monet::cost
