#include <limits>

#include "unit/interpret/arrays.h"

namespace monet {
namespace {

using V = std::vector<double>;

V combine(BinaryKind kind, V a, V b, Element element = Element::F32) {
  const Array<double> left = row(std::move(a)), right = row(std::move(b));
  return evaluate_one<double>(Binary{kind}, {&left, &right}, element).data;
}

TEST(BinaryValues, Arithmetic) {
  EXPECT_EQ(combine(BinaryKind::Add, {1, 2}, {3, -4}), (V{4, -2}));
  EXPECT_EQ(combine(BinaryKind::Sub, {1, 2}, {3, -4}), (V{-2, 6}));
  EXPECT_EQ(combine(BinaryKind::Mul, {1, 2}, {3, -4}), (V{3, -8}));
  EXPECT_EQ(combine(BinaryKind::Div, {7, -7}, {2, 2}), (V{3.5, -3.5}));
  EXPECT_EQ(combine(BinaryKind::Pow, {3, 4}, {2, 0.5}), (V{9, 2}));
  EXPECT_EQ(combine(BinaryKind::Max, {3, 4}, {2, 5}), (V{3, 5}));
  EXPECT_EQ(combine(BinaryKind::Min, {3, 4}, {2, 5}), (V{2, 4}));
  EXPECT_NEAR(combine(BinaryKind::ExpDifference, {2}, {1})[0], std::exp(1.0), 1e-15);
}

TEST(BinaryValues, IntegersDivideTowardZeroAndModuloHasTheSignOfTheDivisor) {
  EXPECT_EQ(combine(BinaryKind::Div, {7, -7, 6, 5}, {2, 2, -3, 0}, Element::I64), (V{3, -3, -2, 0}));
  // numpy.mod of the same numbers
  EXPECT_EQ(combine(BinaryKind::Mod, {7, -7, 7, -7, 6}, {3, 3, -3, -3, 3}, Element::I64), (V{1, 2, -2, -1, 0}));
  EXPECT_EQ(combine(BinaryKind::Mod, {7}, {0}, Element::I64), (V{0}));
}

TEST(BinaryValues, ComparisonsAndLogicGiveZeroOrOne) {
  EXPECT_EQ(combine(BinaryKind::Equal, {1, 2, 3}, {2, 2, 2}), (V{0, 1, 0}));
  EXPECT_EQ(combine(BinaryKind::Less, {1, 2, 3}, {2, 2, 2}), (V{1, 0, 0}));
  EXPECT_EQ(combine(BinaryKind::LessEqual, {1, 2, 3}, {2, 2, 2}), (V{1, 1, 0}));
  EXPECT_EQ(combine(BinaryKind::Greater, {1, 2, 3}, {2, 2, 2}), (V{0, 0, 1}));
  EXPECT_EQ(combine(BinaryKind::GreaterEqual, {1, 2, 3}, {2, 2, 2}), (V{0, 1, 1}));
  EXPECT_EQ(combine(BinaryKind::And, {0, 0, 5, 5}, {0, 2, 0, 2}), (V{0, 0, 0, 1}));
  EXPECT_EQ(combine(BinaryKind::Or, {0, 0, 5, 5}, {0, 2, 0, 2}), (V{0, 1, 1, 1}));
  EXPECT_EQ(combine(BinaryKind::Xor, {0, 0, 5, 5}, {0, 2, 0, 2}), (V{0, 1, 1, 0}));
}

TEST(BinaryValues, ExtremesPassNotANumberOn) {
  const double nan = std::nan("");
  for (const BinaryKind kind : {BinaryKind::Max, BinaryKind::Min}) {
    EXPECT_TRUE(std::isnan(combine(kind, {nan}, {1})[0]));
    EXPECT_TRUE(std::isnan(combine(kind, {1}, {nan})[0]));
  }
}

// Every pair of broadcast patterns of rank up to 3, against index arithmetic.
TEST(Broadcasting, EqualsIndexArithmetic) {
  const Shape whole{2, 3, 4};
  const auto pattern = [&](int bits, std::size_t rank) {
    Shape s(whole.end() - static_cast<std::ptrdiff_t>(rank), whole.end());
    for (std::size_t i = 0; i < rank; ++i)
      if (bits >> i & 1) s[i] = 1;
    return s;
  };
  const auto at = [](const Array<double>& a, std::array<std::int64_t, 3> index) {
    std::int64_t flat = 0;
    for (std::size_t i = 0; i < a.shape.size(); ++i) {
      const std::size_t d = 3 - a.shape.size() + i;
      flat = flat * a.shape[i] + (a.shape[i] == 1 ? 0 : index[d]);
    }
    return a.data[static_cast<std::size_t>(flat)];
  };
  for (std::size_t rank = 0; rank <= 3; ++rank)
    for (int left = 0; left < 8; ++left)
      for (int right = 0; right < (1 << rank); ++right) {
        const Array<double> a = random_array(pattern(left, 3), 1), b = random_array(pattern(right, rank), 2);
        const Array<double> y = evaluate_one<double>(Binary{BinaryKind::Sub}, {&a, &b});
        const Array<double> sum = evaluate_one<double>(Sum{}, {&b, &a, &b});
        const Array<double> select = evaluate_one<double>(Select{}, {&a, &b, &a});
        std::size_t flat = 0;
        for (std::int64_t i = 0; i < y.shape[0]; ++i)
          for (std::int64_t j = 0; j < y.shape[1]; ++j)
            for (std::int64_t k = 0; k < y.shape[2]; ++k, ++flat) {
              const double va = at(a, {i, j, k}), vb = at(b, {i, j, k});
              ASSERT_EQ(y.data[flat], va - vb);
              ASSERT_EQ(sum.data[flat], vb + va + vb);
              ASSERT_EQ(select.data[flat], va != 0 ? vb : va);
            }
      }
}

TEST(SelectValues, TakesTheFirstWhereTheConditionIsNotZero) {
  const Array<double> condition = row({0, 1, 2}), a = row({1, 2, 3}), b{{}, {9}};
  EXPECT_EQ(evaluate_one<double>(Select{}, {&condition, &a, &b}).data, (V{9, 2, 3}));
}

TEST(CastValues, TruncateSaturateAndTest) {
  const auto cast = [](Element to, V x) {
    const Array<double> in = row(std::move(x));
    return evaluate_one<double>(Cast{to}, {&in}).data;
  };
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(cast(Element::I32, {1.9, -1.9, 3e9, -3e9}), (V{1, -1, 2147483647, -2147483648.0}));
  EXPECT_EQ(cast(Element::I8, {127.5, 128, -129}), (V{127, 127, -128}));
  EXPECT_EQ(cast(Element::I4, {7, 8, -9}), (V{7, 7, -8}));
  EXPECT_EQ(cast(Element::U8, {-1, 255, 256}), (V{0, 255, 255}));
  EXPECT_EQ(cast(Element::U4, {-1, 15, 16}), (V{0, 15, 15}));
  EXPECT_EQ(cast(Element::I64, {inf, -inf, std::nan("")}), (V{0x1p63, -0x1p63, 0}));
  EXPECT_EQ(cast(Element::Bool, {0, 0.5, -2}), (V{0, 1, 1}));
  EXPECT_EQ(cast(Element::Bit, {0, 0.5, -2}), (V{0, 1, 1}));
  EXPECT_EQ(cast(Element::BF16, {1.0009765625}), (V{1.0009765625}));  // formats do not round
}

TEST(DropoutValues, KeepWhatTheGeneratorKeepsAndTheGradientAgrees) {
  const Dropout op{0.3, 42};
  const Array<double> x = random_array({1000}, 1), dy = random_array({1000}, 2);
  const auto out = evaluate_all<double>(op, {&x}, 2, Element::F32, 5);
  std::int64_t kept = 0;
  for (std::size_t i = 0; i < 1000; ++i) {
    const bool keep = random_uniform(42, 5, i) >= 0.3;
    kept += keep;
    ASSERT_NEAR(out[0].data[i], keep ? x.data[i] / 0.7 : 0, 1e-12);
    ASSERT_EQ(out[1].data[i], keep ? 1 : 0);
  }
  EXPECT_NEAR(static_cast<double>(kept), 700, 60);
  const DropoutGradient gradient{0.3, 42};
  const auto from_mask = evaluate_all<double>(gradient, {&dy, &out[1]}, 1, Element::F32, 5)[0];
  const auto redrawn = evaluate_all<double>(gradient, {&dy}, 1, Element::F32, 5)[0];
  EXPECT_EQ(from_mask, redrawn);
  for (std::size_t i = 0; i < 1000; ++i) ASSERT_NEAR(redrawn.data[i], out[1].data[i] * dy.data[i] / 0.7, 1e-12);
  EXPECT_NE(evaluate_all<double>(op, {&x}, 2, Element::F32, 6)[1], out[1]);  // another step, another mask
}

}  // namespace
}  // namespace monet
