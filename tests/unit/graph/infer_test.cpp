#include "monet/graph/infer.h"

#include <gtest/gtest.h>

#include <limits>
#include <optional>

namespace monet {
namespace {

// Operands written as shapes; formats f32 unless said otherwise.
struct In {
  Shape shape;
  Element element = Element::F32;
};
using Ins = std::vector<std::optional<In>>;
constexpr std::nullopt_t _ = std::nullopt;

std::vector<OutputType> run(const Op& op, const Ins& inputs) {
  std::vector<Tensor> tensors(inputs.size());
  std::vector<const Tensor*> operands;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i]) tensors[i].shape = inputs[i]->shape, tensors[i].format = Format{inputs[i]->element};
    operands.push_back(inputs[i] ? &tensors[i] : nullptr);
  }
  return infer(op, operands);
}

// The shapes of the outputs as text, or "illegal".
std::string shapes(const Op& op, const Ins& inputs) {
  try {
    std::string text;
    for (const OutputType& type : run(op, inputs)) text += to_string(type.shape);
    return text;
  } catch (const ShapeError&) {
    return "illegal";
  }
}
std::string formats(const Op& op, const Ins& inputs) {
  std::string text;
  for (const OutputType& type : run(op, inputs)) text += (text.empty() ? "" : " ") + to_string(type.format);
  return text;
}

In i64(Shape shape) { return {std::move(shape), Element::I64}; }

// ---- Shapes in general ----

TEST(CheckShape, AllowsNoEmptyDimensionAndUpTo2To48Elements) {
  EXPECT_NO_THROW(check_shape({}));
  EXPECT_NO_THROW(check_shape({1}));
  EXPECT_THROW(check_shape({2, 0}), ShapeError);
  EXPECT_THROW(check_shape({-1}), ShapeError);
  const std::int64_t half = std::int64_t{1} << 24;
  EXPECT_NO_THROW(check_shape({half, half}));
  EXPECT_THROW(check_shape({half, half + 1}), ShapeError);
  EXPECT_THROW(check_shape(Shape(8, std::int64_t{1} << 62)), ShapeError);
  EXPECT_NO_THROW(check_shape(Shape(64, 1)));
  EXPECT_THROW(check_shape(Shape(65, 1)), ShapeError);
}

TEST(Broadcast, StretchesOnesOnly) {
  EXPECT_EQ(broadcast({2, 1, 4}, {3, 1}), (Shape{2, 3, 4}));
  EXPECT_EQ(broadcast({}, {5}), (Shape{5}));
  EXPECT_EQ(broadcast({1}, {5}), (Shape{5}));
  EXPECT_THROW(broadcast({2}, {3}), ShapeError);
  EXPECT_THROW(broadcast({2, 3}, {2}), ShapeError);
}

// Against a count by hand: windows that start at -pad, -pad+s, … and end inside the padded extent.
TEST(WindowCount, CountsAsSteppingDoes) {
  for (std::int64_t extent = 1; extent <= 9; ++extent)
    for (std::int64_t kernel = 1; kernel <= 4; ++kernel)
      for (std::int64_t stride = 1; stride <= 3; ++stride)
        for (std::int64_t dilation = 1; dilation <= 2; ++dilation)
          for (std::int64_t begin = 0; begin <= 2; ++begin)
            for (std::int64_t end = 0; end <= 2; ++end) {
              std::int64_t count = 0;
              for (std::int64_t at = -begin; at + dilation * (kernel - 1) < extent + end; at += stride) ++count;
              if (count == 0)
                EXPECT_THROW(window_count(extent, kernel, stride, dilation, begin, end, false), ShapeError);
              else
                EXPECT_EQ(window_count(extent, kernel, stride, dilation, begin, end, false), count);
            }
}

// Rounding up adds a window that leaves the image, unless it would start beyond it (torch.nn.MaxPool2d).
TEST(WindowCount, RoundsUpWhenAsked) {
  EXPECT_EQ(window_count(6, 3, 2, 1, 0, 0, false), 2);
  EXPECT_EQ(window_count(6, 3, 2, 1, 0, 0, true), 3);
  EXPECT_EQ(window_count(5, 3, 2, 1, 0, 0, true), 2);
  EXPECT_EQ(window_count(4, 1, 3, 1, 0, 0, true), 2);
  EXPECT_EQ(window_count(5, 1, 3, 1, 0, 0, true), 2);  // a third would start at 6
  EXPECT_EQ(window_count(3, 2, 2, 1, 1, 1, true), 2);  // the third would start at 3, outside
}

// ---- Contractions ----

TEST(InferMatMul, MultipliesWhatFits) {
  EXPECT_EQ(shapes(MatMul{}, {In{{2, 3}}, In{{3, 5}}}), "[2,5]");
  EXPECT_EQ(shapes(MatMul{}, {In{{2, 3}}, In{{4, 5}}}), "illegal");
  EXPECT_EQ(shapes(MatMul{.trans_a = true}, {In{{3, 2}}, In{{3, 5}}}), "[2,5]");
  EXPECT_EQ(shapes(MatMul{.trans_b = true}, {In{{2, 3}}, In{{5, 3}}}), "[2,5]");
  EXPECT_EQ(shapes(MatMul{}, {In{{7, 1, 2, 3}}, In{{4, 3, 5}}}), "[7,4,2,5]");
  EXPECT_EQ(shapes(MatMul{}, {In{{3}}, In{{3, 5}}}), "illegal");
  EXPECT_EQ(shapes(MatMul{}, {In{{2, 3}}}), "illegal");
  EXPECT_EQ(shapes(MatMul{}, {In{{2, 3}}, In{{3, 5}}, In{{5}}}), "[2,5]");
  EXPECT_EQ(shapes(MatMul{}, {In{{2, 3}}, In{{3, 5}}, In{{2, 1}}}), "[2,5]");
  EXPECT_EQ(shapes(MatMul{}, {In{{2, 3}}, In{{3, 5}}, In{{3}}}), "illegal");
  EXPECT_EQ(shapes(MatMul{}, {In{{2, 3}}, In{{3, 5}}, In{{1, 2, 5}}}), "illegal");  // would grow the result
  EXPECT_EQ(shapes(MatMul{}, {In{{2, 3}}, In{{3, 5}}, _, In{{5}}}), "illegal");
}

Conv conv(ConvKind kind, Ints extent = {}, std::int64_t groups = 1) {
  return Conv{kind, {2, 1}, {1, 2}, {1, 0}, {1, 0}, groups, std::move(extent)};
}

TEST(InferConv, Forward) {
  // 5 + 2 pads, kernel 3, stride 2: 3. 5 wide, kernel 3 dilated by 2 reaches 5: 1.
  EXPECT_EQ(shapes(conv(ConvKind::Forward), {In{{2, 4, 5, 5}}, In{{6, 4, 3, 3}}}), "[2,6,3,1]");
  EXPECT_EQ(shapes(conv(ConvKind::Forward), {In{{2, 4, 5, 4}}, In{{6, 4, 3, 3}}}), "illegal");
  EXPECT_EQ(shapes(conv(ConvKind::Forward), {In{{2, 5, 5, 5}}, In{{6, 4, 3, 3}}}), "illegal");
  EXPECT_EQ(shapes(conv(ConvKind::Forward, {}, 2), {In{{2, 4, 5, 5}}, In{{6, 2, 3, 3}}}), "[2,6,3,1]");
  EXPECT_EQ(shapes(conv(ConvKind::Forward, {}, 2), {In{{2, 4, 5, 5}}, In{{5, 2, 3, 3}}}), "illegal");
  EXPECT_EQ(shapes(conv(ConvKind::Forward, {}, 2), {In{{2, 5, 5, 5}}, In{{6, 2, 3, 3}}}), "illegal");
  EXPECT_EQ(shapes(conv(ConvKind::Forward, {}, 0), {In{{2, 4, 5, 5}}, In{{6, 4, 3, 3}}}), "illegal");
  EXPECT_EQ(shapes(conv(ConvKind::Forward), {In{{2, 4, 5, 5}}, In{{6, 4, 3, 3}}, In{{6}}}), "[2,6,3,1]");
  EXPECT_EQ(shapes(conv(ConvKind::Forward), {In{{2, 4, 5, 5}}, In{{6, 4, 3, 3}}, In{{5}}}), "illegal");
  EXPECT_EQ(shapes(conv(ConvKind::Forward), {In{{2, 4, 5}}, In{{6, 4, 3}}}), "illegal");  // two strides, one dimension
  EXPECT_EQ(shapes(Conv{}, {In{{2, 4}}, In{{6, 4}}}), "illegal");                         // no space
}

TEST(InferConv, GradientsUndoForward) {
  const Op data = conv(ConvKind::DataGradient, {5, 5}), weight = conv(ConvKind::WeightGradient, {3, 3});
  EXPECT_EQ(shapes(data, {In{{2, 6, 3, 1}}, In{{6, 4, 3, 3}}}), "[2,4,5,5]");
  EXPECT_EQ(shapes(data, {In{{2, 6, 4, 1}}, In{{6, 4, 3, 3}}}), "illegal");
  EXPECT_EQ(shapes(data, {In{{2, 5, 3, 1}}, In{{6, 4, 3, 3}}}), "illegal");
  EXPECT_EQ(shapes(data, {In{{2, 6, 3, 1}}, In{{6, 4, 3, 3}}, In{{4}}}), "[2,4,5,5]");
  EXPECT_EQ(shapes(data, {In{{2, 6, 3, 1}}, In{{6, 4, 3, 3}}, In{{6}}}), "illegal");
  // A stride of 2 leaves 6 rows as 3, too: the extent decides.
  EXPECT_EQ(shapes(conv(ConvKind::DataGradient, {6, 5}), {In{{2, 6, 3, 1}}, In{{6, 4, 3, 3}}}), "[2,4,6,5]");
  EXPECT_EQ(shapes(conv(ConvKind::DataGradient, {7, 5}), {In{{2, 6, 3, 1}}, In{{6, 4, 3, 3}}}), "illegal");
  EXPECT_EQ(shapes(conv(ConvKind::DataGradient), {In{{2, 6, 3, 1}}, In{{6, 4, 3, 3}}}), "illegal");  // no extent
  EXPECT_EQ(shapes(weight, {In{{2, 4, 5, 5}}, In{{2, 6, 3, 1}}}), "[6,4,3,3]");
  EXPECT_EQ(shapes(weight, {In{{2, 4, 5, 5}}, In{{3, 6, 3, 1}}}), "illegal");
  EXPECT_EQ(shapes(weight, {In{{2, 4, 5, 5}}, In{{2, 6, 3, 2}}}), "illegal");
  EXPECT_EQ(shapes(conv(ConvKind::WeightGradient, {3, 3}, 2), {In{{2, 4, 5, 5}}, In{{2, 6, 3, 1}}}), "[6,2,3,3]");
  EXPECT_EQ(shapes(conv(ConvKind::WeightGradient, {3, 3}, 4), {In{{2, 4, 5, 5}}, In{{2, 6, 3, 1}}}), "illegal");
}

TEST(InferAttention, FitsQueriesKeysAndValues) {
  const In q{{2, 3, 4}}, k{{2, 5, 4}}, v{{2, 5, 6}};
  EXPECT_EQ(shapes(Attention{}, {q, k, v}), "[2,3,6][2,3,1]");
  EXPECT_EQ(shapes(Attention{}, {q, In{{2, 5, 3}}, v}), "illegal");
  EXPECT_EQ(shapes(Attention{}, {q, k, In{{2, 4, 6}}}), "illegal");
  EXPECT_EQ(shapes(Attention{}, {q, In{{1, 5, 4}}, v}), "illegal");
  EXPECT_EQ(shapes(Attention{}, {q, k, v, In{{3, 5}}}), "[2,3,6][2,3,1]");
  EXPECT_EQ(shapes(Attention{}, {q, k, v, In{{3, 4}}}), "illegal");
  EXPECT_EQ(shapes(Attention{.block = 1}, {q, k, v}), "[2,3,6][2,3,1]");
  EXPECT_EQ(shapes(Attention{.block = 0}, {q, k, v}), "illegal");
  const In o{{2, 3, 6}}, lse{{2, 3, 1}};
  EXPECT_EQ(shapes(AttentionGradient{}, {o, q, k, v, o, lse}), "[2,3,4][2,5,4][2,5,6]");
  EXPECT_EQ(shapes(AttentionGradient{}, {q, q, k, v, o, lse}), "illegal");
}

// ---- Element-wise ----

TEST(InferUnary, KeepsTheShapeAndMayAddAMask) {
  EXPECT_EQ(shapes(Unary{UnaryKind::Relu}, {In{{2, 3}}}), "[2,3][2,3]");
  EXPECT_EQ(shapes(Unary{UnaryKind::Exp}, {In{{2, 3}}}), "[2,3]");
  EXPECT_EQ(formats(Unary{UnaryKind::Relu}, {In{{2}, Element::F16}}), "f16 bit");
  EXPECT_EQ(formats(Unary{UnaryKind::IsFinite}, {In{{2}, Element::F16}}), "bool");
  EXPECT_EQ(shapes(Unary{}, {}), "illegal");
  EXPECT_EQ(shapes(Unary{}, {_}), "illegal");
  EXPECT_EQ(shapes(Unary{}, {In{{2}}, In{{2}}}), "illegal");
  EXPECT_EQ(shapes(UnaryGradient{}, {In{{2, 3}}, In{{2, 3}}}), "[2,3]");
  EXPECT_EQ(shapes(UnaryGradient{}, {In{{2, 3}}, In{{2, 1}}}), "illegal");
}

TEST(InferBinary, BroadcastsAndPromotes) {
  EXPECT_EQ(shapes(Binary{}, {In{{2, 1}}, In{{3}}}), "[2,3]");
  EXPECT_EQ(shapes(Binary{}, {In{{2, 2}}, In{{3}}}), "illegal");
  EXPECT_EQ(shapes(Binary{}, {In{{2}}, _}), "illegal");
  EXPECT_EQ(formats(Binary{}, {In{{2}, Element::F16}, In{{2}, Element::F32}}), "f32");
  EXPECT_EQ(formats(Binary{}, {In{{2}, Element::F16}, In{{}, Element::F32}}), "f16");   // a scalar does not widen
  EXPECT_EQ(formats(Binary{}, {In{{2}, Element::F16}, In{{2}, Element::I64}}), "f16");  // an integer neither
  EXPECT_EQ(formats(Binary{BinaryKind::ExpDifference}, {In{{2}}, In{{2}}}), "f32");
  EXPECT_EQ(formats(Binary{BinaryKind::Equal}, {In{{2}}, In{{2}}}), "bool");
  EXPECT_EQ(formats(Binary{BinaryKind::Xor}, {In{{2}}, In{{2}}}), "bool");
}

TEST(InferSumSelectCast, Broadcast) {
  EXPECT_EQ(shapes(Sum{}, {In{{2, 1}}, In{{3}}, In{{4, 1, 1}}}), "[4,2,3]");
  EXPECT_EQ(shapes(Sum{}, {In{{2, 2}}, In{{3}}}), "illegal");
  EXPECT_EQ(shapes(Sum{}, {}), "illegal");
  EXPECT_EQ(formats(Sum{}, {In{{2}, Element::F16}, In{{2}}}), "f32");
  EXPECT_EQ(shapes(Select{}, {In{{2, 1}}, In{{3}}, In{{}}}), "[2,3]");
  EXPECT_EQ(shapes(Select{}, {In{{2, 1}}, In{{3}}}), "illegal");
  EXPECT_EQ(shapes(Select{}, {In{{2, 1}}, _, In{{3}}}), "illegal");
  EXPECT_EQ(formats(Cast{Element::BF16}, {In{{2}}}), "bf16");
}

TEST(InferDropout, KeepsAtLeastSomething) {
  EXPECT_EQ(shapes(Dropout{.ratio = 0}, {In{{2}}}), "[2][2]");
  EXPECT_EQ(shapes(Dropout{.ratio = 0.99}, {In{{2}}}), "[2][2]");
  EXPECT_EQ(shapes(Dropout{.ratio = 1}, {In{{2}}}), "illegal");
  EXPECT_EQ(shapes(Dropout{.ratio = -0.01}, {In{{2}}}), "illegal");
  EXPECT_EQ(shapes(Dropout{.ratio = std::numeric_limits<double>::quiet_NaN()}, {In{{2}}}), "illegal");
  EXPECT_EQ(shapes(DropoutGradient{}, {In{{2}}}), "[2]");
  EXPECT_EQ(shapes(DropoutGradient{}, {In{{2}}, In{{2}}}), "[2]");
  EXPECT_EQ(shapes(DropoutGradient{}, {In{{2}}, In{{1}}}), "illegal");
}

// ---- Reductions, pooling, normalisation ----

TEST(InferReduce, TakesAscendingAxesInRange) {
  const Ins x{In{{2, 3, 4}}};
  EXPECT_EQ(shapes(Reduce{ReduceKind::Sum, {0, 2}, true}, x), "[1,3,1]");
  EXPECT_EQ(shapes(Reduce{ReduceKind::Sum, {0, 2}, false}, x), "[3]");
  EXPECT_EQ(shapes(Reduce{ReduceKind::Max, {}, false}, x), "[2,3,4]");
  EXPECT_EQ(shapes(Reduce{ReduceKind::Sum, {2}, false}, x), "[2,3]");
  EXPECT_EQ(shapes(Reduce{ReduceKind::Sum, {3}, false}, x), "illegal");
  EXPECT_EQ(shapes(Reduce{ReduceKind::Sum, {-1}, false}, x), "illegal");
  EXPECT_EQ(shapes(Reduce{ReduceKind::Sum, {1, 1}, false}, x), "illegal");
  EXPECT_EQ(shapes(Reduce{ReduceKind::Sum, {2, 0}, false}, x), "illegal");
}

Pool pool(std::int64_t kernel, std::int64_t pad, bool window_index = false) {
  return Pool{PoolKind::Max, {kernel, 1}, {2, 1}, {1, 1}, {pad, 0}, {pad, 0}, false, false, window_index};
}

TEST(InferPool, KeepsPadsBelowTheWindow) {
  EXPECT_EQ(shapes(pool(3, 2), {In{{1, 2, 6, 3}}}), "[1,2,4,3][1,2,4,3]");
  EXPECT_EQ(shapes(pool(3, 3), {In{{1, 2, 6, 3}}}), "illegal");
  EXPECT_EQ(shapes(pool(3, -1), {In{{1, 2, 6, 3}}}), "illegal");
  EXPECT_EQ(shapes(pool(6, 0), {In{{1, 2, 6, 3}}}), "[1,2,1,3][1,2,1,3]");
  EXPECT_EQ(shapes(pool(7, 0), {In{{1, 2, 6, 3}}}), "illegal");
  EXPECT_EQ(shapes(pool(0, 0), {In{{1, 2, 6, 3}}}), "illegal");
  EXPECT_EQ(shapes(pool(1, 0), {In{{1, 2, 6}}}), "illegal");
  Pool average = pool(3, 0);
  average.kind = PoolKind::Average;
  EXPECT_EQ(shapes(average, {In{{1, 2, 6, 3}}}), "[1,2,2,3]");
}

TEST(InferPool, HoldsIndicesInTheFewestBits) {
  const auto index = [](std::int64_t kernel) { return formats(pool(kernel, 0, true), {In{{1, 1, 70000, 1}}}); };
  EXPECT_EQ(formats(pool(3, 0), {In{{1, 1, 9, 1}}}), "f32 i64");
  EXPECT_EQ(index(16), "f32 u4");
  EXPECT_EQ(index(17), "f32 u8");
  EXPECT_EQ(index(256), "f32 u8");
  EXPECT_EQ(index(257), "f32 u16");
  EXPECT_EQ(index(65536), "f32 u16");
  EXPECT_EQ(index(65537), "f32 u32");
}

TEST(InferPool, GradientUndoesForward) {
  const auto gradient = [](std::int64_t rows) {
    return PoolGradient{PoolKind::Max, {3, 1}, {2, 1}, {1, 1}, {0, 0}, {0, 0}, false, false, false, {rows, 3}};
  };
  EXPECT_EQ(shapes(gradient(5), {In{{1, 2, 2, 3}}, i64({1, 2, 2, 3})}), "[1,2,5,3]");
  EXPECT_EQ(shapes(gradient(6), {In{{1, 2, 2, 3}}, i64({1, 2, 2, 3})}), "[1,2,6,3]");
  EXPECT_EQ(shapes(gradient(4), {In{{1, 2, 2, 3}}, i64({1, 2, 2, 3})}), "illegal");
  EXPECT_EQ(shapes(gradient(7), {In{{1, 2, 2, 3}}, i64({1, 2, 2, 3})}), "illegal");
  EXPECT_EQ(shapes(gradient(5), {In{{1, 2, 2, 3}}}), "illegal");  // the largest needs to be known
  PoolGradient average = gradient(5);
  average.kind = PoolKind::Average;
  EXPECT_EQ(shapes(average, {In{{1, 2, 2, 3}}}), "[1,2,5,3]");
}

TEST(InferNorm, WantsParametersOfItsKind) {
  const In x{{2, 4, 3}}, c{{4}}, bad{{3}}, l{{3}};
  EXPECT_EQ(shapes(Norm{.kind = NormKind::Batch}, {x, c, c, c, c}), "[2,4,3][4][4][4][4]");
  EXPECT_EQ(shapes(Norm{.kind = NormKind::Batch}, {x, c, c, c}), "illegal");
  EXPECT_EQ(shapes(Norm{.kind = NormKind::Batch}, {x, c, bad, c, c}), "illegal");
  EXPECT_EQ(shapes(Norm{.kind = NormKind::Batch}, {In{{4}}, c, c, c, c}), "illegal");
  EXPECT_EQ(shapes(Norm{.kind = NormKind::FrozenBatch}, {x, c, c, c, c}), "[2,4,3]");
  EXPECT_EQ(shapes(Norm{.kind = NormKind::Layer, .axis = 2}, {x, l, l}), "[2,4,3][2,4,1][2,4,1]");
  EXPECT_EQ(shapes(Norm{.kind = NormKind::Layer, .axis = 1}, {x, In{{4, 3}}}), "[2,4,3][2,1,1][2,1,1]");
  EXPECT_EQ(shapes(Norm{.kind = NormKind::Layer, .axis = 2}, {x}), "[2,4,3][2,4,1][2,4,1]");
  EXPECT_EQ(shapes(Norm{.kind = NormKind::Layer, .axis = 2}, {x, c}), "illegal");
  EXPECT_EQ(shapes(Norm{.kind = NormKind::Layer, .axis = 3}, {x}), "illegal");
  EXPECT_EQ(shapes(Norm{.kind = NormKind::Layer, .axis = -1}, {x}), "illegal");
  EXPECT_EQ(shapes(Norm{.kind = NormKind::Group, .groups = 2}, {x, c, c}), "[2,4,3][2,2][2,2]");
  EXPECT_EQ(shapes(Norm{.kind = NormKind::Group, .groups = 3}, {x, c, c}), "illegal");
  EXPECT_EQ(shapes(Norm{.kind = NormKind::Group, .groups = 0}, {x, c, c}), "illegal");
  EXPECT_EQ(shapes(Norm{.kind = NormKind::Rms, .axis = 2}, {x, l}), "[2,4,3][2,4,1]");
  EXPECT_EQ(shapes(Norm{.kind = NormKind::Rms, .axis = 2}, {x, l, l}), "illegal");
  EXPECT_EQ(formats(Norm{.kind = NormKind::Rms, .axis = 0}, {In{{3}, Element::F8E5M2}}), "f8e5m2 f32");
}

TEST(InferNorm, GradientWantsTheStatistics) {
  const In x{{2, 4, 3}}, c{{4}}, l{{3}}, s{{2, 4, 1}};
  EXPECT_EQ(shapes(NormGradient{.kind = NormKind::Batch}, {x, x, c, c, c}), "[2,4,3][4][4]");
  EXPECT_EQ(shapes(NormGradient{.kind = NormKind::Batch}, {x, x, c, c}), "illegal");
  EXPECT_EQ(shapes(NormGradient{.kind = NormKind::Batch}, {x, _, c, c, c}), "illegal");
  EXPECT_EQ(shapes(NormGradient{.kind = NormKind::FrozenBatch}, {x, _, c, c, c}), "[2,4,3][4][4]");
  EXPECT_EQ(shapes(NormGradient{.kind = NormKind::Layer, .axis = 2}, {x, x, l, s, s}), "[2,4,3][3][3]");
  EXPECT_EQ(shapes(NormGradient{.kind = NormKind::Layer, .axis = 2}, {x, x, _, s, s}), "[2,4,3][3][3]");
  EXPECT_EQ(shapes(NormGradient{.kind = NormKind::Layer, .axis = 2}, {x, x, l, s, l}), "illegal");
  EXPECT_EQ(shapes(NormGradient{.kind = NormKind::Rms, .axis = 2}, {x, x, l, s}), "[2,4,3][3]");
  EXPECT_EQ(shapes(NormGradient{.kind = NormKind::Rms, .axis = 2}, {x, x, l, s, s}), "illegal");
}

TEST(InferNorm, PassesMakeWhatTheWholeMakes) {
  const In x{{2, 4, 3}}, c{{4}};
  const auto part = [](NormPass pass, NormKind kind = NormKind::Batch, std::int64_t axis = -1) {
    return NormPart{.pass = pass, .kind = kind, .axis = axis};
  };
  EXPECT_EQ(shapes(part(NormPass::Statistics), {x}), "[4][4][4]");
  EXPECT_EQ(shapes(part(NormPass::Statistics), {x, x}), "illegal");
  EXPECT_EQ(shapes(part(NormPass::RunningUpdate), {c, c, c, c}), "[4][4]");
  EXPECT_EQ(shapes(part(NormPass::RunningUpdate), {c, c, c}), "illegal");
  EXPECT_EQ(shapes(part(NormPass::RunningUpdate), {c, c, c, In{{3}}}), "illegal");
  EXPECT_EQ(shapes(part(NormPass::Apply), {x, c, c, c, c}), "[2,4,3]");
  EXPECT_EQ(shapes(part(NormPass::Apply), {x, c, c, c, c, c}), "illegal");
  EXPECT_EQ(shapes(part(NormPass::ParameterSums), {x, x, c, c}), "[4][4]");
  EXPECT_EQ(shapes(part(NormPass::ParameterSums), {x, In{{2, 4, 4}}, c, c}), "illegal");
  const In s{{2, 4, 1}};
  EXPECT_EQ(shapes(part(NormPass::GroupSums, NormKind::Layer, 2), {x, x, s, s, In{{3}}}), "[2,4,1][2,4,1]");
  EXPECT_EQ(shapes(part(NormPass::GroupSums, NormKind::Layer, 3), {x, x, s, s, In{{3}}}), "illegal");
  EXPECT_EQ(shapes(part(NormPass::InputGradient, NormKind::Layer, 2), {x, x, s, s, In{{3}}, s, s}), "[2,4,3]");
}

TEST(InferLrnSoftmax, WantTheirAxis) {
  EXPECT_EQ(shapes(Lrn{.size = 1}, {In{{2, 4}}}), "[2,4]");
  EXPECT_EQ(shapes(Lrn{.size = 0}, {In{{2, 4}}}), "illegal");
  EXPECT_EQ(shapes(Lrn{}, {In{{4}}}), "illegal");
  EXPECT_EQ(shapes(LrnGradient{}, {In{{2, 4}}, In{{2, 4}}}), "[2,4]");
  EXPECT_EQ(shapes(LrnGradient{}, {In{{2, 4}}, In{{2, 5}}}), "illegal");
  EXPECT_EQ(shapes(Softmax{.axis = 1}, {In{{2, 4}}}), "[2,4]");
  EXPECT_EQ(shapes(Softmax{.axis = 2}, {In{{2, 4}}}), "illegal");
  EXPECT_EQ(shapes(Softmax{.axis = -1}, {In{{2, 4}}}), "illegal");
  EXPECT_EQ(shapes(SoftmaxGradient{.axis = 1}, {In{{2, 4}}, In{{2, 4}}}), "[2,4]");
  EXPECT_EQ(shapes(SoftmaxGradient{.axis = 1}, {In{{2, 4}}, In{{2, 1}}}), "illegal");
}

// ---- Losses ----

TEST(InferLoss, WantsIntegerLabelsWithoutTheClassAxis) {
  EXPECT_EQ(shapes(CrossEntropy{}, {In{{2, 10}}, i64({2})}), "[][2,10]");
  EXPECT_EQ(shapes(CrossEntropy{}, {In{{2, 10, 7}}, i64({2, 7})}), "[][2,10,7]");
  EXPECT_EQ(shapes(CrossEntropy{}, {In{{2, 10}}, In{{2}}}), "illegal");
  EXPECT_EQ(shapes(CrossEntropy{}, {In{{2, 10}}, i64({3})}), "illegal");
  EXPECT_EQ(shapes(CrossEntropy{}, {In{{10}}, i64({})}), "illegal");
  EXPECT_EQ(formats(CrossEntropy{}, {In{{2, 10}, Element::F16}, i64({2})}), "f32 f32");
  EXPECT_EQ(shapes(NegativeLogLikelihood{}, {In{{2, 10}}, i64({2})}), "[]");
  EXPECT_EQ(shapes(NegativeLogLikelihood{}, {In{{2, 10}}, i64({10})}), "illegal");
  EXPECT_EQ(formats(CrossEntropyGradient{.to = Element::F16}, {In{{}}, In{{2, 10}}, i64({2})}), "f16");
  EXPECT_EQ(shapes(CrossEntropyGradient{}, {In{{}}, In{{2, 10}}, i64({1})}), "illegal");
  EXPECT_EQ(shapes(NegativeLogLikelihoodGradient{}, {In{{}}, In{{2, 10}}, i64({2})}), "[2,10]");
}

// ---- Shape and movement ----

TEST(InferMovement, ViewTransposeExpand) {
  const Ins x{In{{2, 3}}};
  EXPECT_EQ(shapes(View{{3, 1, 2}}, x), "[3,1,2]");
  EXPECT_EQ(shapes(View{{7}}, x), "illegal");
  EXPECT_EQ(shapes(View{{-2, -3}}, x), "illegal");
  EXPECT_EQ(shapes(Transpose{{1, 0}}, x), "[3,2]");
  EXPECT_EQ(shapes(Transpose{{1, 1}}, x), "illegal");
  EXPECT_EQ(shapes(Transpose{{1}}, x), "illegal");
  EXPECT_EQ(shapes(Transpose{{1, 2}}, x), "illegal");
  EXPECT_EQ(shapes(Expand{{4, 2, 3}}, x), "[4,2,3]");
  EXPECT_EQ(shapes(Expand{{2, 6}}, x), "illegal");
  EXPECT_EQ(shapes(Expand{{3}}, x), "illegal");
}

TEST(InferMovement, ConcatSplit) {
  EXPECT_EQ(shapes(Concat{1}, {In{{2, 3}}, In{{2, 1}}}), "[2,4]");
  EXPECT_EQ(shapes(Concat{0}, {In{{2, 3}}, In{{2, 1}}}), "illegal");
  EXPECT_EQ(shapes(Concat{2}, {In{{2, 3}}, In{{2, 3}}}), "illegal");
  EXPECT_EQ(shapes(Concat{0}, {In{{2, 3}}, In{{3}}}), "illegal");
  EXPECT_EQ(shapes(Concat{0}, {}), "illegal");
  EXPECT_EQ(shapes(Split{1, {1, 2}}, {In{{2, 3}}}), "[2,1][2,2]");
  EXPECT_EQ(shapes(Split{1, {1, 1}}, {In{{2, 3}}}), "illegal");
  EXPECT_EQ(shapes(Split{1, {1, 3}}, {In{{2, 3}}}), "illegal");
  EXPECT_EQ(shapes(Split{1, {4, -1}}, {In{{2, 3}}}), "illegal");
  EXPECT_EQ(shapes(Split{1, {0, 3}}, {In{{2, 3}}}), "illegal");
  EXPECT_EQ(shapes(Split{1, {}}, {In{{2, 3}}}), "illegal");
}

TEST(InferMovement, SliceStaysInside) {
  const Ins x{In{{10}}};
  EXPECT_EQ(shapes(Slice{{1}, {3}, {4}}, x), "[3]");      // 1, 5, 9
  EXPECT_EQ(shapes(Slice{{2}, {3}, {4}}, x), "illegal");  // 10 is outside
  EXPECT_EQ(shapes(Slice{{9}, {10}, {-1}}, x), "[10]");
  EXPECT_EQ(shapes(Slice{{8}, {10}, {-1}}, x), "illegal");
  EXPECT_EQ(shapes(Slice{{0}, {1}, {0}}, x), "illegal");
  EXPECT_EQ(shapes(Slice{{0}, {0}, {1}}, x), "illegal");
  EXPECT_EQ(shapes(Slice{{-1}, {1}, {1}}, x), "illegal");
  EXPECT_EQ(shapes(Slice{{9}, {1}, {1000}}, x), "[1]");
  EXPECT_EQ(shapes(Slice{{10}, {1}, {1000}}, x), "illegal");
  EXPECT_EQ(shapes(Slice{{0, 0}, {1, 1}, {1, 1}}, x), "illegal");
}

TEST(InferMovement, PlaceUndoesSlice) {
  EXPECT_EQ(shapes(Place{{1}, {4}, {10}}, {In{{3}}}), "[10]");
  EXPECT_EQ(shapes(Place{{2}, {4}, {10}}, {In{{3}}}), "illegal");
  EXPECT_EQ(shapes(Place{{9}, {-1}, {10}}, {In{{10}}}), "[10]");
  EXPECT_EQ(shapes(Place{{9}, {-1}, {10}}, {In{{11}}}), "illegal");
  EXPECT_EQ(shapes(Place{{0}, {1}, {0}}, {In{{1}}}), "illegal");
}

TEST(InferMovement, PadsReflectLessThanTheExtentAndCropLess) {
  const Ins x{In{{4}}};
  EXPECT_EQ(shapes(Pad{{2}, {9}}, x), "[15]");
  EXPECT_EQ(shapes(Pad{{3}, {3}, PadMode::Reflect}, x), "[10]");
  EXPECT_EQ(shapes(Pad{{4}, {0}, PadMode::Reflect}, x), "illegal");
  EXPECT_EQ(shapes(Pad{{4}, {0}, PadMode::Edge}, x), "[8]");
  EXPECT_EQ(shapes(Pad{{-3}, {0}}, x), "[1]");
  EXPECT_EQ(shapes(Pad{{-4}, {0}}, x), "illegal");
  EXPECT_EQ(shapes(Pad{{-2}, {-2}}, x), "illegal");
  EXPECT_EQ(shapes(Pad{{-1}, {0}, PadMode::Edge}, x), "illegal");
  EXPECT_EQ(shapes(Pad{{1, 1}, {0, 0}}, x), "illegal");
  EXPECT_EQ(shapes(PadGradient{{3}, {3}}, {In{{10}}}), "[4]");
  EXPECT_EQ(shapes(PadGradient{{3}, {3}}, {In{{9}}}), "illegal");  // 3 of 3 cannot have been reflected
}

TEST(InferMovement, GatherScatter) {
  EXPECT_EQ(shapes(Gather{1}, {In{{2, 5, 3}}, i64({4, 7})}), "[2,4,7,3]");
  EXPECT_EQ(shapes(Gather{1}, {In{{2, 5, 3}}, i64({})}), "[2,3]");
  EXPECT_EQ(shapes(Gather{3}, {In{{2, 5, 3}}, i64({4})}), "illegal");
  EXPECT_EQ(shapes(Gather{1}, {In{{2, 5, 3}}, In{{4}}}), "illegal");
  EXPECT_EQ(shapes(ScatterAdd{1, 5}, {In{{2, 4, 7, 3}}, i64({4, 7})}), "[2,5,3]");
  EXPECT_EQ(shapes(ScatterAdd{1, 5}, {In{{2, 4, 7, 3}}, i64({4, 8})}), "illegal");
  EXPECT_EQ(shapes(ScatterAdd{3, 5}, {In{{2, 4, 7, 3}}, i64({3, 1})}), "illegal");
  EXPECT_EQ(shapes(ScatterAdd{1, 0}, {In{{2, 4, 7, 3}}, i64({4, 7})}), "illegal");
}

TEST(InferMovement, TriluUnfoldFillIota) {
  EXPECT_EQ(shapes(Trilu{}, {In{{2, 3}}}), "[2,3]");
  EXPECT_EQ(shapes(Trilu{}, {In{{3}}}), "illegal");
  const Unfold unfold{{2, 2}, {1, 1}, {1, 2}, {0, 0}, {0, 0}};
  EXPECT_EQ(shapes(unfold, {In{{2, 3, 4, 5}}}), "[2,12,9]");  // 2·2·3 rows; 3·3 positions
  EXPECT_EQ(shapes(unfold, {In{{2, 3, 2, 3}}}), "[2,12,1]");
  EXPECT_EQ(shapes(unfold, {In{{2, 3, 2, 2}}}), "illegal");
  EXPECT_EQ(shapes(Fill{{2, 3}, 1}, {}), "[2,3]");
  EXPECT_EQ(shapes(Fill{{2, 0}, 1}, {}), "illegal");
  EXPECT_EQ(shapes(Fill{{2}, 1}, {In{{2}}}), "illegal");
  EXPECT_EQ(shapes(Iota{.count = 1}, {}), "[1]");
  EXPECT_EQ(shapes(Iota{.count = 0}, {}), "illegal");
  EXPECT_EQ(formats(Iota{.count = 1}, {}), "i64");
}

TEST(InferFallback, HasNoRule) { EXPECT_EQ(shapes(Fallback{}, {In{{2}}}), "illegal"); }

// Every extent is in range here, but products and sums of them are not.
TEST(Infer, DoesNotOverflow) {
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max(), most = std::int64_t{1} << 48;
  EXPECT_EQ(shapes(Slice{{huge}, {2}, {1}}, {In{{most}}}), "illegal");
  EXPECT_EQ(shapes(Slice{{1}, {most}, {most}}, {In{{most}}}), "illegal");
  EXPECT_EQ(shapes(Split{0, {huge, huge, 2}}, {In{{most}}}), "illegal");
  EXPECT_EQ(shapes(Pad{{std::numeric_limits<std::int64_t>::min()}, {0}}, {In{{most}}}), "illegal");
  EXPECT_EQ(shapes(Concat{0}, Ins(70000, In{{most}})), "illegal");
  EXPECT_EQ(shapes(MatMul{}, {In{{most, 1}}, In{{1, 2}}}), "illegal");
  Conv grouped = conv(ConvKind::Forward, {}, huge);
  EXPECT_EQ(shapes(grouped, {In{{2, 4, 5, 5}}, In{{6, 4, 3, 3}}}), "illegal");
  const std::int64_t wide = 1 << 24;
  const Ints ones(3, 1), pads(3, wide - 1), wides(3, wide);
  EXPECT_EQ(formats(Pool{PoolKind::Max, wides, wides, ones, pads, pads, false, false, true}, {In{{1, 1, 1, 1, 1}}}),
            "f32 u32");
  EXPECT_EQ(shapes(Unfold{wides, wides, ones, pads, pads}, {In{{1, 1, 1, 1, 1}}}), "illegal");
}

// ---- Parts ----

TEST(InferParts, LieInsideTheirWhole) {
  Dropout dropout;
  dropout.part = {{4, 6}, {2, 3}, {}, {}};
  EXPECT_EQ(shapes(dropout, {In{{2, 3}}}), "[2,3][2,3]");
  EXPECT_EQ(shapes(dropout, {In{{2, 4}}}), "illegal");
  EXPECT_EQ(shapes(dropout, {In{{2}}}), "illegal");
  dropout.part.origin = {-1, 0};
  EXPECT_EQ(shapes(dropout, {In{{2, 3}}}), "illegal");
  dropout.part.origin = {std::numeric_limits<std::int64_t>::max(), 0};
  EXPECT_EQ(shapes(dropout, {In{{2, 3}}}), "illegal");
  DropoutGradient gradient;
  gradient.part = {{4}, {3}, {}, {}};
  EXPECT_EQ(shapes(gradient, {In{{1}}}), "[1]");
  EXPECT_EQ(shapes(gradient, {In{{2}}}), "illegal");
  Iota iota{.start = 0, .step = 1, .count = 3};
  iota.part = {{9}, {6}, {}, {}};
  EXPECT_EQ(shapes(iota, {}), "[3]");
  iota.part = {{9}, {7}, {}, {}};
  EXPECT_EQ(shapes(iota, {}), "illegal");
}

TEST(InferParts, OfWindows) {
  Pool pool{PoolKind::Max, {3}, {2}, {1}, {1}, {1}, false, false, false};  // 5 windows over 9
  pool.part = {{9}, {3}, {2}, {3}};
  EXPECT_EQ(shapes(pool, {In{{1, 2, 6}}}), "[1,2,3][1,2,3]");
  EXPECT_EQ(shapes(pool, {In{{1, 2, 7}}}), "illegal");
  pool.part.count = {4};
  EXPECT_EQ(shapes(pool, {In{{1, 2, 6}}}), "illegal");
  pool.part.whole = {9, 9};
  EXPECT_EQ(shapes(pool, {In{{1, 2, 6}}}), "illegal");
  PoolGradient gradient{PoolKind::Average, {3}, {2}, {1}, {1}, {1}, false, false, false, {4}};
  gradient.part = {{9}, {5}, {2}, {}};
  EXPECT_EQ(shapes(gradient, {In{{1, 2, 3}}}), "[1,2,4]");
  EXPECT_EQ(shapes(gradient, {In{{1, 2, 4}}}), "illegal");
  gradient.part.origin = {6};
  EXPECT_EQ(shapes(gradient, {In{{1, 2, 3}}}), "illegal");
  Lrn lrn;
  lrn.part = {{}, {2}, {}, {3}};
  EXPECT_EQ(shapes(lrn, {In{{2, 5, 4}}}), "[2,3,4]");
  EXPECT_EQ(shapes(lrn, {In{{2, 4, 4}}}), "illegal");
}

TEST(InferParts, OfPaddings) {
  Pad pad{{2}, {1}, PadMode::Reflect};
  pad.part = {{6}, {3}, {6}, {3}};  // elements 6 to 8 of 9 copy 4, 5, 4
  EXPECT_EQ(shapes(pad, {In{{3}}}), "[3]");
  EXPECT_EQ(shapes(pad, {In{{4}}}), "illegal");
  pad.part.count = {4};
  EXPECT_EQ(shapes(pad, {In{{3}}}), "illegal");
  PadGradient gradient{{2}, {1}, PadMode::Edge};
  gradient.part = {{6}, {4}, {6}, {2}};
  EXPECT_EQ(shapes(gradient, {In{{3}}}), "[2]");
  EXPECT_EQ(shapes(gradient, {In{{4}}}), "illegal");
}

TEST(InferParts, OfLossesHaveTheLabelsOfTheWhole) {
  NegativeLogLikelihood loss;
  loss.part = {{4, 5}, {2, 0}, {}, {}};
  EXPECT_EQ(shapes(loss, {In{{2, 5}}, i64({4})}), "[]");
  EXPECT_EQ(shapes(loss, {In{{2, 5}}, i64({2})}), "illegal");
  EXPECT_EQ(shapes(loss, {In{{3, 5}}, i64({4})}), "illegal");
}

}  // namespace
}  // namespace monet
