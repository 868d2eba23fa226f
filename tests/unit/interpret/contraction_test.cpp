#include "unit/interpret/arrays.h"

namespace monet {
namespace {

// ---- Convolution against the definition: seven nested loops per spatial rank, written for three ----

struct Case {
  Conv op;
  Shape x, w, y;
};

Case random_case(std::uint64_t stream, std::size_t spatial, bool depthwise) {
  std::uint64_t draw = 0;
  const auto next = [&](std::int64_t low, std::int64_t high) { return pick(stream, draw++, low, high); };
  Case c;
  const std::int64_t groups = depthwise ? next(2, 4) : next(1, 3);
  const std::int64_t in = depthwise ? 1 : next(1, 4), out = next(1, 4);
  c.op.groups = groups;
  c.x = {next(1, 3), groups * in};
  c.w = {groups * out, in};
  c.y = {c.x[0], groups * out};
  for (std::size_t i = 0; i < spatial; ++i) {
    const std::int64_t kernel = next(1, 3), stride = next(1, 3), dilation = next(1, 2);
    std::int64_t begin = next(-1, 3), end = next(-1, 3);
    const std::int64_t extent = next(dilation * (kernel - 1) + 3, dilation * (kernel - 1) + 8);
    c.op.strides.push_back(stride);
    c.op.dilations.push_back(dilation);
    c.op.pads_begin.push_back(begin);
    c.op.pads_end.push_back(end);
    c.x.push_back(extent);
    c.w.push_back(kernel);
    c.y.push_back(window_count(extent, kernel, stride, dilation, begin, end, false));
  }
  return c;
}

// Calls f(flat x, flat w, flat y) for every product the convolution sums up.
template <class F>
void for_each_product(const Case& c, F&& f) {
  const std::size_t spatial = c.x.size() - 2;
  const std::int64_t k_per_group = c.y[1] / c.op.groups;
  const auto extents = [&](const Shape& s) {
    std::array<std::int64_t, 3> e{1, 1, 1};
    for (std::size_t i = 0; i < spatial; ++i) e[i] = s[i + 2];
    return e;
  };
  const auto ex = extents(c.x), ew = extents(c.w), ey = extents(c.y);
  const auto input_at = [&](std::size_t i, std::int64_t o, std::int64_t t) {
    return i >= spatial ? 0 : o * c.op.strides[i] + t * c.op.dilations[i] - c.op.pads_begin[i];
  };
  for (std::int64_t n = 0; n < c.y[0]; ++n)
    for (std::int64_t k = 0; k < c.y[1]; ++k)
      for (std::int64_t ch = 0; ch < c.w[1]; ++ch)
        for (std::int64_t o = 0; o < ey[0] * ey[1] * ey[2]; ++o)
          for (std::int64_t t = 0; t < ew[0] * ew[1] * ew[2]; ++t) {
            const std::int64_t a = input_at(0, o / ey[2] / ey[1], t / ew[2] / ew[1]);
            const std::int64_t b = input_at(1, o / ey[2] % ey[1], t / ew[2] % ew[1]);
            const std::int64_t d = input_at(2, o % ey[2], t % ew[2]);
            if (a < 0 || b < 0 || d < 0 || a >= ex[0] || b >= ex[1] || d >= ex[2]) continue;
            const std::int64_t channel = k / k_per_group * c.w[1] + ch;
            f((((n * c.x[1] + channel) * ex[0] + a) * ex[1] + b) * ex[2] + d,
              (k * c.w[1] + ch) * ew[0] * ew[1] * ew[2] + t, (n * c.y[1] + k) * ey[0] * ey[1] * ey[2] + o);
          }
}

Array<double> zeros(const Shape& shape) {
  return {shape, std::vector<double>(static_cast<std::size_t>(elements(shape)))};
}

class Convolution : public testing::TestWithParam<int> {};

TEST_P(Convolution, EqualsItsDefinitionInAllThreeKindsAndTheyAreAdjoint) {
  const auto seed = static_cast<std::uint64_t>(GetParam());
  const Case c = random_case(seed, 1 + seed % 3, seed % 4 == 3);
  const Array<double> x = random_array(c.x, seed * 3), w = random_array(c.w, seed * 3 + 1),
                      y = random_array(c.y, seed * 3 + 2);
  Array<double> want_y = zeros(c.y), want_x = zeros(c.x), want_w = zeros(c.w);
  for_each_product(c, [&](std::int64_t i, std::int64_t j, std::int64_t k) {
    const auto xi = static_cast<std::size_t>(i), wi = static_cast<std::size_t>(j), yi = static_cast<std::size_t>(k);
    want_y.data[yi] += x.data[xi] * w.data[wi];
    want_x.data[xi] += y.data[yi] * w.data[wi];
    want_w.data[wi] += y.data[yi] * x.data[xi];
  });
  Conv op = c.op;
  const Array<double> forward = evaluate_one<double>(op, {&x, &w});
  expect_near(forward, want_y, 1e-12, "forward");
  op.kind = ConvKind::DataGradient;
  op.extent = {c.x.begin() + 2, c.x.end()};
  const Array<double> data = evaluate_one<double>(op, {&y, &w});
  expect_near(data, want_x, 1e-12, "data gradient");
  op.kind = ConvKind::WeightGradient;
  op.extent = {c.w.begin() + 2, c.w.end()};
  const Array<double> weight = evaluate_one<double>(op, {&x, &y});
  expect_near(weight, want_w, 1e-12, "weight gradient");

  EXPECT_NEAR(dot(forward, y), dot(x, data), 1e-10);
  EXPECT_NEAR(dot(forward, y), dot(w, weight), 1e-10);
}
INSTANTIATE_TEST_SUITE_P(Random, Convolution, testing::Range(0, 60));

// More output positions than one piece of unfolded input holds, so that pieces end inside lines and samples.
TEST(ConvolutionPieces, SplitAcrossLinesAndSamples) {
  Case c;
  c.op.strides = c.op.dilations = {1};
  c.op.pads_begin = c.op.pads_end = {1};
  c.x = {3, 700, 1500};
  c.w = {2, 700, 3};
  c.y = {3, 2, 1500};
  const Array<float> x = random_array<float>(c.x, 1), w = random_array<float>(c.w, 2), y = random_array<float>(c.y, 3);
  const Array<double> xd = random_array<double>(c.x, 1), wd = random_array<double>(c.w, 2);
  Array<double> want = zeros(c.y);
  for_each_product(c, [&](std::int64_t i, std::int64_t j, std::int64_t k) {
    want.data[static_cast<std::size_t>(k)] +=
        xd.data[static_cast<std::size_t>(i)] * wd.data[static_cast<std::size_t>(j)];
  });
  const Array<float> got = evaluate_one<float>(c.op, {&x, &w});
  for (std::size_t i = 0; i < got.data.size(); ++i) ASSERT_NEAR(got.data[i], want.data[i], 1e-3) << i;
  Conv gradient = c.op;
  gradient.kind = ConvKind::WeightGradient;
  gradient.extent = {3};
  EXPECT_NEAR(dot(evaluate_one<float>(gradient, {&x, &y}), w), dot(got, y), 0.05);
  gradient.kind = ConvKind::DataGradient;
  gradient.extent = {1500};
  EXPECT_NEAR(dot(evaluate_one<float>(gradient, {&y, &w}), x), dot(got, y), 0.05);
}

TEST(ConvolutionBias, IsAddedToEveryElementOfItsChannel) {
  const Array<double> x{{1, 1, 2}, {1, 2}}, w{{2, 1, 1}, {3, 4}}, bias{{2}, {10, 20}};
  Conv op{.strides = {1}, .dilations = {1}, .pads_begin = {0}, .pads_end = {0}, .extent = {}};
  EXPECT_EQ(evaluate_one<double>(op, {&x, &w, &bias}).data, (std::vector<double>{13, 16, 24, 28}));
  // Transposed: y [1,2,2] back to one channel.
  const Array<double> y{{1, 2, 2}, {1, 2, 3, 4}}, one{{1}, {100}};
  op.kind = ConvKind::DataGradient;
  op.extent = {2};
  EXPECT_EQ(evaluate_one<double>(op, {&y, &w, &one}).data, (std::vector<double>{115, 122}));
}

TEST(Unfold, TimesTheWeightsIsTheConvolution) {
  const Array<double> x = random_array({2, 3, 5, 6}, 1), w = random_array({4, 3, 2, 3}, 2);
  const Conv conv{.strides = {2, 1}, .dilations = {1, 2}, .pads_begin = {1, 0}, .pads_end = {0, 2}, .extent = {}};
  const Unfold unfold{{2, 3}, {2, 1}, {1, 2}, {1, 0}, {0, 2}};
  const Array<double> columns = evaluate_one<double>(unfold, {&x});
  const Array<double> matrix{{4, 18}, w.data};
  Array<double> product = evaluate_one<double>(MatMul{}, {&matrix, &columns});
  const Array<double> want = evaluate_one<double>(conv, {&x, &w});
  product.shape = want.shape;
  expect_near(product, want, 1e-12);
}

// ---- Matrix products ----

TEST(MatMulOperator, HandComputed) {
  const Array<double> a{{2, 3}, {1, 2, 3, 4, 5, 6}}, b{{3, 2}, {7, 8, 9, 10, 11, 12}}, c{{2}, {1, 10}};
  EXPECT_EQ(evaluate_one<double>(MatMul{}, {&a, &b}).data, (std::vector<double>{58, 64, 139, 154}));
  EXPECT_EQ(evaluate_one<double>(MatMul{.alpha = 2, .beta = 3}, {&a, &b, &c}).data,
            (std::vector<double>{119, 158, 281, 338}));
  EXPECT_EQ(evaluate_one<double>(MatMul{.trans_a = true, .trans_b = true}, {&b, &a}).data,
            (std::vector<double>{58, 139, 64, 154}));
}

double element_of(const Array<double>& a, const Shape& batch, const std::vector<std::int64_t>& at, std::int64_t row,
                  std::int64_t column) {
  std::int64_t index = 0;
  const std::size_t rank = a.shape.size();
  for (std::size_t i = 0; i + 2 < rank; ++i) {
    const std::size_t whole = batch.size() - (rank - 2) + i;
    index = index * a.shape[i] + (a.shape[i] == 1 ? 0 : at[whole]);
  }
  return a.data[static_cast<std::size_t>((index * a.shape[rank - 2] + row) * a.shape[rank - 1] + column)];
}

TEST(MatMulOperator, BroadcastsBatchesUnderEveryTranspose) {
  const std::vector<std::pair<Shape, Shape>> batches{{{2, 3}, {2, 3}}, {{2, 1}, {3}},    {{}, {4}},          {{4}, {}},
                                                     {{2, 3}, {1, 1}}, {{1, 3}, {2, 1}}, {{5, 1, 2}, {3, 1}}};
  std::uint64_t stream = 0;
  for (const auto& [left, right] : batches)
    for (const bool ta : {false, true})
      for (const bool tb : {false, true}) {
        const std::int64_t m = 7, n = 19, k = 5;
        Shape sa = left, sb = right;
        for (const std::int64_t e : ta ? Shape{k, m} : Shape{m, k}) sa.push_back(e);
        for (const std::int64_t e : tb ? Shape{n, k} : Shape{k, n}) sb.push_back(e);
        const Array<double> a = random_array(sa, ++stream), b = random_array(sb, ++stream);
        const Array<double> y = evaluate_one<double>(MatMul{.trans_a = ta, .trans_b = tb}, {&a, &b});
        const Shape batch(y.shape.begin(), y.shape.end() - 2);
        for (std::int64_t flat = 0; flat < elements(batch); ++flat) {
          std::vector<std::int64_t> at(batch.size());
          std::int64_t rest = flat;
          for (std::size_t i = batch.size(); i-- > 0; rest /= batch[i]) at[i] = rest % batch[i];
          for (std::int64_t i = 0; i < m; ++i)
            for (std::int64_t j = 0; j < n; ++j) {
              double sum = 0;
              for (std::int64_t p = 0; p < k; ++p)
                sum +=
                    element_of(a, batch, at, ta ? p : i, ta ? i : p) * element_of(b, batch, at, tb ? j : p, tb ? p : j);
              ASSERT_NEAR(y.data[static_cast<std::size_t>((flat * m + i) * n + j)], sum, 1e-12);
            }
        }
      }
}

// Sizes around every block and tile boundary of the product; small integers, so the sums are exact.
template <class T>
void check_product(std::int64_t m, std::int64_t n, std::int64_t k) {
  Array<T> a{{m, k}, {}}, b{{k, n}, {}};
  for (std::int64_t i = 0; i < m * k; ++i) a.data.push_back(static_cast<T>((i * 7 + i / k) % 5 - 2));
  for (std::int64_t i = 0; i < k * n; ++i) b.data.push_back(static_cast<T>((i * 3 + i / n) % 7 - 3));
  const Array<T> y = evaluate_one<T>(MatMul{}, {&a, &b});
  std::vector<T> want(static_cast<std::size_t>(m * n));
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t p = 0; p < k; ++p)
      for (std::int64_t j = 0; j < n; ++j)
        want.data()[i * n + j] += a.data.data()[i * k + p] * b.data.data()[p * n + j];
  ASSERT_EQ(y.data, want) << m << " " << n << " " << k;
}

TEST(MatMulOperator, IsExactAroundBlockBoundaries) {
  for (const std::int64_t m : {1, 5, 6, 7, 97})
    for (const std::int64_t n : {1, 7, 8, 15, 16, 17, 33})
      for (const std::int64_t k : {1, 255, 256, 257, 513}) {
        check_product<float>(m, n, k);
        check_product<double>(m, n, k);
      }
  check_product<float>(13, 2049, 3);
  check_product<double>(200, 4100, 2);
}

// The order of every sum is part of the contract: terms in order within blocks of 256, blocks in order. Whatever
// kernel this machine chose must give these very bits.
TEST(MatMulOperator, SumsInTheSameOrderOnEveryMachine) {
  const std::int64_t m = 9, n = 37, k = 700;
  const Array<float> a = random_array<float>({m, k}, 1), b = random_array<float>({k, n}, 2);
  const Array<float> y = evaluate_one<float>(MatMul{}, {&a, &b});
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (std::int64_t first = 0; first < k; first += 256) {
        float block = 0;
        for (std::int64_t p = first; p < std::min(k, first + 256); ++p)
          block += a.data.data()[i * k + p] * b.data.data()[p * n + j];
        sum += block;
      }
      ASSERT_EQ(y.data.data()[i * n + j], sum) << i << " " << j;
    }
}

}  // namespace
}  // namespace monet
