#include <limits>

#include "unit/interpret/arrays.h"

namespace monet {
namespace {

using V = std::vector<double>;

constexpr double kInf = std::numeric_limits<double>::infinity();

std::vector<double> apply_to(const Unary& op, std::vector<double> x) {
  const Array<double> in = row(std::move(x));
  return evaluate_one<double>(op, {&in}).data;
}

// Values of torch 1.13 in double at these points.
const std::vector<double> kPoints{-4, -3, -1.5, -0.3, 0, 0.2, 1.7, 3, 5};

TEST(UnaryValues, EqualTorch) {
  const std::vector<std::pair<UnaryKind, std::vector<double>>> table{
      {UnaryKind::Gelu,
       {-0.00012668496733247991, -0.00404969409489031, -0.10021080190328704, -0.1146265733433142, 0.0,
        0.11585194188782061, 1.6242387133104768, 2.99595030590511, 4.999998566742141}},
      {UnaryKind::GeluTanh,
       {-7.024594819227126e-05, -0.0036373920817729943, -0.10042842301976707, -0.11462907645724074, 0.0,
        0.11585142978210627, 1.624105895551156, 2.996362607918227, 4.999999770820381}},
      {UnaryKind::Silu,
       {-0.07194483984836623, -0.14227761953270035, -0.2736382857095345, -0.1276672449565023, 0.0, 0.1099667994624956,
        1.437409049357991, 2.8577223804672998, 4.966535745378576}},
      {UnaryKind::HardSwish, {0, 0, -0.375, -0.135, 0, 0.10666666666666669, 1.3316666666666668, 3, 5}},
      {UnaryKind::Softplus,
       {0.018149927917809738, 0.04858735157374206, 0.2014132779827524, 0.5543552444685271, 0.6931471805599453,
        0.7981388693815918, 1.8677860293862658, 3.048587351573742, 5.006715348489118}},
      {UnaryKind::Sigmoid,
       {0.01798620996209156, 0.04742587317756678, 0.18242552380635635, 0.425557483188341, 0.5, 0.549833997312478,
        0.8455347349164652, 0.9525741268224334, 0.9933071490757153}}};
  for (const auto& [kind, want] : table)
    expect_near(row(apply_to({kind}, kPoints)), row(want), 1e-13, std::string(name(kind)));
}

TEST(UnaryValues, ByHand) {
  EXPECT_EQ(apply_to({UnaryKind::Relu}, {-2, 0, 3}), (V{0, 0, 3}));
  EXPECT_EQ(apply_to({UnaryKind::LeakyRelu, 0.5}, {-2, 0, 3}), (V{-1, 0, 3}));
  EXPECT_EQ(apply_to({UnaryKind::HardSigmoid, 0.25, 0.5}, {-3, -1, 1, 3}), (V{0, 0.25, 0.75, 1}));
  EXPECT_EQ(apply_to({UnaryKind::Clip, -1, 2}, {-3, 0.5, 3}), (V{-1, 0.5, 2}));
  EXPECT_EQ(apply_to({UnaryKind::Round}, {0.5, 1.5, 2.5, -0.5, -1.5, 2.4}), (V{0, 2, 2, -0.0, -2, 2}));
  EXPECT_EQ(apply_to({UnaryKind::Floor}, {-0.5, 1.5}), (V{-1, 1}));
  EXPECT_EQ(apply_to({UnaryKind::Ceil}, {-1.5, 1.5}), (V{-1, 2}));
  EXPECT_EQ(apply_to({UnaryKind::Sign}, {-7, 0, 2}), (V{-1, 0, 1}));
  EXPECT_EQ(apply_to({UnaryKind::Abs}, {-7, 2}), (V{7, 2}));
  EXPECT_EQ(apply_to({UnaryKind::Neg}, {-7, 2}), (V{7, -2}));
  EXPECT_EQ(apply_to({UnaryKind::Square}, {-7, 2}), (V{49, 4}));
  EXPECT_EQ(apply_to({UnaryKind::Sqrt}, {49, 4}), (V{7, 2}));
  EXPECT_EQ(apply_to({UnaryKind::Rsqrt}, {4, 0.25}), (V{0.5, 2}));
  EXPECT_EQ(apply_to({UnaryKind::Reciprocal}, {4, -0.25}), (V{0.25, -4}));
  EXPECT_EQ(apply_to({UnaryKind::Not}, {0, 1, 2}), (V{1, 0, 0}));
  EXPECT_EQ(apply_to({UnaryKind::IsFinite}, {1, kInf, -kInf, std::nan("")}), (V{1, 0, 0, 0}));
  EXPECT_NEAR(apply_to({UnaryKind::Erf}, {0.5})[0], 0.5204998778130465, 1e-15);
  EXPECT_NEAR(apply_to({UnaryKind::Exp}, {1})[0], 2.718281828459045, 1e-15);
  EXPECT_NEAR(apply_to({UnaryKind::Log}, {10})[0], 2.302585092994046, 1e-15);
  EXPECT_NEAR(apply_to({UnaryKind::Tanh}, {0.5})[0], 0.46211715726000973, 1e-15);
  EXPECT_NEAR(apply_to({UnaryKind::Sin}, {1})[0], 0.8414709848078965, 1e-15);
  EXPECT_NEAR(apply_to({UnaryKind::Cos}, {1})[0], 0.5403023058681398, 1e-15);
}

TEST(UnaryValues, DoNotOverflowWhereTheResultIsFinite) {
  EXPECT_EQ(apply_to({UnaryKind::Sigmoid}, {-1e4, 1e4}), (std::vector<double>{0, 1}));
  EXPECT_EQ(apply_to({UnaryKind::Softplus}, {-1e4, 1e4}), (std::vector<double>{0, 1e4}));
  EXPECT_EQ(apply_to({UnaryKind::Silu}, {-1e4, 1e4}), (std::vector<double>{0, 1e4}));
  EXPECT_TRUE(std::isnan(apply_to({UnaryKind::Relu}, {std::nan("")})[0]));
}

TEST(UnaryMask, SaysWhereTheSlopeIsTheLargerOne) {
  const Array<double> x = row({-2, -1, 0, 1, 2, 3});
  const auto mask = [&](const Unary& op) { return evaluate_all<double>(op, {&x})[1].data; };
  EXPECT_EQ(mask({UnaryKind::Relu}), (V{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(mask({UnaryKind::LeakyRelu, 0.1}), (V{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(mask({UnaryKind::Clip, -1, 2}), (V{0, 0, 1, 1, 0, 0}));  // without its ends, as torch's hardtanh
  EXPECT_EQ(mask({UnaryKind::HardSigmoid, 0.5, 0.5}), (V{0, 0, 1, 0, 0, 0}));
}

// ---- Gradients ----

struct GradientCase {
  Unary op;
  bool positive;  // the function needs x > 0
  std::vector<Source> sources;
};

const std::vector<GradientCase> kGradients{
    {{UnaryKind::Relu}, false, {Source::Input, Source::Output, Source::Mask}},
    {{UnaryKind::LeakyRelu, 0.1}, false, {Source::Input, Source::Mask}},
    {{UnaryKind::Gelu}, false, {Source::Input}},
    {{UnaryKind::GeluTanh}, false, {Source::Input}},
    {{UnaryKind::Silu}, false, {Source::Input}},
    {{UnaryKind::Sigmoid}, false, {Source::Input, Source::Output}},
    {{UnaryKind::Tanh}, false, {Source::Input, Source::Output}},
    {{UnaryKind::HardSwish}, false, {Source::Input}},
    {{UnaryKind::HardSigmoid, 0.2, 0.5}, false, {Source::Input, Source::Mask}},
    {{UnaryKind::Clip, -1, 2}, false, {Source::Input, Source::Output, Source::Mask}},
    {{UnaryKind::Erf}, false, {Source::Input}},
    {{UnaryKind::Exp}, false, {Source::Input, Source::Output}},
    {{UnaryKind::Log}, true, {Source::Input}},
    {{UnaryKind::Sqrt}, true, {Source::Input, Source::Output}},
    {{UnaryKind::Rsqrt}, true, {Source::Input, Source::Output}},
    {{UnaryKind::Reciprocal}, true, {Source::Input, Source::Output}},
    {{UnaryKind::Neg}, false, {Source::Input, Source::Output}},
    {{UnaryKind::Abs}, false, {Source::Input}},
    {{UnaryKind::Square}, false, {Source::Input}},
    {{UnaryKind::Sin}, false, {Source::Input}},
    {{UnaryKind::Cos}, false, {Source::Input}},
    {{UnaryKind::Softplus}, false, {Source::Input}},
    {{UnaryKind::Sign}, false, {Source::Input, Source::Output}},
    {{UnaryKind::Floor}, false, {Source::Input, Source::Output}},
    {{UnaryKind::Ceil}, false, {Source::Input, Source::Output}},
    {{UnaryKind::Round}, false, {Source::Input, Source::Output}},
    {{UnaryKind::Not}, false, {Source::Input, Source::Output}},
    {{UnaryKind::IsFinite}, false, {Source::Input, Source::Output}},
};

TEST(UnaryGradients, EqualCentralDifferencesForEveryKindAndSource) {
  ASSERT_EQ(kGradients.size(), static_cast<std::size_t>(UnaryKind::IsFinite) + 1);
  for (const GradientCase& c : kGradients) {
    const Array<double> x = row(c.positive ? std::vector<double>{0.2, 0.7, 1.3, 2.1, 5.4}
                                           : std::vector<double>{-4.1, -2.2, -0.7, -0.1, 0.3, 0.9, 1.7, 2.6, 3.3});
    const Array<double> dy = random_array(x.shape, 5);
    const Array<double> want = numeric_gradient(c.op, {x}, 0, dy);
    const std::vector<Array<double>> out = evaluate_all<double>(c.op, {&x});
    for (const Source from : c.sources) {
      const Array<double>& saved = from == Source::Input ? x : from == Source::Output ? out[0] : out[1];
      const Array<double> got = evaluate_one<double>(UnaryGradient{c.op.kind, c.op.a, c.op.b, from}, {&dy, &saved});
      expect_near(got, want, 1e-8, std::string(name(c.op.kind)) + " from " + std::string(name(from)));
    }
  }
}

TEST(UnaryGradients, RefuseWhatDoesNotFollow) {
  const Array<double> x = row({0.5});
  for (const GradientCase& c : kGradients)
    for (const Source from : {Source::Input, Source::Output, Source::Mask}) {
      const UnaryGradient op{c.op.kind, c.op.a, c.op.b, from};
      const bool possible = std::find(c.sources.begin(), c.sources.end(), from) != c.sources.end();
      if (possible)
        EXPECT_NO_THROW(evaluate_one<double>(op, {&x, &x})) << name(op.kind) << name(from);
      else
        EXPECT_THROW(evaluate_one<double>(op, {&x, &x}), ValueError) << name(op.kind) << name(from);
    }
}

TEST(UnaryGradients, AtTheKinks) {
  const Array<double> dy = row({1}), zero = row({0}), one = row({1}), infinite = row({kInf});
  const auto at = [&](const UnaryGradient& op, const Array<double>& x) {
    return evaluate_one<double>(op, {&dy, &x}).data[0];
  };
  EXPECT_EQ(at({UnaryKind::Relu}, zero), 0);
  EXPECT_EQ(at({UnaryKind::Clip, 0, 1}, zero), 0);
  EXPECT_EQ(at({UnaryKind::Clip, 0, 1}, one), 0);
  EXPECT_EQ(at({UnaryKind::HardSigmoid, 1, 0}, zero), 0);
  // What the mask stops stays stopped.
  EXPECT_EQ(evaluate_one<double>(UnaryGradient{UnaryKind::Relu}, {&infinite, &zero}).data[0], 0);
}

}  // namespace
}  // namespace monet
