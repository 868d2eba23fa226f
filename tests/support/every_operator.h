#pragma once
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "monet/graph/builder.h"

// A small sound graph that uses every operator there is, for whoever must deal with all of them.

namespace monet::test {

// Names in operator_prototypes() that no node of the graph uses.
inline std::vector<std::string> missing_operators(const Graph& graph) {
  std::set<std::string_view> used;
  for (const Node& node : graph.nodes) used.insert(operator_name(node.op));
  std::vector<std::string> missing;
  for (const Op& op : operator_prototypes())
    if (!used.contains(operator_name(op))) missing.emplace_back(operator_name(op));
  return missing;
}

// Every source has a value, and all of them lie in (0, 1) (indices and labels in their range), so that the graph can
// also be run if it has no fallback. What is made and not read is an output of the graph, so that no node is dead.
class EveryOperator {
 public:
  Graph build(bool with_fallback) {
    contractions();
    elementwise();
    reductions();
    for (const NormKind kind :
         {NormKind::Batch, NormKind::FrozenBatch, NormKind::Layer, NormKind::Group, NormKind::Rms})
      normalisation(kind);
    normalisation_parts();
    windows_over_channels();
    attention();
    losses();
    movement();
    if (with_fallback) fallback();
    update();
    Graph graph = std::move(b_).finish();
    std::stable_sort(graph.nodes.begin(), graph.nodes.end(),
                     [](const Node& a, const Node& b) { return rank(a.phase) < rank(b.phase); });
    const Uses u = uses(graph);
    for (std::uint32_t t = 0; t < graph.tensors.size(); ++t)
      if (u.consumers[t].empty() && u.producer[t] != kNoNode && graph.tensors[t].category != Category::Workspace)
        graph.outputs.push_back(TensorId{t});
    return graph;
  }

 private:
  // Phases follow one another; recomputation belongs to the backward pass.
  static int rank(Phase phase) {
    return phase == Phase::Forward ? 0 : phase == Phase::Loss ? 1 : phase == Phase::Update ? 3 : 2;
  }

  TensorId values(const std::string& name, Shape shape, Category category = Category::Input) {
    Dense dense;
    salt_ += 17;  // 61 is prime: no two of 61 neighbours are equal
    for (std::int64_t i = 0; i < elements(shape); ++i)
      dense.values.push_back(static_cast<double>((i * 37 + salt_) % 61 + 1) / 64);
    return b_.source(name, std::move(shape), Format{}, category, std::move(dense));
  }
  TensorId integers(const std::string& name, Shape shape, std::vector<double> values) {
    return b_.source(name, std::move(shape), Format{Element::I64}, Category::Input, Dense{std::move(values)});
  }
  std::vector<TensorId> add(Phase phase, Op op, std::vector<TensorId> inputs, std::size_t outputs = 1) {
    b_.phase = phase;
    const std::string name(operator_name(op));
    return b_.add(std::move(op), std::move(inputs), name, outputs);
  }
  std::vector<TensorId> forward(Op op, std::vector<TensorId> inputs, std::size_t outputs = 1) {
    return add(Phase::Forward, std::move(op), std::move(inputs), outputs);
  }
  std::vector<TensorId> backward(Op op, std::vector<TensorId> inputs, std::size_t outputs = 1) {
    return add(Phase::Backward, std::move(op), std::move(inputs), outputs);
  }

  void contractions() {
    x_ = values("x", {2, 4});
    dy_ = values("dy", {2, 4});
    image_ = values("image", {2, 4, 5, 5});
    const TensorId w = values("fc.weight", {4, 4}, Category::Weight), c = values("fc.bias", {4}, Category::Weight);
    forward(MatMul{.trans_b = true, .beta = 0.5}, {x_, w, c});
    forward(MatMul{.trans_a = true, .alpha = 2}, {x_, x_, kNoTensor});
    const TensorId kernel = values("conv.weight", {6, 2, 3, 3}, Category::Weight);
    const TensorId bias = values("conv.bias", {6}, Category::Weight);
    Conv conv{.kind = ConvKind::Forward,
              .strides = {2, 2},
              .dilations = {1, 1},
              .pads_begin = {1, 1},
              .pads_end = {1, 1},
              .groups = 2,
              .extent = {}};
    const TensorId y = forward(conv, {image_, kernel, bias})[0];
    conv.kind = ConvKind::DataGradient;
    conv.extent = {5, 5};
    backward(conv, {y, kernel});
    conv.kind = ConvKind::WeightGradient;
    conv.extent = {3, 3};
    backward(conv, {image_, y});
  }

  void elementwise() {
    truth_ = forward(Binary{BinaryKind::Greater}, {x_, b_.scalar(0.5)})[0];
    for (int k = 0; k <= static_cast<int>(UnaryKind::IsFinite); ++k) unary(static_cast<UnaryKind>(k));
    for (int k = 0; k <= static_cast<int>(BinaryKind::Xor); ++k) {
      const auto kind = static_cast<BinaryKind>(k);
      if (kind == BinaryKind::Greater) continue;
      const TensorId left = kind >= BinaryKind::And ? truth_ : x_;
      forward(Binary{kind}, {left, kind >= BinaryKind::And ? truth_ : dy_});
    }
    forward(Sum{}, {x_, dy_, b_.scalar(1)});
    forward(Select{}, {truth_, x_, dy_});
    forward(Cast{Element::F16}, {x_});
    const auto dropout = forward(Dropout{.ratio = 0.25, .seed = 7}, {x_}, 2);
    backward(DropoutGradient{.ratio = 0.25, .seed = 7}, {dy_, dropout[1]});
    backward(DropoutGradient{.ratio = 0.25, .seed = 7}, {dy_});
    // Values 0, 1 and 2 are read; 3 and 7 are outputs, 4, 5 and 6 nobody sees.
    forward(Steps{.program = {{Binary{BinaryKind::Mul}, {0, 2, kNoValue}, Format{}},
                              {Cast{Element::F16}, {3, kNoValue, kNoValue}, Format{Element::F16}},
                              {Binary{BinaryKind::Less}, {0, 1, kNoValue}, Format{Element::Bool}},
                              {Select{}, {5, 4, 3}, Format{}},
                              {Sum{}, {6, 1, 2}, Format{}}},
                  .outputs = {7, 3}},
            {x_, dy_, b_.scalar(0.5)}, 2);
  }

  void unary(UnaryKind kind) {
    double a = 0, b = 0;
    Source from = Source::Input;
    switch (kind) {
      case UnaryKind::LeakyRelu: a = 0.01; break;
      case UnaryKind::HardSigmoid: a = 0.2, b = 0.5; break;
      case UnaryKind::Clip: a = 0.2, b = 0.6; break;
      default: break;
    }
    if (kind == UnaryKind::Relu || kind == UnaryKind::LeakyRelu || kind == UnaryKind::HardSigmoid ||
        kind == UnaryKind::Clip)
      from = Source::Mask;
    if (kind == UnaryKind::Exp || kind == UnaryKind::Sqrt || kind == UnaryKind::Sigmoid || kind == UnaryKind::Tanh)
      from = Source::Output;
    const TensorId x = kind == UnaryKind::Not ? truth_ : x_;
    const auto y = forward(Unary{kind, a, b}, {x}, from == Source::Mask ? 2 : 1);
    const TensorId saved = from == Source::Mask ? y[1] : from == Source::Output ? y[0] : x;
    backward(UnaryGradient{kind, a, b, from}, {dy_, saved});
  }

  void reductions() {
    forward(Reduce{ReduceKind::Sum, {0}, false}, {x_});
    forward(Reduce{ReduceKind::Mean, {2, 3}, true}, {image_});
    forward(Reduce{ReduceKind::Max, {1}, true}, {x_});
    forward(Reduce{ReduceKind::Min, {0, 1}, false}, {x_});
    forward(Reduce{ReduceKind::SumSquare, {}, true}, {x_});
    Pool pool{.kind = PoolKind::Max,
              .kernel = {3, 3},
              .strides = {2, 2},
              .dilations = {1, 1},
              .pads_begin = {1, 1},
              .pads_end = {1, 1},
              .ceil = false,
              .count_pads = false,
              .window_index = true};
    const auto y = forward(pool, {image_}, 2);
    PoolGradient gradient{.kind = PoolKind::Max,
                          .kernel = {3, 3},
                          .strides = {2, 2},
                          .dilations = {1, 1},
                          .pads_begin = {1, 1},
                          .pads_end = {1, 1},
                          .ceil = false,
                          .count_pads = false,
                          .window_index = true,
                          .extent = {5, 5}};
    backward(gradient, {y[0], y[1]});
    pool.kind = gradient.kind = PoolKind::Average;
    pool.window_index = gradient.window_index = false;
    pool.count_pads = gradient.count_pads = true;
    const TensorId average = forward(pool, {image_})[0];
    backward(gradient, {average});
  }

  void normalisation(NormKind kind) {
    const bool by_axis = kind == NormKind::Layer || kind == NormKind::Rms;
    const std::int64_t axis = by_axis ? 3 : -1, groups = kind == NormKind::Group ? 2 : 1;
    const Shape parameters{by_axis ? 5 : 4};
    const auto parameter = [&](const std::string& suffix, Category category) {
      return values(std::string(name(kind)) + suffix, parameters, category);
    };
    std::vector<TensorId> in{image_, parameter(".scale", Category::Weight)};
    if (kind != NormKind::Rms) in.push_back(parameter(".bias", Category::Weight));
    if (kind == NormKind::Batch || kind == NormKind::FrozenBatch) {
      in.push_back(parameter(".running_mean", Category::ModelState));
      in.push_back(parameter(".running_var", Category::ModelState));
    }
    const Norm norm{.kind = kind, .axis = axis, .groups = groups, .epsilon = 1e-6, .momentum = 0.2};
    const std::size_t outputs = kind == NormKind::Batch         ? 5
                                : kind == NormKind::FrozenBatch ? 1
                                : kind == NormKind::Rms         ? 2
                                                                : 3;
    const auto out = forward(norm, in, outputs);
    if (kind == NormKind::Batch) {
      b_[out[3]].overwrites = in[3];
      b_[out[4]].overwrites = in[4];
    }
    const NormGradient gradient{.kind = kind, .axis = axis, .groups = groups, .epsilon = 1e-6};
    std::vector<TensorId> back{out[0], image_, in[1]};
    if (kind == NormKind::FrozenBatch)
      back.insert(back.end(), {in[3], in[4]});
    else
      back.insert(back.end(), out.begin() + 1, out.begin() + (kind == NormKind::Rms ? 2 : 3));
    if (kind == NormKind::FrozenBatch) {  // the data gradient alone needs no x
      back[1] = kNoTensor;
      b_.phase = Phase::Backward;
      b_.add_wanted(gradient, back, std::string(operator_name(gradient)), {true, false, false});
    } else {
      backward(gradient, back, kind == NormKind::Rms ? 2 : 3);
    }
  }

  void normalisation_parts() {
    NormPart part{.pass = NormPass::Statistics,
                  .kind = NormKind::Batch,
                  .axis = -1,
                  .groups = 1,
                  .epsilon = 1e-6,
                  .momentum = 0.2,
                  .count = 50};
    const auto with = [&](NormPass pass) {
      part.pass = pass;
      return part;
    };
    const auto s = forward(with(NormPass::Statistics), {image_}, 3);
    const TensorId mean = values("part.running_mean", {4}, Category::ModelState);
    const TensorId var = values("part.running_var", {4}, Category::ModelState);
    const TensorId scale = values("part.scale", {4}, Category::Weight),
                   bias = values("part.bias", {4}, Category::Weight);
    forward(with(NormPass::RunningUpdate), {mean, var, s[0], s[2]}, 2);
    const TensorId y = forward(with(NormPass::Apply), {image_, s[0], s[1], scale, bias})[0];
    const auto sums = backward(with(NormPass::ParameterSums), {y, image_, s[0], s[1]}, 2);
    backward(with(NormPass::InputGradient), {y, image_, s[0], s[1], scale, sums[1], sums[0]});
    part.kind = NormKind::Rms;
    part.axis = 1;
    const TensorId rms_scale = values("part.rms.scale", {4}, Category::Weight);
    b_.phase = Phase::Forward;
    const auto r = b_.add_wanted(with(NormPass::Statistics), {x_}, "rms_statistics", {false, true});
    backward(with(NormPass::GroupSums), {dy_, x_, kNoTensor, r[1], rms_scale}, 2);
  }

  void windows_over_channels() {
    const TensorId y = forward(Lrn{.size = 3, .alpha = 1e-3, .beta = 0.5, .bias = 2}, {image_})[0];
    backward(LrnGradient{.size = 3, .alpha = 1e-3, .beta = 0.5, .bias = 2}, {y, image_});
  }

  void attention() {
    const TensorId y = forward(Softmax{.axis = 1, .log = true}, {x_})[0];
    backward(SoftmaxGradient{.axis = 1, .log = true}, {dy_, y});
    const TensorId q = values("q", {2, 2, 3, 4}), k = values("k", {2, 2, 5, 4}), v = values("v", {2, 2, 5, 6});
    const TensorId mask = b_.source("mask", {3, 5}, Format{}, Category::Constant, Triangle{1, 0, -1e9});
    const auto o = forward(Attention{.scale = 0.5, .causal = false, .block = 2}, {q, k, v, mask}, 2);
    backward(AttentionGradient{.scale = 0.5, .causal = false, .block = 2}, {o[0], q, k, v, o[0], o[1], mask}, 3);
  }

  void losses() {
    const TensorId labels = integers("labels", {2}, {3, 0});
    const auto loss = add(Phase::Loss, CrossEntropy{.mean = false, .ignore_index = 0}, {x_, labels}, 2);
    add(Phase::Loss, NegativeLogLikelihood{}, {loss[1], labels});
    const TensorId one = b_.scalar(1);
    backward(CrossEntropyGradient{.mean = false, .ignore_index = 0, .to = Element::BF16}, {one, loss[1], labels});
    backward(NegativeLogLikelihoodGradient{}, {one, loss[1], labels});
  }

  void movement() {
    forward(View{{4, 2}}, {x_});
    forward(Transpose{{1, 0}}, {x_});
    forward(Expand{{3, 2, 4}}, {x_});
    forward(Concat{1}, {x_, dy_});
    forward(Split{.axis = 1, .sizes = {1, 3}}, {x_}, 2);
    const TensorId slice = forward(Slice{.starts = {1, 3}, .sizes = {1, 2}, .steps = {1, -2}}, {x_})[0];
    backward(Place{.starts = {1, 3}, .steps = {1, -2}, .shape = {2, 4}}, {slice});
    forward(Pad{.begin = {0, -1}, .end = {1, 0}, .mode = PadMode::Constant, .value = 0.5}, {x_});
    const TensorId padded = forward(Pad{.begin = {1, 3}, .end = {0, 1}, .mode = PadMode::Reflect}, {x_})[0];
    backward(PadGradient{.begin = {1, 3}, .end = {0, 1}, .mode = PadMode::Reflect}, {padded});
    const TensorId indices = integers("indices", {3}, {0, 3, 3});
    const TensorId gathered = forward(Gather{1}, {x_, indices})[0];
    backward(ScatterAdd{.axis = 1, .size = 4}, {gathered, indices});
    forward(Trilu{.upper = false, .k = -1}, {x_});
    forward(Unfold{.kernel = {2, 2}, .strides = {1, 2}, .dilations = {2, 1}, .pads_begin = {0, 1}, .pads_end = {1, 0}},
            {image_});
    forward(Fill{.shape = {2, 2}, .value = 0.5, .element = Element::F32}, {});
    forward(Iota{.start = 1, .step = 2, .count = 4, .element = Element::I32}, {});
  }

  void fallback() {
    b_.phase = Phase::Forward;
    b_.add_fallback(Fallback{.type = "com.example:Mystery", .cost = CostClass::Reduction}, {x_, kNoTensor}, "mystery",
                    {"mystery.y", "", "mystery.z"},
                    {{{2}, Format{}, ""}, {{1}, Format{}, ""}, {{3, 3}, Format{Element::F8E4M3, 1, 2, 8}, ""}});
  }

  // What nodes carry beside operators: another phase, a barrier, held tensors, storage taken over, layouts.
  void update() {
    const TensorId w = values("w", {2, 4}, Category::Weight);
    const TensorId master = b_.source("w.master", {2, 4}, Format{Element::F64}, Category::OptimizerState, CopyOf{w});
    const TensorId cosine = b_.source("rotary.cos", {2, 4}, Format{}, Category::Constant, Rotary{false, 500});
    b_[w].layout = {1, 0};
    b_.phase = Phase::Recompute;
    const TensorId again = b_.unary(UnaryKind::Silu, cosine, "silu.again");
    b_.phase = Phase::Update;
    const TensorId updated = b_.binary(BinaryKind::Sub, master, again, "sgd");
    b_[updated].category = Category::OptimizerState;
    b_[updated].overwrites = master;
    b_.graph().nodes.back().barrier = true;
    const TensorId narrow = b_.one(Cast{Element::F32}, {updated}, "sgd.cast");
    b_[narrow].category = Category::Weight;
    b_[narrow].overwrites = w;
    b_[narrow].layout = {1, 0};
    b_.graph().nodes.back().holds = {x_, cosine};
  }

  Builder b_{"every operator"};
  std::int64_t salt_ = 0;
  TensorId x_, dy_, image_, truth_;
};

inline Graph every_operator(bool with_fallback = true) { return EveryOperator().build(with_fallback); }

}  // namespace monet::test
