#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "monet/onnx/operators.h"

namespace monet {
namespace {

struct Reduction {
  OperandId x;
  Ints axes;
  bool keep = true;
  bool nothing = false;  // an empty list of axes that means none, not all
};

Reduction read_reduction(Converter& c, const OnnxCall& call) {
  Reduction r{.x = c.need(call, 0), .axes = {}, .keep = call.attributes.integer("keepdims", 1) != 0, .nothing = false};
  auto axes = read_axes(c, call, c.rank(r.x));
  if (!axes || axes->empty()) {
    r.nothing = c.rank(r.x) == 0 || call.attributes.integer("noop_with_empty_axes", 0) != 0;
    axes = Ints(c.shape(r.x).size());
    std::iota(axes->begin(), axes->end(), 0);
  }
  r.axes = *axes;
  return r;
}

template <ReduceKind kind>
void reduce(Converter& c, const OnnxCall& call) {
  const Reduction r = read_reduction(c, call);
  if (!r.nothing)
    c.finish(call, Reduce{kind, r.axes, r.keep}, {r.x});
  else if (kind == ReduceKind::SumSquare)
    c.finish(call, Unary{UnaryKind::Square, 0, 0}, {r.x});
  else
    c.finish(call, View{c.shape(r.x)}, {r.x});
}

// `before` each element, a sum, `after` the total
void reduce_between(Converter& c, const OnnxCall& call, std::optional<UnaryKind> before, ReduceKind kind,
                    std::optional<UnaryKind> after) {
  const Reduction r = read_reduction(c, call);
  OperandId x = r.x;
  if (before) x = c.step(call, Unary{*before, 0, 0}, {x}, "each");
  const Ints axes = r.nothing ? Ints{} : r.axes;
  if (!after) {
    c.finish(call, Reduce{kind, axes, r.keep}, {x});
    return;
  }
  x = c.step(call, Reduce{kind, axes, r.keep}, {x}, "total");
  c.finish(call, Unary{*after, 0, 0}, {x});
}

void reduce_l1(Converter& c, const OnnxCall& call) {
  reduce_between(c, call, UnaryKind::Abs, ReduceKind::Sum, std::nullopt);
}
void reduce_l2(Converter& c, const OnnxCall& call) {
  reduce_between(c, call, std::nullopt, ReduceKind::SumSquare, UnaryKind::Sqrt);
}
void reduce_log_sum(Converter& c, const OnnxCall& call) {
  reduce_between(c, call, std::nullopt, ReduceKind::Sum, UnaryKind::Log);
}

// max + log Σ exp(x - max), so that nothing overflows
void reduce_log_sum_exp(Converter& c, const OnnxCall& call) {
  const Reduction r = read_reduction(c, call);
  const Ints axes = r.nothing ? Ints{} : r.axes;
  const OperandId top = c.step(call, Reduce{ReduceKind::Max, axes, true}, {r.x}, "max");
  const OperandId raised = c.step(call, Binary{BinaryKind::ExpDifference}, {r.x, top}, "exp");
  const OperandId total = c.step(call, Reduce{ReduceKind::Sum, axes, true}, {raised}, "total");
  const OperandId log = c.step(call, Unary{UnaryKind::Log, 0, 0}, {total}, "log");
  if (r.keep) {
    c.finish(call, Binary{BinaryKind::Add}, {top, log});
    return;
  }
  const OperandId sum = c.step(call, Binary{BinaryKind::Add}, {top, log}, "sum");
  Shape shape;
  for (std::size_t i = 0; i < c.shape(r.x).size(); ++i)
    if (std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(i)) == axes.end())
      shape.push_back(c.shape(r.x)[i]);
  c.finish(call, View{shape}, {sum});
}

// Exporters multiply the sizes of a shape; other products are rare.
void reduce_product(Converter& c, const OnnxCall& call) {
  const Reduction r = read_reduction(c, call);
  if (!c.knows(r.x) || std::ssize(r.axes) != c.rank(r.x) || r.nothing) throw UnsupportedUse("a product of activations");
  double product = 1;
  for (const double value : c.numbers(r.x, "data")) product *= value;
  c.constant(call.out.at(0), Shape(r.keep ? c.shape(r.x).size() : 0, 1), c[r.x].format.element, {product});
}

}  // namespace

std::optional<Ints> read_axes(Converter& converter, const OnnxCall& call, std::int64_t rank) {
  std::optional<Ints> axes;
  if (call.has_input(1))
    axes = converter.integers(call.in[1], "axes");
  else
    axes = call.attributes.integers("axes");
  if (!axes) return axes;
  for (std::int64_t& axis : *axes) axis = normal_axis(axis, rank);
  std::sort(axes->begin(), axes->end());
  if (std::adjacent_find(axes->begin(), axes->end()) != axes->end()) throw ModelError("an axis is named twice");
  return axes;
}

std::span<const OperatorRule> reduction_rules() {
  static constexpr auto kRules = std::to_array<OperatorRule>({
      {"ReduceSum", reduce<ReduceKind::Sum>},
      {"ReduceMean", reduce<ReduceKind::Mean>},
      {"ReduceMax", reduce<ReduceKind::Max>},
      {"ReduceMin", reduce<ReduceKind::Min>},
      {"ReduceSumSquare", reduce<ReduceKind::SumSquare>},
      {"ReduceL1", reduce_l1},
      {"ReduceL2", reduce_l2},
      {"ReduceLogSum", reduce_log_sum},
      {"ReduceLogSumExp", reduce_log_sum_exp},
      {"ReduceProd", reduce_product},
  });
  return kRules;
}

}  // namespace monet
