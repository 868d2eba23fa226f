#include "monet/cost/forms.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>

namespace monet::cost {
namespace {

using work::Axis;
using work::LoopNest;
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
  const auto address = [&](const work::Operand& operand) -> std::optional<Index> {
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
    for (const work::Operand& operand : nest.operands) {
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

// Which element of the input meets which position of the output, how often; the tap between them follows from both.
using Meetings = std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t>;

void add_meetings(const LoopNest& nest, std::int64_t times, std::int64_t plus, Meetings& meetings) {
  const Axis &in = nest.operands[0].axes[1], &out = nest.operands[2].axes[1];
  for (std::int64_t x = 0; x < nest.dimensions[2].size; ++x)
    for (std::int64_t f = 0; f < nest.dimensions[3].size; ++f) {
      const auto index = [&](const Axis& axis) {
        std::int64_t i = axis.offset;
        for (const work::Term& term : axis.terms) i += term.coefficient * (term.dimension == 2 ? x : f);
        return i;
      };
      if (index(in) < 0 || index(in) >= in.extent || index(out) < 0 || index(out) >= out.extent) continue;
      ++meetings[{index(in), times * index(out) + plus}];
    }
}

TEST(Forms, ClassesByRemainderMakeTheProductsThatCountAndNoOther) {
  for (const std::int64_t stride : {1, 2, 3, 4})
    for (const std::int64_t dilation : {1, 2, 3})
      for (const std::int64_t pad : {-2, 0, 1, 2, 5})
        for (const std::int64_t fx : {1, 2, 3, 5})
          for (const std::int64_t ix : {1, 4, 7, 10}) {
            const std::int64_t ox = 4;
            const LoopNest scattered = data_gradient(ox, fx, stride, dilation, pad, ix);
            Meetings wanted, found;
            add_meetings(scattered, 1, 0, wanted);
            const std::vector<LoopNest> classes = gathered_by_remainder(scattered);
            std::size_t at = 0;
            for (std::int64_t r = 0; r < std::min(stride, ix); ++r) {
              bool is_reached = false;
              for (std::int64_t f = 0; f < fx; ++f) is_reached = is_reached || (dilation * f - pad - r) % stride == 0;
              if (!is_reached) continue;
              ASSERT_LT(at, classes.size());
              EXPECT_FALSE(is_scattered(classes[at]));
              EXPECT_EQ(classes[at].operands[1].axes[2].extent, classes[at].dimensions[3].size);
              add_meetings(classes[at++], stride, r, found);
            }
            EXPECT_EQ(at, classes.size());
            EXPECT_EQ(found, wanted) << stride << " " << dilation << " " << pad << " " << fx << " " << ix;
          }
}

// 3 x 3 taps by a stride of 2: four classes of 4, 2, 2 and 1 of the nine taps.
TEST(Forms, TapsOfAllClassesAreThoseOfTheWindow) {
  LoopNest nest;
  nest.dimensions = {{"OY", 8}, {"OX", 8}, {"FY", 3}, {"FX", 3}};
  nest.operands = {
      {.role = Role::Input, .format = {}, .accumulator = {}, .axes = {{8, 0, {{0, 1}}}, {8, 0, {{1, 1}}}}},
      {.role = Role::Weight, .format = {}, .accumulator = {}, .axes = {{3, 0, {{2, 1}}}, {3, 0, {{3, 1}}}}},
      {.role = Role::Output,
       .format = {},
       .accumulator = {},
       .axes = {{16, -1, {{0, 2}, {2, 1}}}, {16, -1, {{1, 2}, {3, 1}}}}}};
  std::uint64_t products = 0;
  const std::vector<LoopNest> classes = gathered_by_remainder(nest);
  ASSERT_EQ(classes.size(), 4u);
  for (const LoopNest& c : classes) {
    EXPECT_EQ(c.dimensions[0].size, 8);
    products += work::macs(c);
  }
  EXPECT_EQ(products, work::macs(nest));
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
