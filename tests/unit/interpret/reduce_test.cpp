#include "unit/interpret/arrays.h"

namespace monet {
namespace {

using V = std::vector<double>;

TEST(ReduceValues, ByHand) {
  const Array<double> x{{2, 3}, {1, -2, 3, 4, 5, -6}};
  const auto reduce = [&](ReduceKind kind, Ints axes, bool keep) {
    return evaluate_one<double>(Reduce{kind, std::move(axes), keep}, {&x});
  };
  EXPECT_EQ(reduce(ReduceKind::Sum, {0}, false), (Array<double>{{3}, {5, 3, -3}}));
  EXPECT_EQ(reduce(ReduceKind::Sum, {1}, true), (Array<double>{{2, 1}, {2, 3}}));
  EXPECT_EQ(reduce(ReduceKind::Mean, {0, 1}, false), (Array<double>{{}, {5.0 / 6}}));
  EXPECT_EQ(reduce(ReduceKind::Max, {1}, false), (Array<double>{{2}, {3, 5}}));
  EXPECT_EQ(reduce(ReduceKind::Min, {0}, true), (Array<double>{{1, 3}, {1, -2, -6}}));
  EXPECT_EQ(reduce(ReduceKind::SumSquare, {1}, false), (Array<double>{{2}, {14, 77}}));
  EXPECT_EQ(reduce(ReduceKind::Sum, {}, true), x);
}

TEST(ReduceValues, EveryChoiceOfAxesEqualsIndexArithmetic) {
  const Array<double> x = random_array({2, 3, 4, 5}, 1);
  for (int chosen = 0; chosen < 16; ++chosen) {
    Ints axes;
    Shape kept = x.shape;
    for (int i = 0; i < 4; ++i)
      if (chosen >> i & 1) axes.push_back(i), kept[static_cast<std::size_t>(i)] = 1;
    Array<double> want{kept, V(static_cast<std::size_t>(elements(kept)))};
    std::size_t flat = 0;
    for (std::int64_t a = 0; a < 2; ++a)
      for (std::int64_t b = 0; b < 3; ++b)
        for (std::int64_t c = 0; c < 4; ++c)
          for (std::int64_t d = 0; d < 5; ++d, ++flat) {
            const std::array<std::int64_t, 4> index{a, b, c, d};
            std::int64_t at = 0;
            for (std::size_t i = 0; i < 4; ++i) at = at * kept[i] + (kept[i] == 1 ? 0 : index[i]);
            want.data[static_cast<std::size_t>(at)] += x.data[flat];
          }
    expect_near(evaluate_one<double>(Reduce{ReduceKind::Sum, axes, true}, {&x}), want, 1e-13);
  }
}

// A float sum of a million small terms keeps its digits.
TEST(ReduceValues, FloatSumsAreAccumulatedInDouble) {
  const Array<float> x{{1 << 20}, std::vector<float>(1 << 20, 0.1f)};
  const Array<float> y = evaluate_one<float>(Reduce{ReduceKind::Sum, {0}, false}, {&x});
  EXPECT_NEAR(y.data[0], 104857.6, 0.01);
}

TEST(SoftmaxValues, AlongEveryAxis) {
  const Array<double> x = random_array({2, 3, 4}, 1);
  for (std::int64_t axis = 0; axis < 3; ++axis) {
    const Array<double> exps = evaluate_one<double>(Unary{UnaryKind::Exp}, {&x});
    const Array<double> sums = evaluate_one<double>(Reduce{ReduceKind::Sum, {axis}, true}, {&exps});
    const Array<double> want = evaluate_one<double>(Binary{BinaryKind::Div}, {&exps, &sums});
    const Array<double> y = evaluate_one<double>(Softmax{axis, false}, {&x});
    expect_near(y, want, 1e-14);
    expect_near(evaluate_one<double>(Softmax{axis, true}, {&x}), evaluate_one<double>(Unary{UnaryKind::Log}, {&y}),
                1e-13);
  }
}

TEST(SoftmaxValues, AreStable) {
  const Array<double> x{{1, 3}, {1000, 1000, -1000}};
  EXPECT_EQ(evaluate_one<double>(Softmax{1, false}, {&x}).data, (V{0.5, 0.5, 0}));
  EXPECT_NEAR(evaluate_one<double>(Softmax{1, true}, {&x}).data[2], -2000 - std::log(2.0), 1e-9);
}

TEST(SoftmaxGradients, EqualCentralDifferences) {
  const Array<double> x = random_array({2, 4, 3}, 1), dy = random_array({2, 4, 3}, 2);
  for (const bool log : {false, true})
    for (std::int64_t axis = 0; axis < 3; ++axis) {
      const Softmax op{axis, log};
      const Array<double> y = evaluate_one<double>(op, {&x});
      expect_near(evaluate_one<double>(SoftmaxGradient{axis, log}, {&dy, &y}), numeric_gradient(op, {x}, 0, dy), 1e-8);
    }
}

}  // namespace
}  // namespace monet
