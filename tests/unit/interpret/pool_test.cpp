#include "unit/interpret/arrays.h"

namespace monet {
namespace {

using V = std::vector<double>;

Pool square_pool(PoolKind kind, std::int64_t kernel, std::int64_t stride, std::int64_t pad) {
  return {kind, {kernel, kernel}, {stride, stride}, {1, 1}, {pad, pad}, {pad, pad}};
}

PoolGradient gradient_of(const Pool& op, Ints extent) {
  return {op.kind,     op.kernel, op.strides,    op.dilations,    op.pads_begin,
          op.pads_end, op.ceil,   op.count_pads, op.window_index, std::move(extent)};
}

Array<double> counting(std::int64_t side) {
  Array<double> x{{1, 1, side, side}, {}};
  for (std::int64_t i = 1; i <= side * side; ++i) x.data.push_back(static_cast<double>(i));
  return x;
}

// torch 1.13: avg_pool2d(arange(1, 37).view(1, 1, 6, 6), 3, 2, 1, ceil_mode=True, count_include_pad=…)
TEST(AveragePool, CeilAndPadsCountAsInTorch) {
  const Array<double> x = counting(6);
  Pool op = square_pool(PoolKind::Average, 3, 2, 1);
  op.ceil = true;
  op.count_pads = true;
  expect_near(evaluate_one<double>(op, {&x}),
              {{1, 1, 4, 4}, {2, 4, 16.0 / 3, 3, 9, 15, 17, 9, 17, 27, 29, 15, 10.5, 16.5, 17.5, 9}}, 1e-14);
  op.count_pads = false;
  expect_near(evaluate_one<double>(op, {&x}),
              {{1, 1, 4, 4}, {4.5, 6, 8, 9, 13.5, 15, 17, 18, 25.5, 27, 29, 30, 31.5, 33, 35, 36}}, 1e-14);
}

// torch 1.13: max_pool2d(x, 3, 2, 1, return_indices=True) with every second column negated
TEST(MaxPool, ValuesAndIndicesAsInTorch) {
  Array<double> x = counting(5);
  for (std::size_t i = 0; i < 25; ++i)
    if (i % 5 % 2 == 1) x.data[i] = -x.data[i];
  const auto out = evaluate_all<double>(square_pool(PoolKind::Max, 3, 2, 1), {&x});
  EXPECT_EQ(out[0].data, (V{6, 8, 10, 16, 18, 20, 21, 23, 25}));
  EXPECT_EQ(out[1].data, (V{5, 7, 9, 15, 17, 19, 20, 22, 24}));
}

TEST(MaxPool, TiesGoToTheFirst) {
  const Array<double> x{{1, 1, 2, 3}, {4, 4, 4, 4, 4, 4}};
  const Pool op = square_pool(PoolKind::Max, 2, 1, 0);
  EXPECT_EQ(evaluate_all<double>(op, {&x})[1].data, (V{0, 1}));
  const Array<double> low{{1, 1, 1, 2}, {-std::numeric_limits<double>::infinity(), -1}};
  Pool line = square_pool(PoolKind::Max, 1, 1, 0);
  EXPECT_EQ(evaluate_all<double>(line, {&low})[1].data, (V{0, 1}));
}

// Brute force over every window and every kernel point, one to three dimensions.
class Pooling : public testing::TestWithParam<int> {};

struct Geometry {
  Ints kernel, stride, dilation, begin, end;
  Shape x;
};

Geometry random_geometry(std::uint64_t seed) {
  std::uint64_t draw = 0;
  const auto next = [&](std::int64_t low, std::int64_t high) { return pick(seed + 500, draw++, low, high); };
  Geometry g;
  g.x = {2, 2};
  for (std::size_t i = 0; i < 1 + seed % 3; ++i) {
    const std::int64_t kernel = next(1, 3), dilation = next(1, 2), reach = dilation * (kernel - 1) + 1;
    g.kernel.push_back(kernel);
    g.dilation.push_back(dilation);
    g.stride.push_back(next(1, 3));
    g.begin.push_back(next(0, (reach - 1) / 2));
    g.end.push_back(next(0, (reach - 1) / 2));
    g.x.push_back(next(reach, reach + 5));
  }
  return g;
}

TEST_P(Pooling, EqualsBruteForceAndItsGradientIsTheAdjoint) {
  const auto seed = static_cast<std::uint64_t>(GetParam());
  const Geometry g = random_geometry(seed);
  const std::size_t spatial = g.kernel.size();
  const Array<double> x = random_array(g.x, seed);
  Pool op{seed % 2 ? PoolKind::Max : PoolKind::Average, g.kernel, g.stride, g.dilation, g.begin, g.end};
  op.ceil = seed % 4 > 1;
  op.count_pads = seed % 5 > 2;
  const auto out = evaluate_all<double>(op, {&x});
  const Shape& y = out[0].shape;
  const std::int64_t in_plane = elements({g.x.begin() + 2, g.x.end()}), out_plane = elements({y.begin() + 2, y.end()});
  for (std::int64_t flat = 0; flat < elements(y); ++flat) {
    const std::int64_t plane = flat / out_plane;
    Ints position(spatial);
    std::int64_t rest = flat % out_plane;
    for (std::size_t i = spatial; i-- > 0; rest /= y[i + 2]) position[i] = rest % y[i + 2];
    double most = -1e300, sum = 0;
    std::int64_t winner = -1, real = 0, with_pads = 0;
    for (std::int64_t tap = 0; tap < elements(g.kernel); ++tap) {
      Ints at(spatial);
      std::int64_t left = tap, index = 0;
      bool inside = true, inside_pads = true;
      for (std::size_t i = spatial; i-- > 0; left /= g.kernel[i])
        at[i] = position[i] * g.stride[i] + left % g.kernel[i] * g.dilation[i] - g.begin[i];
      for (std::size_t i = 0; i < spatial; ++i) {
        inside = inside && at[i] >= 0 && at[i] < g.x[i + 2];
        inside_pads = inside_pads && at[i] < g.x[i + 2] + g.end[i];
        index = index * g.x[i + 2] + at[i];
      }
      with_pads += inside_pads;
      if (!inside) continue;
      ++real;
      const double value = x.data[static_cast<std::size_t>(plane * in_plane + index)];
      sum += value;
      if (value > most) most = value, winner = index;
    }
    if (op.kind == PoolKind::Max) {
      ASSERT_EQ(out[0].data[static_cast<std::size_t>(flat)], most);
      ASSERT_EQ(out[1].data[static_cast<std::size_t>(flat)], static_cast<double>(winner));
    } else {
      ASSERT_NEAR(out[0].data[static_cast<std::size_t>(flat)],
                  sum / static_cast<double>(op.count_pads ? with_pads : real), 1e-14);
    }
  }

  const Array<double> dy = random_array(y, seed + 100);
  const PoolGradient gradient = gradient_of(op, {g.x.begin() + 2, g.x.end()});
  const Array<double> dx =
      op.kind == PoolKind::Max ? evaluate_one<double>(gradient, {&dy, &out[1]}) : evaluate_one<double>(gradient, {&dy});
  expect_near(dx, numeric_gradient(op, {x}, 0, dy, 0, 1e-6), 1e-7);
  if (op.kind == PoolKind::Max) {  // the other encoding of the indices says the same
    Pool in_window = op;
    in_window.window_index = true;
    const auto other = evaluate_all<double>(in_window, {&x});
    EXPECT_EQ(other[0], out[0]);
    PoolGradient other_gradient = gradient;
    other_gradient.window_index = true;
    EXPECT_EQ(evaluate_one<double>(other_gradient, {&dy, &other[1]}), dx);
    for (const double index : other[1].data) ASSERT_LT(index, static_cast<double>(elements(g.kernel)));
  }
}
INSTANTIATE_TEST_SUITE_P(Random, Pooling, testing::Range(0, 48));

// Dilation can leave a window with nothing but padding.
TEST(MaxPool, AWindowWithoutElementsGetsNoGradient) {
  const Array<double> x{{1, 1, 1}, {5}};
  Pool op{PoolKind::Max, {2}, {1}, {3}, {1}, {2}};
  for (const bool window_index : {false, true}) {
    op.window_index = window_index;
    const auto out = evaluate_all<double>(op, {&x});
    ASSERT_EQ(out[0].shape, (Shape{1, 1, 1}));
    EXPECT_LT(out[0].data[0], -1e300);
    const Array<double> dy{{1, 1, 1}, {1}};
    EXPECT_EQ(evaluate_one<double>(gradient_of(op, {1}), {&dy, &out[1]}).data, (V{0}));
  }
  op.kind = PoolKind::Average;
  EXPECT_EQ(evaluate_all<double>(op, {&x})[0].data, (V{0}));
}

TEST(MaxPool, IndicesOutOfRangeAreRefused) {
  const Array<double> dy{{1, 1, 1, 1}, {1}}, index{{1, 1, 1, 1}, {4}}, none{{1, 1, 1, 1}, {std::nan("")}};
  for (const bool window_index : {false, true}) {
    Pool op = square_pool(PoolKind::Max, 2, 1, 0);
    op.window_index = window_index;
    EXPECT_THROW(evaluate_one<double>(gradient_of(op, {2, 2}), {&dy, &index}), ValueError);
    EXPECT_THROW(evaluate_one<double>(gradient_of(op, {2, 2}), {&dy, &none}), ValueError);
  }
}

}  // namespace
}  // namespace monet
