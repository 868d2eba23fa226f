#include <limits>

#include "unit/interpret/arrays.h"

namespace monet {
namespace {

using A = Array<double>;

struct Plain {
  A o, log_sum_exp;
};

// softmax(scale · q kᵀ + mask) v element by element, from the definition. mask is [S,T] or null.
Plain plain_attention(const Attention& op, const A& q, const A& k, const A& v, const A* mask) {
  const std::size_t r = q.shape.size();
  const std::int64_t s = q.shape[r - 2], t = k.shape[r - 2], d = q.shape[r - 1], e = v.shape[r - 1];
  Shape o_shape = q.shape, l_shape = q.shape;
  o_shape.back() = e;
  l_shape.back() = 1;
  Plain p{{o_shape, std::vector<double>(static_cast<std::size_t>(elements(o_shape)))}, {l_shape, {}}};
  for (std::int64_t b = 0; b < elements(q.shape) / s / d; ++b)
    for (std::int64_t i = 0; i < s; ++i) {
      std::vector<double> weight;
      double sum = 0;
      for (std::int64_t j = 0; j < t; ++j) {
        double score = 0;
        for (std::int64_t c = 0; c < d; ++c)
          score += q.data.data()[(b * s + i) * d + c] * k.data.data()[(b * t + j) * d + c];
        score *= op.scale;
        if (mask) score += mask->data.data()[i * t + j];
        weight.push_back(op.causal && j > i + t - s ? 0 : std::exp(score));
        sum += weight.back();
      }
      p.log_sum_exp.data.push_back(std::log(sum));
      for (std::int64_t j = 0; j < t; ++j)
        for (std::int64_t c = 0; c < e; ++c)
          p.o.data.data()[(b * s + i) * e + c] +=
              sum == 0 ? 0 : weight.data()[j] / sum * v.data.data()[(b * t + j) * e + c];
    }
  return p;
}

struct Setting {
  std::int64_t queries, keys, block;
  bool causal, masked;
};

class AttentionTest : public testing::TestWithParam<Setting> {};

TEST_P(AttentionTest, EqualsPlainSoftmaxAttentionWithItsGradient) {
  const Setting& s = GetParam();
  const Attention op{.scale = 0.7, .causal = s.causal, .block = s.block};
  const A q = random_array({2, 3, s.queries, 4}, 1), k = random_array({2, 3, s.keys, 4}, 2),
          v = random_array({2, 3, s.keys, 5}, 3), mask = random_array({s.queries, s.keys}, 4);
  const A* m = s.masked ? &mask : nullptr;
  const auto out = evaluate_all<double>(op, {&q, &k, &v, m});
  const Plain want = plain_attention(op, q, k, v, m);
  expect_near(out[0], want.o, 1e-13);
  for (std::size_t i = 0; i < want.log_sum_exp.data.size(); ++i)
    if (std::isfinite(want.log_sum_exp.data[i]))
      ASSERT_NEAR(out[1].data[i], want.log_sum_exp.data[i], 1e-13);
    else
      ASSERT_EQ(out[1].data[i], want.log_sum_exp.data[i]);

  const A d_out = random_array(out[0].shape, 5);
  const AttentionGradient gradient{.scale = op.scale, .causal = op.causal, .block = op.block};
  const auto d = evaluate_all<double>(gradient, {&d_out, &q, &k, &v, &out[0], &out[1], m});
  std::vector<A> in{q, k, v};
  if (m) in.push_back(mask);
  for (std::size_t i = 0; i < 3; ++i) expect_near(d[i], numeric_gradient(op, in, i, d_out), 1e-7);
}
INSTANTIATE_TEST_SUITE_P(Settings, AttentionTest,
                         testing::Values(Setting{5, 5, 128, false, false}, Setting{5, 7, 3, false, true},
                                         Setting{6, 6, 2, true, false}, Setting{3, 7, 4, true, true},
                                         Setting{7, 3, 1, true, false}, Setting{1, 1, 1, true, false}));

TEST(AttentionMask, BroadcastsOverBatchesAndQueries) {
  const A q = random_array({2, 3, 4, 2}, 1), k = random_array({2, 3, 5, 2}, 2), v = random_array({2, 3, 5, 2}, 3);
  for (const Shape& shape : {Shape{5}, Shape{4, 1}, Shape{3, 1, 5}, Shape{2, 1, 4, 5}, Shape{2, 1, 1, 5}}) {
    const A mask = random_array(shape, 4);
    const A full = evaluate_one<double>(Expand{{2, 3, 4, 5}}, {&mask});
    EXPECT_EQ(evaluate_all<double>(Attention{.block = 2}, {&q, &k, &v, &mask}),
              evaluate_all<double>(Attention{.block = 2}, {&q, &k, &v, &full}));
  }
}

TEST(AttentionMask, ARowHiddenByLargeNegativesAveragesItsKeys) {
  const A q = random_array({1, 4}, 1), k = random_array({3, 4}, 2), v{{3, 1}, {1, 2, 6}};
  const A mask{{1, 3}, {-1e30, -1e30, -1e30}};
  for (const std::int64_t block : {1, 2, 3}) {
    const auto out = evaluate_all<double>(Attention{.block = block}, {&q, &k, &v, &mask});
    EXPECT_NEAR(out[0].data[0], 3, 1e-12);
    const A d_out{{1, 1}, {1}};
    const auto d =
        evaluate_all<double>(AttentionGradient{.block = block}, {&d_out, &q, &k, &v, &out[0], &out[1], &mask});
    for (const A& a : d)
      for (const double x : a.data) ASSERT_TRUE(std::isfinite(x));
  }
}

TEST(AttentionMask, ARowThatSeesNothingGivesZeros) {
  const double inf = std::numeric_limits<double>::infinity();
  const A q = random_array({1, 4}, 1), k = random_array({3, 4}, 2), v{{3, 1}, {1, 2, 6}};
  const A mask{{1, 3}, {-inf, -inf, -inf}}, d_out{{1, 1}, {1}};
  const auto out = evaluate_all<double>(Attention{.block = 2}, {&q, &k, &v, &mask});
  EXPECT_EQ(out[0].data[0], 0);
  EXPECT_EQ(out[1].data[0], -inf);
  const auto d = evaluate_all<double>(AttentionGradient{.block = 2}, {&d_out, &q, &k, &v, &out[0], &out[1], &mask});
  for (const A& a : d)
    for (const double x : a.data) ASSERT_EQ(x, 0);
}

TEST(AttentionGradients, OperandsOfTheWrongSizeAreRefused) {
  const A q = random_array({2, 4}, 1), v = random_array({2, 4}, 2), lse{{2, 1}, {0, 0}},
          narrow = random_array({2, 3}, 3);
  EXPECT_THROW(evaluate_all<double>(AttentionGradient{}, {&narrow, &q, &q, &v, &narrow, &lse}), ShapeError);
  const A short_lse{{1, 1}, {0}};
  EXPECT_THROW(evaluate_all<double>(AttentionGradient{}, {&q, &q, &q, &v, &q, &short_lse}), ShapeError);
}

}  // namespace
}  // namespace monet
