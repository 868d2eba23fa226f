#include <fmt/format.h>

#include "unit/onnx/export_cases.h"

namespace monet::test {
namespace {

// ---- Normalisation ----

struct NormShape {
  std::string name;
  NormKind kind;
  Shape x;
  std::int64_t axis = -1, groups = 1;
  Shape parameters;
  bool scale = true, bias = true;
};

const std::vector<NormShape>& norm_shapes() {
  static const std::vector<NormShape> kShapes{
      {"batch_image", NormKind::Batch, {3, 4, 5, 2}, -1, 1, {4}},
      {"batch_flat", NormKind::Batch, {6, 4}, -1, 1, {4}},
      {"frozen", NormKind::FrozenBatch, {3, 4, 5, 2}, -1, 1, {4}},
      {"layer", NormKind::Layer, {2, 3, 8}, 2, 1, {8}},
      {"layer_wide", NormKind::Layer, {2, 3, 8}, 1, 1, {3, 8}},
      {"layer_all", NormKind::Layer, {5, 8}, 0, 1, {5, 8}},
      {"layer_no_bias", NormKind::Layer, {2, 3, 8}, 2, 1, {8}, true, false},
      {"layer_bare", NormKind::Layer, {2, 3, 8}, 2, 1, {8}, false, false},
      {"group", NormKind::Group, {2, 6, 3, 4}, -1, 3, {6}},
      {"group_flat", NormKind::Group, {5, 6}, -1, 2, {6}},
      {"rms", NormKind::Rms, {2, 3, 8}, 2, 1, {8}, true, false},
      {"rms_wide", NormKind::Rms, {2, 3, 8}, 1, 1, {3, 8}, true, false},
  };
  return kShapes;
}

ExportCase norm(const NormShape& n) {
  CaseBuilder c("norm_" + n.name);
  const TensorId x = c.normal("x", n.x), dy = c.normal("dy", n.x);
  const TensorId scale = n.scale ? c.normal("scale", n.parameters) : kNoTensor;
  const TensorId bias = n.bias ? c.normal("bias", n.parameters) : kNoTensor;
  const Norm op{.kind = n.kind, .axis = n.axis, .groups = n.groups, .epsilon = 1e-3, .momentum = 0.2};
  const NormGradient gradient{.kind = n.kind, .axis = n.axis, .groups = n.groups, .epsilon = 1e-3};
  if (n.kind == NormKind::FrozenBatch) {
    const TensorId mean = c.normal("mean", n.parameters), var = c.positive("var", n.parameters);
    c.output(op, {x, scale, bias, mean, var});
    c.output(gradient, {dy, x, scale, mean, var}, 3);
    const auto dx = c.b.add_wanted(gradient, {dy, kNoTensor, scale, mean, var}, "dx_alone", {true, false, true});
    c.output(dx[0]);
    c.output(dx[2]);
  } else if (n.kind == NormKind::Batch) {
    const auto y = c.output(op, {x, scale, bias, c.normal("mean", n.parameters), c.positive("var", n.parameters)}, 5);
    c.output(gradient, {dy, x, scale, y[1], y[2]}, 3);
  } else if (n.kind == NormKind::Rms) {
    const auto y = c.output(op, {x, scale}, 2);
    c.output(gradient, {dy, x, scale, y[1]}, 2);
  } else {
    const auto y = c.output(op, {x, scale, bias}, 3);
    c.output(gradient, {dy, x, scale, y[1], y[2]}, 3);
  }
  return c.finish();
}

// The single passes on the same shapes.
ExportCase norm_parts(const NormShape& n) {
  CaseBuilder c("norm_parts_" + n.name);
  const TensorId x = c.normal("x", n.x), dy = c.normal("dy", n.x);
  const TensorId scale = n.scale ? c.normal("scale", n.parameters) : kNoTensor;
  const TensorId bias = n.bias ? c.normal("bias", n.parameters) : kNoTensor;
  const auto part = [&](NormPass pass) {
    return NormPart{.pass = pass,
                    .kind = n.kind,
                    .axis = n.axis,
                    .groups = n.groups,
                    .epsilon = 1e-3,
                    .momentum = 0.2,
                    .count = 30};
  };
  const bool rms = n.kind == NormKind::Rms;
  const auto stats = c.b.add_wanted(part(NormPass::Statistics), {x}, "statistics", {!rms, true, true});
  for (const TensorId t : stats)
    if (t != kNoTensor) c.output(t);
  c.output(part(NormPass::Apply), {x, stats[0], stats[1], scale, bias});
  const auto sums = c.b.add_wanted(part(NormPass::ParameterSums), {dy, x, stats[0], stats[1]}, "sums", {true, !rms});
  c.output(sums[0]);
  if (!rms) c.output(sums[1]);
  if (n.kind == NormKind::FrozenBatch) {
    c.output(part(NormPass::InputGradient), {dy, kNoTensor, kNoTensor, stats[1], scale});
    return c.finish();
  }
  const bool batch = n.kind == NormKind::Batch;
  std::vector<TensorId> s{batch ? sums[1] : kNoTensor, sums[0]};
  if (!batch) s = c.output(part(NormPass::GroupSums), {dy, x, stats[0], stats[1], scale}, 2);
  c.output(part(NormPass::InputGradient), {dy, x, stats[0], stats[1], scale, rms ? kNoTensor : s[0], s[1]});
  if (batch)
    c.output(part(NormPass::RunningUpdate),
             {c.normal("running_mean", n.parameters), c.positive("running_var", n.parameters), stats[0], stats[2]}, 2);
  return c.finish();
}

ExportCase lrn(std::int64_t size, Shape shape) {
  CaseBuilder c(fmt::format("lrn_{}_{}d", size, shape.size()));
  const TensorId x = c.normal("x", shape), dy = c.normal("dy", shape);
  c.output(Lrn{size, 0.5, 0.75, 1.5}, {x});
  c.output(LrnGradient{size, 0.5, 0.75, 1.5}, {dy, x});
  return c.finish();
}

ExportCase softmax(bool log, std::int64_t axis) {
  CaseBuilder c(fmt::format("{}softmax_{}", log ? "log_" : "", axis));
  const TensorId x = c.normal("x", {3, 4, 5}), dy = c.normal("dy", {3, 4, 5});
  const auto y = c.output(Softmax{axis, log}, {x});
  c.output(SoftmaxGradient{axis, log}, {dy, y[0]});
  return c.finish();
}

ExportCase losses(bool mean, std::int64_t ignore, Shape logits, Element label_element) {
  CaseBuilder c(fmt::format("loss_{}_{}_{}d", mean ? "mean" : "sum", ignore, logits.size()));
  Shape shape = logits;
  shape.erase(shape.begin() + 1);
  const TensorId x = c.normal("x", logits), dloss = c.given("dloss", {}, {0.75});
  std::int64_t at = 0;
  const TensorId labels = c.numbers(
      "labels", shape, [&] { return static_cast<double>(at++ % 4 == 1 ? ignore : c.choice.between(0, logits[1] - 1)); },
      label_element);
  const auto y = c.output(CrossEntropy{mean, ignore}, {x, labels}, 2);
  c.output(NegativeLogLikelihood{mean, ignore}, {y[1], labels});
  c.output(CrossEntropyGradient{mean, ignore, Element::F32}, {dloss, y[1], labels});
  c.output(NegativeLogLikelihoodGradient{mean, ignore}, {dloss, y[1], labels});
  return c.finish();
}

}  // namespace

void add_norm_and_loss_cases(std::vector<ExportCase>& cases) {
  for (const NormShape& n : norm_shapes()) {
    cases.push_back(norm(n));
    cases.push_back(norm_parts(n));
  }
  cases.push_back(lrn(5, {2, 7, 3, 3}));
  cases.push_back(lrn(4, {2, 7, 3, 3}));
  cases.push_back(lrn(3, {2, 7}));
  for (const bool log : {false, true})
    for (std::int64_t axis = 0; axis < 3; ++axis) cases.push_back(softmax(log, axis));
  cases.push_back(losses(true, -100, {6, 5}, Element::I64));
  cases.push_back(losses(false, -1, {6, 5}, Element::I32));
  cases.push_back(losses(true, 2, {3, 5, 4}, Element::I16));
}

// ---- Movement ----

namespace {

ExportCase shapes() {
  CaseBuilder c("shapes");
  const TensorId x = c.normal("x", {2, 3, 4}), one = c.normal("one", {1, 1});
  c.output(View{{4, 6}}, {x});
  c.output(View{{}}, {one});
  c.output(Transpose{{2, 0, 1}}, {x});
  c.output(Expand{{2, 2, 3, 4}}, {x});
  c.output(Expand{{3, 5}}, {one});
  c.output(Concat{1}, {x, c.normal("y", {2, 2, 4}), x});
  c.output(Split{1, {1, 2}}, {x}, 2);
  const auto middle = c.b.add_wanted(Split{2, {1, 2, 1}}, {x}, "middle", {false, true, false});
  c.output(middle[1]);
  c.output(Trilu{true, 1}, {x});
  c.output(Trilu{false, -1}, {x});
  c.output(Fill{{2, 3}, 2.5, Element::F32}, {});
  c.output(Fill{{}, 7, Element::I32}, {});
  c.output(Iota{0, 1, 5, Element::I64}, {});
  c.output(Iota{3, -2, 5, Element::I32}, {});
  c.output(Iota{0.5, 0.25, 4, Element::F32}, {});
  return c.finish();
}

ExportCase strided(std::uint64_t seed) {
  CaseBuilder c(fmt::format("slice_place_{}", seed), seed);
  Slice slice;
  Shape x;
  for (int i = 0; i < 3; ++i) {
    const std::int64_t extent = c.choice.between(4, 9), size = c.choice.between(1, 4);
    const std::int64_t most = size == 1 ? 3 : (extent - 1) / (size - 1), step = c.choice.between(1, most);
    const std::int64_t reach = (size - 1) * step, start = c.choice.between(0, extent - 1 - reach);
    const bool back = c.choice.coin();
    x.push_back(extent);
    slice.starts.push_back(back ? start + reach : start);
    slice.sizes.push_back(size);
    slice.steps.push_back(back ? -step : step);
  }
  c.output(slice, {c.normal("x", x)});
  c.output(Place{slice.starts, slice.steps, x}, {c.normal("dy", slice.sizes)});
  c.output(Place{slice.starts, slice.steps, x}, {c.integers("di", slice.sizes, 0, 200, Element::U8)});
  return c.finish();
}

ExportCase pads() {
  CaseBuilder c("pads");
  const TensorId x = c.normal("x", {2, 4, 5});
  c.output(Pad{{1, -1, 0}, {0, 2, -2}, PadMode::Constant, 1.5}, {x});
  c.output(Pad{{0, 1, 0}, {0, 0, 0}}, {c.integers("i", {2, 4, 5}, 0, 9, Element::I16)});
  for (const PadMode mode : {PadMode::Reflect, PadMode::Edge, PadMode::Constant}) {
    const TensorId y = c.output(Pad{{0, 3, 1}, {1, 2, 4}, mode, 0}, {x})[0];
    c.output(PadGradient{{0, 3, 1}, {1, 2, 4}, mode}, {c.normal(fmt::format("dy.{}", name(mode)), c.b[y].shape)});
  }
  return c.finish();
}

ExportCase gathers() {
  CaseBuilder c("gather_scatter");
  const TensorId data = c.normal("data", {5, 6, 3});
  for (std::int64_t axis = 0; axis < 3; ++axis) {
    const TensorId index =
        c.integers(fmt::format("index.{}", axis), {2, 4}, -3, 2, axis == 1 ? Element::I32 : Element::I64);
    const TensorId y = c.output(Gather{axis}, {data, index})[0];
    c.output(ScatterAdd{axis, c.b[data].shape[static_cast<std::size_t>(axis)]},
             {c.normal(fmt::format("dy.{}", axis), c.b[y].shape), index});
  }
  const TensorId single = c.integers("single", {}, 0, 4);
  const TensorId y = c.output(Gather{0}, {data, single})[0];
  c.output(ScatterAdd{0, 5}, {c.normal("dsingle", c.b[y].shape), single});
  return c.finish();
}

// Enough rows on few indices that a scatter that adds in parallel without care loses some.
ExportCase crowded_scatter() {
  CaseBuilder c("scatter_crowded");
  c.output(ScatterAdd{0, 3}, {c.normal("dy", {4096, 16}), c.integers("index", {4096}, 0, 2)});
  return c.finish();
}

// Constants of every kind, small and large, and a source that is an output.
ExportCase constants() {
  CaseBuilder c("constants");
  const TensorId x = c.normal("x", {8, 8});
  const auto constant = [&](const std::string& name, Shape shape, Initial initial, Element element = Element::F32) {
    return c.b.source(name, std::move(shape), Format{element}, Category::Constant, std::move(initial));
  };
  const Dense exact{{1, 0.5, 0x3p-20, 59392, -0.15625, 0x1p-24, 0, -7}};  // in f16 and bf16 alike
  for (const TensorId t :
       {constant("splat", {8, 8}, Splat{0.5}), constant("large", {40, 1, 8, 8}, Splat{0.25}),
        constant("triangle", {8, 8}, Triangle{1, 2, -3}), constant("cosine", {8, 8}, Rotary{false, 100}),
        constant("sine", {8, 8}, Rotary{true, 100}), constant("dense", {8}, Dense{{1, 2, 3, 4, 5, 6, 7, 8}}),
        constant("half", {8}, exact, Element::F16), constant("brain", {8}, exact, Element::BF16)})
    c.output(c.b.binary(BinaryKind::Add, x, c.b.one(Cast{Element::F32}, {t}, "wide"), "added"));
  c.output(x);
  return c.finish(1e-6);
}

}  // namespace

void add_movement_cases(std::vector<ExportCase>& cases) {
  cases.push_back(shapes());
  for (std::uint64_t seed = 1; seed <= 8; ++seed) cases.push_back(strided(seed));
  cases.push_back(pads());
  cases.push_back(gathers());
  cases.push_back(crowded_scatter());
  cases.push_back(constants());
}

}  // namespace monet::test
