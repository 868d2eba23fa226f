#include "unit/interpret/arrays.h"

namespace monet {
namespace {

using V = std::vector<double>;
using A = Array<double>;

// ---- Values and gradients of torch 1.13 in double (batch_norm, group_norm, layer_norm, epsilon 1e-5) ----

struct Reference {
  A x, scale, bias, dy;
  V y, dx, dscale, dbias;
};

const Reference kBatch{{{2, 2, 2}, {1, 2, 3, 5, 4, 8, -1, 0}},
                       {{2}, {2, 0.5}},
                       {{2}, {0.1, -0.2}},
                       {{2, 2, 2}, {1, -2, 0.5, 3, -1, 0.25, 2, 1}},
                       {-1.9515091509923863, -1.2055058233587912, 0.06207097878851153, 0.48138454485013005,
                        0.2865008319083988, 3.270514142442779, -0.7765561533347255, -0.5668993703039162},
                       {1.1838746909038773, -1.0946788946989385, -0.2718625784378449, 0.19468146309408302,
                        -0.42976277246940486, 0.3405669762644658, 0.15781842819855937, -0.08063731285479749},
                       {0.5828150997137461, 1.3103548939425578},
                       {-1.75, 6.5}};

const Reference kGroup{{{1, 4, 2}, {1, 2, 3, 5, 0, 1, 7, -2}},
                       {{4}, {2, 0.5, 1, 3}},
                       {{4}, {0.1, -0.2, 0.3, 0}},
                       {{1, 4, 2}, {1, -2, 0.5, 3, -1, 0.25, 2, 1}},
                       {-2.266426504271161, -0.914182787544783, -0.11548476770460142, 0.5606370906585874,
                        -0.14721339673849249, 0.15092886775383585, 4.919347364123417, -3.1304937771694474},
                       {1.7917211088006173, -2.491992770479396, 0.15454239846327644, 0.5457292632155017,
                        -0.6757893437571365, -0.46129240730880544, 0.3039402485196061, 0.8331415025463356},
                       {-0.1690304645907972, 4.648337776246923, 0.4099456136769515, 2.2360669836924627},
                       {-1, 3.5, -0.75, 3}};

const Reference kLayer{{{2, 3}, {1, 2, 4, 0, -1, 3}},
                       {{3}, {2, 0.5, 1}},
                       {{3}, {0.1, -0.2, 0.3}},
                       {{2, 3}, {1, -2, 0.5, 3, -1, 0.25}},
                       {-2.0380830629005957, -0.3336301914312873, 1.6363019143128719, -0.6844631828291716,
                        -0.6902894892682323, 1.67281056995105},
                       {0.8590534396043814, -1.2885762937008858, 0.4295228540965039, 2.285503716216925,
                        -1.7141264718714049, -0.5713772443455196},
                       {-2.2457363056940554, 1.5150997442616136, 1.0113535996441985},
                       {4, -3, 0.75}};

A like(const A& shape_of, V values) { return {shape_of.shape, std::move(values)}; }

void check_against(const Norm& op, const Reference& r, const std::vector<const A*>& inputs) {
  const auto out = evaluate_all<double>(op, inputs);
  expect_near(out[0], like(r.x, r.y), 1e-10, "y");
  const NormGradient gradient{op.kind, op.axis, op.groups, op.epsilon};
  const auto d = evaluate_all<double>(gradient, {&r.dy, &r.x, &r.scale, &out[1], &out[2]});
  expect_near(d[0], like(r.x, r.dx), 1e-9, "dx");
  expect_near(d[1], like(r.scale, r.dscale), 1e-10, "dscale");
  expect_near(d[2], like(r.scale, r.dbias), 1e-10, "dbias");
}

TEST(NormValues, BatchAsInTorch) {
  const A mean{{2}, {0.5, 1}}, var{{2}, {2, 3}};
  const Norm op{.kind = NormKind::Batch};
  check_against(op, kBatch, {&kBatch.x, &kBatch.scale, &kBatch.bias, &mean, &var});
  const auto out = evaluate_all<double>(op, {&kBatch.x, &kBatch.scale, &kBatch.bias, &mean, &var});
  expect_near(out[3], {{2}, {0.825, 1.075}}, 1e-14);
  expect_near(out[4], {{2}, {2.7583333333333337, 3.4583333333333335}}, 1e-14);
  // Without running statistics the rest is the same.
  const auto without = evaluate_all<double>(op, {&kBatch.x, &kBatch.scale, &kBatch.bias});
  ASSERT_EQ(without.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(without[i], out[i]);
}

TEST(NormValues, GroupAsInTorch) {
  check_against({.kind = NormKind::Group, .groups = 2}, kGroup, {&kGroup.x, &kGroup.scale, &kGroup.bias});
}

TEST(NormValues, LayerAsInTorch) {
  check_against({.kind = NormKind::Layer, .axis = 1}, kLayer, {&kLayer.x, &kLayer.scale, &kLayer.bias});
}

TEST(NormValues, ASingleElementKeepsItsBiasedRunningVariance) {
  const A x{{1, 1, 1}, {3}}, one{{1}, {1}};
  const auto out = evaluate_all<double>(Norm{.kind = NormKind::Batch}, {&x, &one, &one, &one, &one});
  EXPECT_NEAR(out[4].data[0], 0.9, 1e-15);
}

TEST(NormValues, FrozenAndRmsByHand) {
  const A x{{1, 2, 1}, {3, 10}}, scale{{2}, {2, 5}}, bias{{2}, {1, 7}}, mean{{2}, {1, 4}}, var{{2}, {4, 9}};
  const A y = evaluate_one<double>(Norm{.kind = NormKind::FrozenBatch, .epsilon = 0}, {&x, &scale, &bias, &mean, &var});
  expect_near(y, {{1, 2, 1}, {3, 17}}, 1e-15);
  const A v{{1, 2}, {3, 4}}, gamma{{2}, {1, 10}};
  const auto out = evaluate_all<double>(Norm{.kind = NormKind::Rms, .axis = 1, .epsilon = 0.5}, {&v, &gamma});
  const double r = 1 / std::sqrt(13.0);  // mean square 12.5
  expect_near(out[0], {{1, 2}, {3 * r, 40 * r}}, 1e-15);
  expect_near(out[1], {{1, 1}, {r}}, 1e-15);
}

// ---- Gradients against central differences, and the passes against the whole ----

struct NormCase {
  NormKind kind;
  Shape x;
  std::int64_t axis, groups;
  Shape parameters;
};
const std::vector<NormCase> kCases{
    {NormKind::Batch, {3, 4, 2, 2}, -1, 1, {4}},    {NormKind::Batch, {5, 3}, -1, 1, {3}},
    {NormKind::FrozenBatch, {3, 4, 5}, -1, 1, {4}}, {NormKind::Group, {2, 6, 3}, -1, 3, {6}},
    {NormKind::Group, {2, 4, 2, 2}, -1, 1, {4}},    {NormKind::Layer, {2, 3, 4}, 2, 1, {4}},
    {NormKind::Layer, {2, 3, 4}, 1, 1, {3, 4}},     {NormKind::Rms, {2, 3, 4}, 2, 1, {4}},
    {NormKind::Rms, {2, 3, 4}, 0, 1, {2, 3, 4}}};

class Normalisation : public testing::TestWithParam<std::size_t> {
 protected:
  const NormCase& c = kCases[GetParam()];
  const bool rms = c.kind == NormKind::Rms, frozen = c.kind == NormKind::FrozenBatch, batch = c.kind == NormKind::Batch;
  const Norm op{c.kind, c.axis, c.groups, 1e-3, 0.2};
  const A x = random_array(c.x, 1), dy = random_array(c.x, 2), scale = random_array(c.parameters, 3),
          bias = random_array(c.parameters, 4);
  A mean = random_array(c.parameters, 5), var = random_array(c.parameters, 6);  // running or frozen ones

  void SetUp() override {
    for (double& v : var.data) v = 1.5 + v;
  }
  std::vector<A> operands() const {
    if (rms) return {x, scale};
    if (batch || frozen) return {x, scale, bias, mean, var};
    return {x, scale, bias};
  }
  std::vector<A> forward() const {
    const std::vector<A> in = operands();
    std::vector<const A*> pointers;
    for (const A& a : in) pointers.push_back(&a);
    return evaluate_all<double>(op, pointers);
  }
  std::vector<A> backward(const std::vector<A>& out) const {
    const NormGradient gradient{c.kind, c.axis, c.groups, op.epsilon};
    if (rms) return evaluate_all<double>(gradient, {&dy, &x, &scale, &out[1]});
    if (frozen) return evaluate_all<double>(gradient, {&dy, &x, &scale, &mean, &var});
    return evaluate_all<double>(gradient, {&dy, &x, &scale, &out[1], &out[2]});
  }
};

TEST_P(Normalisation, GradientsEqualCentralDifferences) {
  const auto d = backward(forward());
  expect_near(d[0], numeric_gradient(op, operands(), 0, dy), 1e-7, "dx");
  expect_near(d[1], numeric_gradient(op, operands(), 1, dy), 1e-7, "dscale");
  if (!rms) expect_near(d[2], numeric_gradient(op, operands(), 2, dy), 1e-7, "dbias");
}

TEST_P(Normalisation, PassesComposeToTheWhole) {
  const auto pass = [&](NormPass p) { return NormPart{p, c.kind, c.axis, c.groups, op.epsilon, op.momentum}; };
  const auto out = forward();
  const auto d = backward(out);
  A m, inv_std, variance;
  if (frozen) {
    m = mean;
    inv_std = var;
    for (double& v : inv_std.data) v = 1 / std::sqrt(v + op.epsilon);
  } else {
    const auto s = evaluate_all<double>(pass(NormPass::Statistics), {&x});
    m = s[0], inv_std = s[1], variance = s[2];
    EXPECT_EQ(inv_std, out[rms ? 1 : 2]);
    if (!rms) {
      EXPECT_EQ(m, out[1]);
    }
  }
  const A* centre = rms ? nullptr : &m;
  expect_near(evaluate_one<double>(pass(NormPass::Apply), {&x, centre, &inv_std, &scale, rms ? nullptr : &bias}),
              out[0], 1e-14);
  const auto parameters = evaluate_all<double>(pass(NormPass::ParameterSums), {&dy, &x, centre, &inv_std});
  expect_near(parameters[0], d[1], 1e-13);
  if (!rms) expect_near(parameters[1], d[2], 1e-13);

  const NormPart last = pass(NormPass::InputGradient);
  if (frozen) {
    expect_near(evaluate_one<double>(last, {&dy, nullptr, nullptr, &inv_std, &scale}), d[0], 1e-13);
  } else if (batch) {
    expect_near(evaluate_one<double>(last, {&dy, &x, centre, &inv_std, &scale, &parameters[1], &parameters[0]}), d[0],
                1e-13);
    NormPart update = pass(NormPass::RunningUpdate);
    update.count = elements(c.x) / c.x[1];
    const auto running = evaluate_all<double>(update, {&mean, &var, &m, &variance});
    expect_near(running[0], out[3], 1e-14);
    expect_near(running[1], out[4], 1e-14);
  } else {
    const auto sums = evaluate_all<double>(pass(NormPass::GroupSums), {&dy, &x, centre, &inv_std, &scale});
    expect_near(evaluate_one<double>(last, {&dy, &x, centre, &inv_std, &scale, rms ? nullptr : &sums[0], &sums[1]}),
                d[0], 1e-13);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, Normalisation, testing::Range<std::size_t>(0, kCases.size()));

TEST(NormValues, AnAbsentScaleIsOneAndAnAbsentBiasZero) {
  const A x = random_array({2, 3, 4}, 1), dy = random_array({2, 3, 4}, 2), ones{{4}, V(4, 1)}, zeros{{4}, V(4, 0)};
  const Norm layer{.kind = NormKind::Layer, .axis = 2}, rms{.kind = NormKind::Rms, .axis = 2};
  const auto l = evaluate_all<double>(layer, {&x, &ones, &zeros}), r = evaluate_all<double>(rms, {&x, &ones});
  EXPECT_EQ(evaluate_all<double>(layer, {&x}), l);
  EXPECT_EQ(evaluate_all<double>(rms, {&x}), r);
  const NormGradient dl{.kind = NormKind::Layer, .axis = 2}, dr{.kind = NormKind::Rms, .axis = 2};
  EXPECT_EQ(evaluate_all<double>(dl, {&dy, &x, nullptr, &l[1], &l[2]}),
            evaluate_all<double>(dl, {&dy, &x, &ones, &l[1], &l[2]}));
  EXPECT_EQ(evaluate_all<double>(dr, {&dy, &x, nullptr, &r[1]}), evaluate_all<double>(dr, {&dy, &x, &ones, &r[1]}));
}

TEST(NormGradients, FrozenNeedsItsInputOnlyForTheScale) {
  const A dy{{1, 1, 2}, {1, 2}}, scale{{1}, {3}}, mean{{1}, {0}}, var{{1}, {4}};
  const NormGradient op{.kind = NormKind::FrozenBatch, .epsilon = 0};
  EXPECT_EQ(evaluate_all<double>(op, {&dy, nullptr, &scale, &mean, &var}, 1)[0].data, (V{1.5, 3}));
  EXPECT_THROW(evaluate_all<double>(op, {&dy, nullptr, &scale, &mean, &var}, 2), ValueError);
}

TEST(NormPasses, StatisticsOfTheWrongSizeAreRefused) {
  const A x = random_array({2, 3, 4}, 1), two{{2}, {0, 1}}, three{{3}, {0, 1, 2}};
  EXPECT_THROW(evaluate_one<double>(NormPart{NormPass::Apply}, {&x, &two, &three}), ShapeError);
  EXPECT_THROW(evaluate_one<double>(NormPart{NormPass::Apply}, {&x, &three}), ShapeError);
}

// ---- Local response normalisation ----

// torch 1.13: local_response_norm([1,2,3,4,5], size 3, alpha 0.5, beta 0.75, k 2), and its gradient
TEST(LocalResponse, AsInTorch) {
  const A x{{1, 5, 1}, {1, 2, 3, 4, 5}}, dy{{1, 5, 1}, {1, -1, 2, 0.5, 1}};
  expect_near(evaluate_one<double>(Lrn{3, 0.5, 0.75, 2}, {&x}),
              {{1, 5, 1},
               {0.45790643500456496, 0.6659067581404804, 0.7098176595685814, 0.6940322667063952, 0.9758353351300502}},
              1e-13);
  expect_near(
      evaluate_one<double>(LrnGradient{3, 0.5, 0.75, 2}, {&dy, &x}),
      {{1, 5, 1},
       {0.45592062361860164, -0.4408007569009837, 0.40746457837242744, -0.2650516079645733, 0.015099403044461224}},
      1e-12);
}

TEST(LocalResponse, GradientsOfOddAndEvenWindowsEqualCentralDifferences) {
  const A x = random_array({2, 6, 2, 2}, 1), dy = random_array({2, 6, 2, 2}, 2);
  for (const std::int64_t size : {1, 2, 3, 4, 5, 9}) {
    const Lrn op{size, 0.3, 0.75, 1};
    expect_near(evaluate_one<double>(LrnGradient{size, 0.3, 0.75, 1}, {&dy, &x}), numeric_gradient(op, {x}, 0, dy),
                1e-8);
  }
}

// ONNX: from c - floor((size-1)/2) to c + ceil((size-1)/2); for size 2 each channel and the one after it.
TEST(LocalResponse, AnEvenWindowReachesFurtherUp) {
  const A x{{1, 3, 1}, {1, 2, 3}};
  expect_near(evaluate_one<double>(Lrn{2, 2, 1, 0}, {&x}), {{1, 3, 1}, {1.0 / 5, 2.0 / 13, 3.0 / 9}}, 1e-15);
}

}  // namespace
}  // namespace monet
