// Decomposition. Normalisations become statistics, then apply; their gradients both sums, then the input gradient.
// Softmax becomes maximum, exponential, sum, quotient. Attention is unrolled over blocks of keys with a running maximum
// and sum (online softmax; Milakov and Gimelshein, arXiv 1805.02867; backward as in FlashAttention, arXiv 2205.14135):
// scores exist only a block at a time. Cross-entropy becomes log-softmax and the negative log-likelihood.
// Numerics are those of the whole operator up to rounding. Node names get a suffix naming the pass.
#include "monet/rewrite/decompose.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "monet/base/overloaded.h"
#include "monet/graph/builder.h"
#include "monet/graph/lower.h"
#include "monet/rewrite/dead_nodes.h"
#include "monet/rewrite/fuse_updates.h"

namespace monet {
namespace {

constexpr double kHidden = -1e30;  // added to a score that a causal mask hides: its exponential is zero

class Decomposer {
 public:
  Decomposer(Graph graph, const DecomposeOptions& options) : o_(options), b_(strip(std::move(graph))) {}

  Graph run() {
    for (Node& node : nodes_) {
      b_.phase = node.phase;
      const std::size_t before = b_.graph().nodes.size();
      if (!expand(node)) {
        b_.graph().nodes.push_back(std::move(node));
        continue;
      }
      if (!node.holds.empty()) b_.graph().nodes[before].holds = node.holds;
    }
    return compact(std::move(b_).finish());
  }

 private:
  Graph strip(Graph graph) {
    nodes_ = std::exchange(graph.nodes, {});
    graph.nodes.reserve(2 * nodes_.size());
    return graph;
  }

  bool expand(const Node& n) {
    const auto done = [](auto&&...) { return true; };
    if (const Conv* conv = std::get_if<Conv>(&n.op);
        conv && conv->kind == ConvKind::WeightGradient && o_.im2col_weight_gradient)
      return done((im2col(n, *conv), 0));
    if (is_single_work(n.op)) return false;
    std::visit(overloaded{
                   [&](const Norm& op) { norm(n, op); },
                   [&](const NormGradient& op) { norm_gradient(n, op); },
                   [&](const Softmax& op) {
                     op.log ? log_softmax(n.inputs[0], n.outputs[0], op.axis, n.name) : softmax(n, op.axis);
                   },
                   [&](const SoftmaxGradient& op) { softmax_gradient(n, op); },
                   [&](const Attention& op) { attention(n, op); },
                   [&](const AttentionGradient& op) { attention_gradient(n, op); },
                   [&](const CrossEntropy& op) { cross_entropy(n, op); },
                   [&](const auto&) {},
               },
               n.op);
    return true;
  }

  static TensorId at(const std::vector<TensorId>& list, std::size_t i) { return i < list.size() ? list[i] : kNoTensor; }
  TensorId reduce(ReduceKind kind, TensorId x, std::int64_t axis, const std::string& name) {
    return b_.one(Reduce{kind, {axis}, true}, {x}, name);
  }

  // ---- Softmax and cross-entropy ----

  void softmax(const Node& n, std::int64_t axis) {
    const TensorId max = reduce(ReduceKind::Max, n.inputs[0], axis, n.name + ".max");
    const TensorId e = b_.binary(BinaryKind::ExpDifference, n.inputs[0], max, n.name + ".exp");
    const TensorId sum = reduce(ReduceKind::Sum, e, axis, n.name + ".sum");
    b_.add_into(Binary{BinaryKind::Div}, {e, sum}, n.name + ".divide", {n.outputs[0]});
  }

  void log_softmax(TensorId x, TensorId y, std::int64_t axis, const std::string& name) {
    const TensorId max = reduce(ReduceKind::Max, x, axis, name + ".max");
    const TensorId shifted = b_.binary(BinaryKind::Sub, x, max, name + ".shift");
    const TensorId e = b_.unary(UnaryKind::Exp, shifted, name + ".exp");
    const TensorId sum = reduce(ReduceKind::Sum, e, axis, name + ".sum");
    const TensorId log = b_.unary(UnaryKind::Log, sum, name + ".log");
    b_.add_into(Binary{BinaryKind::Sub}, {shifted, log}, name + ".subtract", {y});
  }

  void softmax_gradient(const Node& n, const SoftmaxGradient& op) {
    const TensorId dy = n.inputs[0], y = n.inputs[1];
    if (op.log) {  // dy - exp(y) · Σdy
      const TensorId sum = reduce(ReduceKind::Sum, dy, op.axis, n.name + ".sum");
      const TensorId e = b_.unary(UnaryKind::Exp, y, n.name + ".exp");
      const TensorId product = b_.binary(BinaryKind::Mul, e, sum, n.name + ".product");
      return b_.add_into(Binary{BinaryKind::Sub}, {dy, product}, n.name + ".subtract", {n.outputs[0]});
    }
    const TensorId product = b_.binary(BinaryKind::Mul, dy, y, n.name + ".product");  // (dy - Σdy·y) · y
    const TensorId sum = reduce(ReduceKind::Sum, product, op.axis, n.name + ".sum");
    const TensorId difference = b_.binary(BinaryKind::Sub, dy, sum, n.name + ".difference");
    b_.add_into(Binary{BinaryKind::Mul}, {difference, y}, n.name + ".scale", {n.outputs[0]});
  }

  void cross_entropy(const Node& n, const CrossEntropy& op) {
    TensorId logits = n.inputs[0];
    TensorId log_prob = at(n.outputs, 1);
    if (log_prob == kNoTensor)
      log_prob = b_.source(n.name + ".log_prob", b_[logits].shape, b_[n.outputs[0]].format, Category::Activation);
    if (b_[logits].format != b_[log_prob].format)
      logits = b_.one(Cast{b_[log_prob].format.element}, {logits}, n.name + ".cast");
    log_softmax(logits, log_prob, 1, n.name);
    b_.add_into(NegativeLogLikelihood{op.mean, op.ignore_index}, {log_prob, n.inputs[1]}, n.name + ".likelihood",
                {n.outputs[0]});
  }

  // ---- Normalisation ----

  NormPart part(NormPass pass, NormKind kind, std::int64_t axis, std::int64_t groups, double epsilon) const {
    return NormPart{
        .pass = pass, .kind = kind, .axis = axis, .groups = groups, .epsilon = epsilon, .momentum = 0.1, .count = 1};
  }

  TensorId frozen_inv_std(TensorId variance, double epsilon, const std::string& name) {
    const TensorId safe = b_.binary(BinaryKind::Add, variance, b_.scalar(epsilon), name + ".safe_variance");
    return b_.unary(UnaryKind::Rsqrt, safe, name + ".inv_std");
  }

  // The tensor the node already has for a result, or a new one.
  TensorId result(TensorId existing, const Shape& shape, Format format, const std::string& name) {
    return existing != kNoTensor ? existing : b_.source(name, shape, format, category_of(b_.phase));
  }

  void norm(const Node& n, const Norm& op) {
    const TensorId x = n.inputs[0], scale = at(n.inputs, 1), bias = at(n.inputs, 2);
    TensorId mean = kNoTensor, inv = kNoTensor;
    if (op.kind == NormKind::FrozenBatch) {
      mean = n.inputs[3];
      inv = frozen_inv_std(n.inputs[4], op.epsilon, n.name);
    } else {
      const NormPart statistics = part(NormPass::Statistics, op.kind, op.axis, op.groups, op.epsilon);
      const Tensor x_copy = b_[x];
      const Tensor* operand = &x_copy;
      const std::vector<OutputType> types = infer(statistics, std::span<const Tensor* const>(&operand, 1));
      const bool rms = op.kind == NormKind::Rms;
      if (!rms) mean = result(at(n.outputs, 1), types[0].shape, types[0].format, n.name + ".mean");
      inv = result(at(n.outputs, rms ? 1 : 2), types[1].shape, types[1].format,
                   n.name + "." + std::string(types[1].suffix));
      const bool running =
          op.kind == NormKind::Batch && (at(n.outputs, 3) != kNoTensor || at(n.outputs, 4) != kNoTensor);
      const TensorId variance =
          running ? b_.source(n.name + ".variance", types[2].shape, types[2].format, category_of(b_.phase)) : kNoTensor;
      b_.add_into(statistics, {x}, n.name + ".statistics", {mean, inv, variance});
      if (running) {
        NormPart update = part(NormPass::RunningUpdate, op.kind, op.axis, op.groups, op.epsilon);
        update.momentum = op.momentum;
        update.count = elements(b_[x].shape) / b_[x].shape[1];
        b_.add_into(update, {n.inputs[3], n.inputs[4], mean, variance}, n.name + ".running",
                    {at(n.outputs, 3), at(n.outputs, 4)});
      }
    }
    b_.add_into(part(NormPass::Apply, op.kind, op.axis, op.groups, op.epsilon), {x, mean, inv, scale, bias},
                n.name + ".apply", {n.outputs[0]});
  }

  void norm_gradient(const Node& n, const NormGradient& op) {
    const bool rms = op.kind == NormKind::Rms, frozen = op.kind == NormKind::FrozenBatch,
               batch = op.kind == NormKind::Batch;
    const TensorId dy = n.inputs[0], x = n.inputs[1], scale = n.inputs[2];
    const TensorId mean = rms ? kNoTensor : n.inputs[3];
    const TensorId inv = rms ? n.inputs[3] : frozen ? frozen_inv_std(n.inputs[4], op.epsilon, n.name) : n.inputs[4];
    const TensorId dx = at(n.outputs, 0);
    TensorId dscale = at(n.outputs, 1), dbias = at(n.outputs, 2);
    if (batch && dx != kNoTensor) {  // both sums are needed before any input gradient
      const Format stat = b_[inv].format;
      dscale = result(dscale, b_[inv].shape, stat, n.name + ".scale_sum");
      dbias = result(dbias, b_[inv].shape, stat, n.name + ".bias_sum");
    }
    if (dscale != kNoTensor || dbias != kNoTensor)
      b_.add_into(part(NormPass::ParameterSums, op.kind, op.axis, op.groups, op.epsilon), {dy, x, mean, inv},
                  n.name + ".parameter_sums", {dscale, dbias});
    if (dx == kNoTensor) return;
    TensorId s1 = kNoTensor, s2 = kNoTensor;
    if (batch)
      s1 = dbias, s2 = dscale;
    else if (!frozen) {
      const auto sums = b_.add_wanted(part(NormPass::GroupSums, op.kind, op.axis, op.groups, op.epsilon),
                                      {dy, x, mean, inv, scale}, n.name + ".group_sums", {!rms, true});
      s1 = sums[0], s2 = sums[1];
    }
    b_.add_into(part(NormPass::InputGradient, op.kind, op.axis, op.groups, op.epsilon),
                {dy, frozen ? kNoTensor : x, mean, inv, scale, s1, s2}, n.name + ".input_gradient", {dx});
  }

  // ---- Attention ----

  struct Block {
    std::int64_t start, size;
    std::string name;
  };

  std::vector<Block> blocks(std::int64_t keys, std::int64_t size, const std::string& name) const {
    std::vector<Block> all;
    for (std::int64_t start = 0; start < keys; start += size)
      all.push_back(
          {start, std::min(size, keys - start), keys <= size ? name : fmt::format("{}.block{}", name, start / size)});
    return all;
  }

  TensorId rows(TensorId x, std::size_t axis, const Block& block, const std::string& what) {
    const Shape shape = b_[x].shape;
    if (shape[axis] == block.size) return x;
    Ints starts(shape.size(), 0), steps(shape.size(), 1);
    Shape sizes = shape;
    starts[axis] = block.start;
    sizes[axis] = block.size;
    const TensorId part = b_.one(Slice{starts, sizes, steps}, {x}, block.name + "." + what);
    b_[part].category = b_[x].category == Category::Constant ? Category::Activation : b_[x].category;
    return part;
  }

  // scale · q kᵀ + mask for one block of keys
  TensorId scores(TensorId q, TensorId k, TensorId mask, double scale, bool causal, std::int64_t keys,
                  const Block& block) {
    TensorId s = b_.one(MatMul{false, true, scale, 1}, {q, k}, block.name + ".scores");
    if (mask != kNoTensor) {
      const std::size_t last = b_[mask].shape.size() - 1;
      const TensorId part = b_[mask].shape[last] == keys ? rows(mask, last, block, "mask") : mask;
      s = b_.binary(BinaryKind::Add, s, part, block.name + ".masked");
    }
    const std::int64_t queries = b_[q].shape[b_[q].shape.size() - 2], offset = keys - queries - block.start;
    if (causal && offset < block.size - 1) {
      const TensorId triangle = b_.source(block.name + ".causal", {queries, block.size}, b_[s].format,
                                          Category::Constant, Triangle{offset, 0, kHidden});
      s = b_.binary(BinaryKind::Add, s, triangle, block.name + ".visible");
    }
    return s;
  }

  void attention(const Node& n, const Attention& op) {
    const TensorId q = n.inputs[0];
    const std::size_t rank = b_[q].shape.size();
    const auto last = static_cast<std::int64_t>(rank - 1);
    const std::int64_t keys = b_[n.inputs[1]].shape[rank - 2];
    TensorId m = kNoTensor, l = kNoTensor, o = kNoTensor;
    for (const Block& block : blocks(keys, op.block, n.name)) {
      const TensorId k = rows(n.inputs[1], rank - 2, block, "k"), v = rows(n.inputs[2], rank - 2, block, "v");
      const TensorId s = scores(q, k, at(n.inputs, 3), op.scale, op.causal, keys, block);
      const TensorId local = reduce(ReduceKind::Max, s, last, block.name + ".max");
      const TensorId max = m == kNoTensor ? local : b_.binary(BinaryKind::Max, m, local, block.name + ".running_max");
      const TensorId p = b_.binary(BinaryKind::ExpDifference, s, max, block.name + ".exp");
      const TensorId sum = reduce(ReduceKind::Sum, p, last, block.name + ".sum");
      if (m == kNoTensor) {
        l = sum;
        o = b_.one(MatMul{}, {p, v}, block.name + ".values");
      } else {
        const TensorId correction = b_.binary(BinaryKind::ExpDifference, m, max, block.name + ".correction");
        const TensorId l_kept = b_.binary(BinaryKind::Mul, l, correction, block.name + ".kept_sum");
        l = b_.binary(BinaryKind::Add, l_kept, sum, block.name + ".running_sum");
        const TensorId o_kept = b_.binary(BinaryKind::Mul, o, correction, block.name + ".kept_output");
        o = b_.one(MatMul{}, {p, v, o_kept}, block.name + ".values");
      }
      m = max;
    }
    b_.add_into(Binary{BinaryKind::Div}, {o, l}, n.name + ".divide", {n.outputs[0]});
    if (const TensorId lse = at(n.outputs, 1); lse != kNoTensor)
      b_.add_into(Binary{BinaryKind::Add}, {m, b_.unary(UnaryKind::Log, l, n.name + ".log")}, n.name + ".log_sum_exp",
                  {lse});
  }

  void attention_gradient(const Node& n, const AttentionGradient& op) {
    const TensorId dout = n.inputs[0], q = n.inputs[1], lse = n.inputs[5];
    const std::size_t rank = b_[q].shape.size();
    const auto last = static_cast<std::int64_t>(rank - 1);
    const std::int64_t keys = b_[n.inputs[2]].shape[rank - 2];
    const TensorId weighted = b_.binary(BinaryKind::Mul, dout, n.inputs[4], n.name + ".weighted");
    const TensorId d = reduce(ReduceKind::Sum, weighted, last, n.name + ".row_sum");
    std::vector<TensorId> dks, dvs;
    TensorId dq = kNoTensor;
    const std::vector<Block> all = blocks(keys, op.block, n.name);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Block& block = all[i];
      const bool single = all.size() == 1;
      const TensorId k = rows(n.inputs[2], rank - 2, block, "k"), v = rows(n.inputs[3], rank - 2, block, "v");
      const TensorId s = scores(q, k, at(n.inputs, 6), op.scale, op.causal, keys, block);
      const TensorId p = b_.binary(BinaryKind::ExpDifference, s, lse, block.name + ".probabilities");
      dvs.push_back(
          into(MatMul{true, false, 1, 1}, {p, dout}, block.name + ".v_gradient", single ? n.outputs[2] : kNoTensor));
      const TensorId dp = b_.one(MatMul{false, true, 1, 1}, {dout, v}, block.name + ".probability_gradient");
      const TensorId centred = b_.binary(BinaryKind::Sub, dp, d, block.name + ".centred");
      const TensorId ds = b_.binary(BinaryKind::Mul, p, centred, block.name + ".score_gradient");
      std::vector<TensorId> operands{ds, k};
      if (dq != kNoTensor) operands.push_back(dq);
      dq = into(MatMul{false, false, op.scale, 1}, operands, block.name + ".q_gradient",
                i + 1 == all.size() ? n.outputs[0] : kNoTensor);
      dks.push_back(into(MatMul{true, false, op.scale, 1}, {ds, q}, block.name + ".k_gradient",
                         single ? n.outputs[1] : kNoTensor));
    }
    if (all.size() == 1) return;
    b_.add_into(Concat{last - 1}, dks, n.name + ".k_gradient", {n.outputs[1]});
    b_.add_into(Concat{last - 1}, dvs, n.name + ".v_gradient", {n.outputs[2]});
  }

  TensorId into(Op op, std::vector<TensorId> inputs, const std::string& name, TensorId existing) {
    if (existing == kNoTensor) return b_.one(std::move(op), std::move(inputs), name);
    b_.add_into(std::move(op), std::move(inputs), name, {existing});
    return existing;
  }

  // ---- Convolution weight gradient as a matrix product ----

  void im2col(const Node& n, const Conv& op) {
    const Shape x = b_[n.inputs[0]].shape, dy = b_[n.inputs[1]].shape;
    const std::int64_t g = op.groups, batch = x[0], points = elements(op.extent),
                       positions = elements(dy) / (dy[0] * dy[1]);
    TensorId columns = b_.one(Unfold{op.extent, op.strides, op.dilations, op.pads_begin, op.pads_end}, {n.inputs[0]},
                              n.name + ".unfold");
    Shape rows_shape{batch, dy[1], positions};
    if (g > 1) {
      columns = b_.view(columns, {batch, g, x[1] / g * points, positions}, n.name + ".unfold_groups");
      rows_shape = {batch, g, dy[1] / g, positions};
    }
    const TensorId rows = b_.view(n.inputs[1], rows_shape, n.name + ".rows");
    const TensorId product = b_.one(MatMul{false, true, 1, 1}, {rows, columns}, n.name + ".product");
    const TensorId sum =
        batch == 1 ? product : b_.one(Reduce{ReduceKind::Sum, {0}, false}, {product}, n.name + ".batch_sum");
    b_.add_into(View{b_[n.outputs[0]].shape}, {sum}, n.name + ".view", {n.outputs[0]});
  }

  const DecomposeOptions& o_;
  std::vector<Node> nodes_;
  Builder b_;
};

}  // namespace

Graph decompose(Graph graph, const DecomposeOptions& options) {
  graph = Decomposer(std::move(graph), options).run();
  return options.fused_updates ? fuse_updates(std::move(graph)) : graph;
}

}  // namespace monet
