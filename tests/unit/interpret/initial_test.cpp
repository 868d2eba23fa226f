#include <algorithm>

#include "monet/graph/builder.h"
#include "unit/interpret/arrays.h"

namespace monet {
namespace {

using V = std::vector<double>;

TEST(InitialValues, StatedOnes) {
  Builder b("stated");
  b.source("splat", {2}, {}, Category::Weight, Splat{3});
  b.source("dense", {2}, {}, Category::Weight, Dense{{1, 2}});
  b.source("mask", {2, 3}, {}, Category::Constant, Triangle{1, 0, -5});
  const TensorId cosine = b.source("cos", {2, 4}, {}, Category::Constant, Rotary{false, 100});
  b.source("sin", {2, 4}, {}, Category::Constant, Rotary{true, 100});
  const TensorId copy = b.source("copy", {2, 4}, {}, Category::OptimizerState, CopyOf{cosine});
  b.source("copy of copy", {2, 4}, {}, Category::OptimizerState, CopyOf{copy});
  const Values<double> v = initial_values<double>(b.graph(), 1);
  EXPECT_EQ(v.at("splat").data, (V{3, 3}));
  EXPECT_EQ(v.at("dense").data, (V{1, 2}));
  EXPECT_EQ(v.at("mask").data, (V{0, 0, -5, 0, 0, 0}));
  // position · 100^(-2i/4): 1 and 0.1 at position 1, in both halves
  const V angles{0, 0, 0, 0, 1, 0.1, 1, 0.1};
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_NEAR(v.at("cos").data[i], std::cos(angles[i]), 1e-15);
    EXPECT_NEAR(v.at("sin").data[i], std::sin(angles[i]), 1e-15);
  }
  EXPECT_EQ(v.at("copy of copy"), v.at("cos"));
}

TEST(InitialValues, GivenOnesGoFirstAndCopiesFollowThem) {
  Builder b("given");
  const TensorId w = b.source("w", {2}, {}, Category::Weight, Splat{3});
  b.source("master", {2}, {}, Category::OptimizerState, CopyOf{w});
  const Values<double> v = initial_values<double>(b.graph(), 1, {{"w", {{2}, {8, 9}}}});
  EXPECT_EQ(v.at("w").data, (V{8, 9}));
  EXPECT_EQ(v.at("master").data, (V{8, 9}));
  EXPECT_THROW(initial_values<double>(b.graph(), 1, {{"w", {{1}, {8}}}}), ValueError);
}

TEST(InitialValues, ImpossibleOnesAreRefused) {
  const auto with = [](Shape shape, Initial initial) {
    Builder b("bad");
    b.source("t", std::move(shape), {}, Category::Weight, std::move(initial));
    return initial_values<double>(b.graph(), 1);
  };
  EXPECT_THROW(with({2}, Dense{{1, 2, 3}}), ValueError);
  EXPECT_THROW(with({2}, Triangle{}), ValueError);
  EXPECT_THROW(with({2}, Rotary{}), ValueError);
  EXPECT_THROW(with({2}, CopyOf{TensorId{0}}), ValueError);
  EXPECT_THROW(with({2}, CopyOf{TensorId{7}}), ValueError);
  EXPECT_NO_THROW(with({3, 1}, Rotary{}));
}

double deviation(const Array<double>& a) {
  double sum = 0, squares = 0;
  for (const double x : a.data) sum += x, squares += x * x;
  const double n = static_cast<double>(a.data.size());
  return std::sqrt(squares / n - sum / n * (sum / n));
}

TEST(InitialValues, WeightsHaveTheDeviationOfTheirFanIn) {
  Builder b("weights");
  const TensorId x = b.source("x", {4, 50}, {}, Category::Input);
  const TensorId w = b.source("w", {50, 100}, {}, Category::Weight);     // 50 in
  const TensorId wt = b.source("wt", {200, 100}, {}, Category::Weight);  // 100 in, transposed
  const TensorId image = b.source("image", {1, 8, 9, 9}, {}, Category::Input);
  const TensorId kernel = b.source("kernel", {64, 8, 3, 3}, {}, Category::Weight);  // 72 in
  const TensorId half = b.one(Cast{Element::BF16}, {w}, "half");
  const TensorId h = b.one(MatMul{}, {x, half}, "h");
  b.one(MatMul{.trans_b = true}, {h, wt}, "o");
  b.one(Conv{.strides = {1, 1}, .dilations = {1, 1}, .pads_begin = {0, 0}, .pads_end = {0, 0}, .extent = {}},
        {image, kernel}, "c");
  const Values<double> v = initial_values<double>(b.graph(), 1);
  EXPECT_NEAR(deviation(v.at("w")), std::sqrt(1.0 / 50), 0.005);
  EXPECT_NEAR(deviation(v.at("wt")), 0.1, 0.003);
  EXPECT_NEAR(deviation(v.at("kernel")), std::sqrt(1.0 / 72), 0.005);
  EXPECT_NEAR(deviation(v.at("image")), 1, 0.1);
}

TEST(InitialValues, IntegersFillTheRangeTheirReadersAllow) {
  Builder b("integers");
  const Format i64{Element::I64};
  const TensorId table = b.source("table", {50, 4}, {}, Category::Weight);
  const TensorId tokens = b.source("tokens", {20, 101}, i64, Category::Input);
  // One matrix of tokens gives inputs and, shifted by one, labels.
  const TensorId in = b.one(Slice{{0, 0}, {20, 100}, {1, 1}}, {tokens}, "in");
  const TensorId out = b.view(b.one(Slice{{0, 1}, {20, 100}, {1, 1}}, {tokens}, "out"), {2000}, "labels");
  const TensorId embedded = b.view(b.one(Gather{0}, {table, in}, "embedded"), {2000, 4}, "flat");
  const TensorId head = b.source("head", {4, 30}, {}, Category::Weight);
  b.add(CrossEntropy{}, {b.one(MatMul{}, {embedded, head}, "logits"), out}, "loss", 2);
  b.source("positions", {1000}, i64, Category::Input);
  b.source("truths", {1000}, Format{Element::Bool}, Category::Input);
  const TensorId only_labels = b.source("targets", {2000}, i64, Category::Input);
  b.add(CrossEntropy{}, {tensor_named(b.graph(), "logits"), only_labels}, "loss2", 2);
  const Values<double> v = initial_values<double>(b.graph(), 1);
  const auto range = [&](const char* name) {
    const V& data = v.at(name).data;
    for (const double x : data) EXPECT_EQ(x, std::floor(x));
    return std::pair{*std::min_element(data.begin(), data.end()), *std::max_element(data.begin(), data.end())};
  };
  EXPECT_EQ(range("tokens"), (std::pair{0.0, 29.0}));  // 30 classes are fewer than 50 rows
  EXPECT_EQ(range("targets"), (std::pair{0.0, 29.0}));
  EXPECT_EQ(range("truths"), (std::pair{0.0, 1.0}));
  EXPECT_EQ(range("positions"), (std::pair{0.0, 3.0}));
  EXPECT_NO_THROW(run<double>(b.graph(), v));
}

TEST(InitialValues, FloatAndDoubleDrawTheSameNumbersAndNamesTheirOwn) {
  Builder b("streams");
  b.source("a", {100}, {}, Category::Input);
  b.source("b", {100}, {}, Category::Input);
  b.source("variance", {100}, {}, Category::ModelState);
  const Values<double> d = initial_values<double>(b.graph(), 1);
  const Values<float> f = initial_values<float>(b.graph(), 1);
  for (const auto& [name, array] : d)
    for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(f.at(name).data[i], static_cast<float>(array.data[i]));
  EXPECT_NE(d.at("a").data, d.at("b").data);
  EXPECT_NE(initial_values<double>(b.graph(), 2).at("a").data, d.at("a").data);
  EXPECT_EQ(initial_values<double>(b.graph(), 1), d);
  for (const double x : d.at("variance").data) EXPECT_GE(x, 0.5);
}

TEST(InitialValues, CoverSourcesOnly) {
  Builder b("sources");
  const TensorId x = b.source("x", {2}, {}, Category::Input);
  b.unary(UnaryKind::Relu, x, "y");
  EXPECT_EQ(initial_values<double>(b.graph(), 1).size(), 1u);
}

}  // namespace
}  // namespace monet
