#include "monet/verbs/fusemax_graph.h"

#include <fmt/format.h>

#include <algorithm>

#include "monet/graph/builder.h"

namespace monet {
namespace {

constexpr Format kHalf{Element::F16};
constexpr std::int64_t kSide = 256;           // of the array
constexpr std::int64_t kBytes = 2;            // of a number
constexpr std::int64_t kAhead = 24;           // tiles that operands are fetched for: two score tiles and more
constexpr double kLowest = -60000;            // where running maxima begin
constexpr std::int64_t kScoreColumns = 1024;  // of scores that a product makes or reads at once

// Nodes and what the plan says of them, side by side.
class Writer {
 public:
  explicit Writer(std::string name) : b_(std::move(name)) {}

  Builder& builder() { return b_; }
  TensorId input(const std::string& name, Shape shape) {
    return b_.source(name, std::move(shape), kHalf, Category::Input);
  }
  TensorId constant(const std::string& name, Shape shape, double value) {
    return b_.source(name, std::move(shape), kHalf, Category::Constant, Splat{value});
  }

  struct Place {
    std::string core{};
    std::vector<plan::Split> tiles{};
    bool at_lanes = false;
  };
  TensorId node(Op op, std::vector<TensorId> inputs, const std::string& name, const Place& place) {
    const TensorId out = b_.one(std::move(op), std::move(inputs), name);
    plan_.nodes.push_back({.node = name, .cores = {place.core}, .tiles = place.tiles, .at_lanes = place.at_lanes});
    if (!is_grouped_) plan_.groups.push_back({.order = order_});
    is_grouped_ = true;
    plan_.groups.back().nodes.push_back(name);
    return out;
  }
  void begin_group(plan::Order order) {
    order_ = order;
    is_grouped_ = false;
  }
  void output(TensorId t) { b_.graph().outputs.push_back(t); }

  FusemaxWork finish() && {
    plan_.prefetch = kAhead;
    return {std::move(b_).finish(), std::move(plan_)};
  }

 private:
  Builder b_;
  plan::Plan plan_;
  plan::Order order_ = plan::Order::DepthFirst;
  bool is_grouped_ = false;
};

Reduce over_keys(ReduceKind kind) { return {.kind = kind, .axes = {1}, .keep = true}; }

// One block of keys after the other for the same rows. Names are those of FuseMax's einsums.
class Cascade {
 public:
  Cascade(const CascadeShape& shape, Writer& w) : s_(shape), w_(w) {
    lowest_ = w_.constant("RM.begin", {1, 1}, kLowest);
    zero_ = w_.constant("RD.begin", {1, 1}, 0);
    zeros_ = w_.constant("RNV.begin", {1, s_.head_size}, 0);
  }

  void head(std::int64_t h) {
    const std::int64_t blocks = s_.length / s_.side;
    std::vector<TensorId> k, v;
    for (std::int64_t m = 0; m < blocks; ++m) {
      k.push_back(w_.input(fmt::format("h{}.k{}.K", h, m), {s_.side, s_.head_size}));
      v.push_back(w_.input(fmt::format("h{}.k{}.V", h, m), {s_.side, s_.head_size}));
    }
    for (std::int64_t r = 0; r < blocks / s_.row_blocks; ++r) {
      const TensorId q = w_.input(fmt::format("h{}.r{}.Q", h, r), {s_.row_blocks * s_.side, s_.head_size});
      max_ = lowest_;
      sum_ = zero_;
      values_ = zeros_;
      for (std::int64_t m = 0; m < blocks; ++m)
        block(q, k[static_cast<std::size_t>(m)], v[static_cast<std::size_t>(m)], fmt::format("h{}.r{}.k{}", h, r, m),
              m + 1 == blocks);
    }
  }

 private:
  Writer::Place at(const char* core, const char* loop, bool at_lanes = false) const {
    return {core, {{loop, s_.row_blocks}}, at_lanes};
  }

  void block(TensorId q, TensorId k, TensorId v, const std::string& name, bool is_last) {
    // On the array a tile's work on the lanes hides behind its neighbours'; else whole passes over scores wait for
    // products.
    w_.begin_group(s_.on_array ? plan::Order::Interleaved : plan::Order::Pipelined);
    const char* scores_on = s_.on_array ? "array" : "vector";
    const auto lanes = [&](const char* loop) { return at("array", loop, s_.on_array); };
    const TensorId qk = w_.node(MatMul{.trans_b = true}, {q, k}, name + ".QK", lanes("D"));
    const TensorId lm = w_.node(over_keys(ReduceKind::Max), {qk}, name + ".LM", at(scores_on, "A0"));
    const TensorId rm = w_.node(Binary{BinaryKind::Max}, {lm, max_}, name + ".RM", at("vector", "A0"));
    const TensorId sln = w_.node(Binary{BinaryKind::ExpDifference}, {qk, rm}, name + ".SLN",
                                 s_.on_array ? lanes("A0") : at("vector", "A0"));
    const TensorId sld = w_.node(over_keys(ReduceKind::Sum), {sln}, name + ".SLD", at(scores_on, "A0"));
    const TensorId slnv = w_.node(MatMul{}, {sln, v}, name + ".SLNV", at("array", "D"));
    const TensorId prm = w_.node(Binary{BinaryKind::ExpDifference}, {max_, rm}, name + ".PRM", at("vector", "A0"));
    const TensorId spd = w_.node(Binary{BinaryKind::Mul}, {prm, sum_}, name + ".SPD", at("vector", "A0"));
    sum_ = w_.node(Binary{BinaryKind::Add}, {spd, sld}, name + ".RD", at("vector", "A0"));
    const TensorId spnv = w_.node(Binary{BinaryKind::Mul}, {values_, prm}, name + ".SPNV", at("vector", "A0"));
    values_ = w_.node(Binary{BinaryKind::Add}, {slnv, spnv}, name + ".RNV", at("vector", "A0"));
    max_ = rm;
    if (is_last) w_.output(w_.node(Binary{BinaryKind::Div}, {values_, sum_}, name + ".AV", at("vector", "A0")));
  }

  const CascadeShape s_;
  Writer& w_;
  TensorId lowest_{}, zero_{}, zeros_{};
  TensorId max_{}, sum_{}, values_{};
};

// Blocks of rows by all weights, if those fit: as many rows as there is room for three times. Else blocks of rows stay,
// and columns of weights pass by them.
std::vector<plan::Split> product_tiles(std::int64_t tokens, std::int64_t in, std::int64_t out,
                                       std::int64_t buffer_bytes) {
  std::int64_t rows = std::min(kSide, tokens);
  const auto grow = [&](const auto& bytes_of) {
    while (2 * rows <= tokens && bytes_of(2 * rows) <= buffer_bytes) rows *= 2;
  };
  if ((kSide + out) * in * kBytes <= buffer_bytes) {
    grow([&](std::int64_t r) { return (3 * r * (in + out) + in * out) * kBytes; });
    return {{"D", tokens / rows}};
  }
  grow([&](std::int64_t r) { return (r + kSide) * in * kBytes; });
  // In parts of a mebibyte: the next ones find room beside them.
  return {{"D", tokens / rows},
          {"K", std::max<std::int64_t>(1, out / kSide)},
          {"C", std::max<std::int64_t>(1, in * kSide * kBytes >> 20)}};
}

}  // namespace

FusemaxWork cascade_work(const CascadeShape& shape) {
  Writer w("cascade");
  Cascade cascade(shape, w);
  for (std::int64_t h = 0; h < shape.heads; ++h) cascade.head(h);
  return std::move(w).finish();
}

std::int64_t row_blocks_of(const CascadeShape& s, std::int64_t buffer_bytes) {
  const std::int64_t fixed = 2 * s.side * s.head_size * kBytes;
  const std::int64_t a_row = (2 * s.head_size + 2 + (s.on_array ? 0 : 2 * s.side)) * kBytes;
  const std::int64_t fit = std::max<std::int64_t>(1, (buffer_bytes - fixed) / (a_row * s.side)),
                     all = s.length / s.side;
  std::int64_t best = 1;
  for (std::int64_t blocks = 1; blocks <= std::min(fit, all); ++blocks)
    if (all % blocks == 0) best = blocks;
  return best;
}

FusemaxWork rows_work(const RowsShape& s) {
  Writer w(s.is_fused ? "flat" : "unfused");
  const std::int64_t tiles = s.length / s.rows,
                     products = s.is_fused ? tiles : std::max<std::int64_t>(1, s.length / kSide);
  const auto name = [](std::int64_t h, const char* what) { return fmt::format("h{}.{}", h, what); };
  const auto on_vector = [&] { return Writer::Place{"vector", {{"A0", tiles}}, false}; };
  const std::int64_t columns = std::max<std::int64_t>(1, s.length / kScoreColumns);
  std::vector<TensorId> scores, shares;
  const auto product = [&](std::int64_t h) {
    const TensorId q = w.input(name(h, "Q"), {s.length, s.head_size}),
                   k = w.input(name(h, "K"), {s.length, s.head_size});
    scores.push_back(
        w.node(MatMul{.trans_b = true}, {q, k}, name(h, "QK"), {"array", {{"D", products}, {"K", columns}}}));
  };
  const auto softmax = [&](std::int64_t h) {
    const TensorId x = scores[static_cast<std::size_t>(h)];
    const TensorId max = w.node(over_keys(ReduceKind::Max), {x}, name(h, "M"), on_vector());
    const TensorId e = w.node(Binary{BinaryKind::ExpDifference}, {x, max}, name(h, "SN"), on_vector());
    const TensorId sum = w.node(over_keys(ReduceKind::Sum), {e}, name(h, "SD"), on_vector());
    shares.push_back(w.node(Binary{BinaryKind::Div}, {e, sum}, name(h, "A"), on_vector()));
  };
  const auto values = [&](std::int64_t h) {
    const TensorId v = w.input(name(h, "V"), {s.length, s.head_size});
    w.output(w.node(MatMul{}, {shares[static_cast<std::size_t>(h)], v}, name(h, "AV"),
                    {"array", {{"D", products}, {"C", columns}}}));
  };
  const auto each = [&](const auto& step, plan::Order order) {
    for (std::int64_t h = 0; h < s.heads; ++h) {
      w.begin_group(order);
      step(h);
    }
  };
  if (s.is_fused) {
    each([&](std::int64_t h) { product(h), softmax(h), values(h); }, plan::Order::Pipelined);
  } else {
    each(product, plan::Order::DepthFirst);
    each(softmax, plan::Order::Interleaved);
    each(values, plan::Order::DepthFirst);
  }
  return std::move(w).finish();
}

FusemaxWork products_work(const ProductsShape& s) {
  Builder b("products");
  FusemaxWork work;
  const auto product = [&](const char* name, std::int64_t in, std::int64_t out) {
    const TensorId x = b.source(fmt::format("{}.x", name), {s.tokens, in}, kHalf, Category::Input);
    const TensorId weight = b.source(fmt::format("{}.weight", name), {in, out}, kHalf, Category::Weight);
    b.graph().outputs.push_back(b.one(MatMul{}, {x, weight}, name));
    work.plan.groups.push_back({.nodes = {name}});
    work.plan.nodes.push_back(
        {.node = name, .cores = {"array"}, .tiles = product_tiles(s.tokens, in, out, s.buffer_bytes)});
  };
  for (const char* name : {"Q", "K", "V"}) product(name, s.width, s.heads_width);
  product("Z", s.heads_width, s.width);
  product("FFN1", s.width, s.hidden);
  product("FFN2", s.hidden, s.width);
  work.plan.prefetch = kAhead;
  work.graph = std::move(b).finish();
  return work;
}

}  // namespace monet
