// Operators to work. Counts of element functions follow the plain formula of each operator; the table in `unary_counts`
// and the comments give them. Adding a constant or subtracting counts as Add; a maximum or comparison as Compare.
#include "monet/graph/lower.h"

#include <algorithm>

#include "monet/base/assert.h"
#include "monet/base/overloaded.h"
#include "monet/graph/steps.h"

namespace monet {
namespace {

using work::ElementFunction;
using work::FunctionCount;
using work::LoopNest;
using work::Operand;
using work::Role;
using work::VectorWork;
using F = ElementFunction;

std::uint64_t count_of(const Tensor& t) { return static_cast<std::uint64_t>(elements(t.shape)); }

// ---- Loop nests ----

class NestBuilder {
 public:
  std::size_t dimension(std::string name, std::int64_t size) {
    nest_.dimensions.push_back({std::move(name), size});
    return nest_.dimensions.size() - 1;
  }
  void operand(Role role, const Tensor& t, std::vector<work::Axis> axes) {
    Operand o{role, t.format, t.format, std::move(axes)};
    if (role == Role::Output && is_float(t.format.element) && bits(t.format.element) < 32)
      o.accumulator = Format{Element::F32};
    nest_.operands.push_back(std::move(o));
  }
  LoopNest finish() { return std::move(nest_); }

 private:
  LoopNest nest_;
};

const std::string& spatial_name(bool kernel, std::size_t axis, std::size_t rank) {
  static const std::string kOut[] = {"OZ", "OY", "OX"}, kKernel[] = {"FZ", "FY", "FX"};
  return (kernel ? kKernel : kOut)[3 - rank + axis];
}

LoopNest lower_conv(const Graph& g, const Node& node, const Conv& op) {
  const Tensor &first = g[node.inputs[0]], &second = g[node.inputs[1]], &out = g[node.outputs[0]];
  const Tensor& x = op.kind == ConvKind::DataGradient ? out : first;
  const Tensor& w = op.kind == ConvKind::WeightGradient ? out : second;
  const Tensor& y = op.kind == ConvKind::Forward ? out : op.kind == ConvKind::DataGradient ? first : second;
  const std::size_t spatial = x.shape.size() - 2;
  MONET_ASSERT(spatial <= 3, "at most three spatial dimensions");
  NestBuilder nest;
  const std::int64_t groups = op.groups, k_size = w.shape[0] / groups, c_size = w.shape[1];
  const std::size_t b = nest.dimension("B", x.shape[0]);
  const std::size_t grp = groups > 1 ? nest.dimension("G", groups) : 0;
  const std::size_t k = nest.dimension("K", k_size), c = nest.dimension("C", c_size);
  const auto channel = [&](std::size_t d, std::int64_t size) {
    work::Axis axis{size * groups, 0, {{d, 1}}};
    if (groups > 1) axis.terms.insert(axis.terms.begin(), {grp, size});
    return axis;
  };
  std::vector<work::Axis> xa{{x.shape[0], 0, {{b, 1}}}, channel(c, c_size)};
  std::vector<work::Axis> wa{channel(k, k_size), {c_size, 0, {{c, 1}}}};
  std::vector<work::Axis> ya{{y.shape[0], 0, {{b, 1}}}, channel(k, k_size)};
  std::vector<std::size_t> outs, kernels;
  // A data gradient adds what each output position gives to the positions it has read. Where these are fewer (a tile of
  // rows, with the outputs around it) and none are skipped, each is rather gathered from the outputs that have read it.
  const auto gathers = [&](std::size_t i) {
    return op.kind == ConvKind::DataGradient && op.strides[i] == 1 && x.shape[i + 2] < y.shape[i + 2];
  };
  for (std::size_t i = 0; i < spatial; ++i)
    outs.push_back(nest.dimension(spatial_name(false, i, spatial), gathers(i) ? x.shape[i + 2] : y.shape[i + 2]));
  for (std::size_t i = 0; i < spatial; ++i)
    kernels.push_back(nest.dimension(spatial_name(true, i, spatial), w.shape[i + 2]));
  for (std::size_t i = 0; i < spatial; ++i) {
    wa.push_back({w.shape[i + 2], 0, {{kernels[i], 1}}});
    if (gathers(i)) {  // o = i + pad - d·f, with the kernel points counted from the last
      const std::int64_t offset = op.pads_begin[i] - op.dilations[i] * (w.shape[i + 2] - 1);
      ya.push_back({y.shape[i + 2], offset, {{outs[i], 1}, {kernels[i], op.dilations[i]}}});
      xa.push_back({x.shape[i + 2], 0, {{outs[i], 1}}});
      continue;
    }
    ya.push_back({y.shape[i + 2], 0, {{outs[i], 1}}});
    xa.push_back({x.shape[i + 2], -op.pads_begin[i], {{outs[i], op.strides[i]}, {kernels[i], op.dilations[i]}}});
  }
  switch (op.kind) {
    case ConvKind::Forward:
      nest.operand(Role::Input, x, xa);
      nest.operand(Role::Weight, w, wa);
      break;
    case ConvKind::DataGradient:
      nest.operand(Role::Input, y, ya);
      nest.operand(Role::Weight, w, wa);
      break;
    case ConvKind::WeightGradient:
      nest.operand(Role::Input, x, xa);
      nest.operand(Role::Weight, y, ya);
      break;
  }
  if (node.inputs.size() > 2 && node.inputs[2] != kNoTensor)
    nest.operand(Role::Initial, g[node.inputs[2]], {op.kind == ConvKind::Forward ? wa[0] : channel(c, c_size)});
  nest.operand(Role::Output, out, op.kind == ConvKind::Forward ? ya : op.kind == ConvKind::DataGradient ? xa : wa);
  return nest.finish();
}

LoopNest lower_matmul(const Graph& g, const Node& node, const MatMul& op) {
  const Tensor &a = g[node.inputs[0]], &b = g[node.inputs[1]], &y = g[node.outputs[0]];
  NestBuilder nest;
  const std::size_t rank = y.shape.size();
  const auto extent = [&](const Tensor& t, std::size_t axis) {  // batch axes are aligned at the end
    const std::size_t lead = rank - t.shape.size();
    return axis < lead ? 1 : t.shape[axis - lead];
  };
  // Adjacent batch axes with the same pattern of broadcasting are one dimension.
  struct Batch {
    std::int64_t size;
    bool in_a, in_b;
  };
  std::vector<Batch> batches;
  for (std::size_t i = 0; i + 2 < rank; ++i) {
    const Batch next{y.shape[i], extent(a, i) > 1, extent(b, i) > 1};
    if (next.size == 1) continue;
    if (!batches.empty() && batches.back().in_a == next.in_a && batches.back().in_b == next.in_b)
      batches.back().size *= next.size;
    else
      batches.push_back(next);
  }
  std::vector<work::Axis> aa, ba, ya;
  for (std::size_t i = 0; i < batches.size(); ++i) {
    const std::size_t d = nest.dimension(i == 0 ? "B" : "B" + std::to_string(i + 1), batches[i].size);
    const work::Axis axis{batches[i].size, 0, {{d, 1}}};
    if (batches[i].in_a) aa.push_back(axis);
    if (batches[i].in_b) ba.push_back(axis);
    ya.push_back(axis);
  }
  const std::int64_t rows = y.shape[rank - 2], columns = y.shape[rank - 1];
  const std::int64_t inner = a.shape[a.shape.size() - (op.trans_a ? 2 : 1)];
  const std::size_t d = nest.dimension("D", rows), k = nest.dimension("K", columns), c = nest.dimension("C", inner);
  const work::Axis da{rows, 0, {{d, 1}}}, ka{columns, 0, {{k, 1}}}, ca{inner, 0, {{c, 1}}};
  aa.insert(aa.end(), {op.trans_a ? ca : da, op.trans_a ? da : ca});
  ba.insert(ba.end(), {op.trans_b ? ka : ca, op.trans_b ? ca : ka});
  ya.insert(ya.end(), {da, ka});
  nest.operand(Role::Input, a, aa);
  nest.operand(Role::Weight, b, ba);
  if (node.inputs.size() > 2 && node.inputs[2] != kNoTensor) {
    const Tensor& initial = g[node.inputs[2]];
    std::vector<work::Axis> ia;  // a bias row, or the whole result
    if (elements(initial.shape) == columns)
      ia = {ka};
    else if (elements(initial.shape) == elements(y.shape))
      ia = ya;
    else if (elements(initial.shape) == rows)
      ia = {da};
    else if (elements(initial.shape) != 1)
      ia = {da, ka};
    nest.operand(Role::Initial, initial, ia);
  }
  nest.operand(Role::Output, y, ya);
  return nest.finish();
}

// ---- Vector work ----

// Evaluations per element of each function, and of its gradient.
std::vector<FunctionCount> unary_counts(UnaryKind kind) {
  switch (kind) {
    case UnaryKind::Relu: return {{F::Compare, 1}};
    case UnaryKind::LeakyRelu: return {{F::Compare, 1}, {F::Multiply, 1}};
    case UnaryKind::Gelu: return {{F::Multiply, 3}, {F::Erf, 1}, {F::Add, 1}};       // x·½·(1+erf(x/√2))
    case UnaryKind::GeluTanh: return {{F::Multiply, 6}, {F::Tanh, 1}, {F::Add, 2}};  // x·½·(1+tanh(c·(x+a·x³)))
    case UnaryKind::Silu: return {{F::Exp, 1}, {F::Add, 1}, {F::Divide, 1}, {F::Negate, 1}};  // x/(1+e^-x)
    case UnaryKind::Sigmoid: return {{F::Exp, 1}, {F::Add, 1}, {F::Divide, 1}, {F::Negate, 1}};
    case UnaryKind::Tanh: return {{F::Tanh, 1}};
    case UnaryKind::HardSwish: return {{F::Add, 1}, {F::Compare, 2}, {F::Multiply, 2}};
    case UnaryKind::HardSigmoid: return {{F::Multiply, 1}, {F::Add, 1}, {F::Compare, 2}};
    case UnaryKind::Clip: return {{F::Compare, 2}};
    case UnaryKind::Erf: return {{F::Erf, 1}};
    case UnaryKind::Exp: return {{F::Exp, 1}};
    case UnaryKind::Log: return {{F::Log, 1}};
    case UnaryKind::Sqrt: return {{F::Sqrt, 1}};
    case UnaryKind::Rsqrt: return {{F::Sqrt, 1}, {F::Divide, 1}};
    case UnaryKind::Reciprocal: return {{F::Divide, 1}};
    case UnaryKind::Neg: return {{F::Negate, 1}};
    case UnaryKind::Abs: return {{F::Compare, 1}};
    case UnaryKind::Square: return {{F::Multiply, 1}};
    case UnaryKind::Sin:
    case UnaryKind::Cos: return {{F::Sine, 1}};
    case UnaryKind::Softplus: return {{F::Exp, 1}, {F::Add, 1}, {F::Log, 1}};
    case UnaryKind::Sign: return {{F::Compare, 1}};
    case UnaryKind::Floor:
    case UnaryKind::Ceil:
    case UnaryKind::Round: return {{F::Round, 1}};
    case UnaryKind::Not: return {{F::Logic, 1}};
    case UnaryKind::IsFinite: return {{F::Compare, 1}};
  }
  return {};
}

std::vector<FunctionCount> unary_gradient_counts(const UnaryGradient& op) {
  switch (op.kind) {
    case UnaryKind::Relu:
    case UnaryKind::Clip:
      return op.from == Source::Mask ? std::vector<FunctionCount>{{F::Select, 1}}
                                     : std::vector<FunctionCount>{{F::Compare, 1}, {F::Select, 1}};
    case UnaryKind::LeakyRelu:
    case UnaryKind::HardSigmoid: return {{F::Multiply, 1}, {F::Select, 1}};
    case UnaryKind::Gelu: return {{F::Erf, 1}, {F::Exp, 1}, {F::Multiply, 6}, {F::Add, 2}};  // Φ(x)+x·φ(x), times dy
    case UnaryKind::GeluTanh: return {{F::Tanh, 1}, {F::Multiply, 11}, {F::Add, 5}};
    case UnaryKind::Silu:
      return {{F::Exp, 1}, {F::Negate, 1}, {F::Divide, 1}, {F::Multiply, 3}, {F::Add, 3}};  // σ(1+x(1-σ))
    case UnaryKind::Sigmoid: return {{F::Multiply, 2}, {F::Add, 1}};                        // y(1-y)
    case UnaryKind::Tanh: return {{F::Multiply, 2}, {F::Add, 1}};                           // 1-y²
    case UnaryKind::HardSwish: return {{F::Compare, 2}, {F::Select, 2}, {F::Multiply, 2}, {F::Add, 1}};
    case UnaryKind::Erf: return {{F::Exp, 1}, {F::Multiply, 3}};  // 2/√π e^(-x²)
    case UnaryKind::Exp:
    case UnaryKind::Square: return {{F::Multiply, op.kind == UnaryKind::Exp ? 1u : 2u}};
    case UnaryKind::Log: return {{F::Divide, 1}};
    case UnaryKind::Sqrt: return {{F::Divide, 1}, {F::Multiply, 1}};        // dy/(2y)
    case UnaryKind::Rsqrt: return {{F::Multiply, 4}};                       // -½y³
    case UnaryKind::Reciprocal: return {{F::Multiply, 2}, {F::Negate, 1}};  // -y²
    case UnaryKind::Abs: return {{F::Compare, 1}, {F::Multiply, 1}};
    case UnaryKind::Sin:
    case UnaryKind::Cos: return {{F::Sine, 1}, {F::Multiply, 1}};
    case UnaryKind::Softplus: return {{F::Exp, 1}, {F::Add, 1}, {F::Divide, 1}, {F::Multiply, 1}};
    case UnaryKind::Neg:
    case UnaryKind::Sign:
    case UnaryKind::Floor:
    case UnaryKind::Ceil:
    case UnaryKind::Round:
    case UnaryKind::Not:
    case UnaryKind::IsFinite: return {};
  }
  return {};
}

std::vector<FunctionCount> binary_counts(BinaryKind kind) {
  switch (kind) {
    case BinaryKind::Add:
    case BinaryKind::Sub: return {{F::Add, 1}};
    case BinaryKind::Mul: return {{F::Multiply, 1}};
    case BinaryKind::Div: return {{F::Divide, 1}};
    case BinaryKind::Pow: return {{F::Power, 1}};
    case BinaryKind::Mod: return {{F::Divide, 1}, {F::Round, 1}, {F::Multiply, 1}, {F::Add, 1}};
    case BinaryKind::ExpDifference: return {{F::Add, 1}, {F::Exp, 1}};
    case BinaryKind::Max:
    case BinaryKind::Min:
    case BinaryKind::Equal:
    case BinaryKind::Less:
    case BinaryKind::LessEqual:
    case BinaryKind::Greater:
    case BinaryKind::GreaterEqual: return {{F::Compare, 1}};
    case BinaryKind::And:
    case BinaryKind::Or:
    case BinaryKind::Xor: return {{F::Logic, 1}};
  }
  return {};
}

std::vector<FunctionCount> norm_counts(const NormPart& op) {  // per element of the first operand
  switch (op.pass) {
    case NormPass::Statistics:
      return op.kind == NormKind::Rms ? std::vector<FunctionCount>{{F::Multiply, 1}, {F::Add, 1}}
                                      : std::vector<FunctionCount>{{F::Multiply, 1}, {F::Add, 2}};
    case NormPass::RunningUpdate: return {{F::Multiply, 5}, {F::Add, 2}};  // two moving averages, one with n/(n-1)
    case NormPass::Apply: return {{F::Add, 2}, {F::Multiply, 2}};          // (x-μ)·r·γ+β
    case NormPass::ParameterSums: return {{F::Add, 3}, {F::Multiply, 2}};  // Σdy·x̂, Σdy
    case NormPass::GroupSums: return {{F::Add, 3}, {F::Multiply, 3}};
    case NormPass::InputGradient: return {{F::Add, 3}, {F::Multiply, 5}};  // r/n·(n·dy·γ - s1 - x̂·s2)
  }
  return {};
}

class VectorBuilder {
 public:
  VectorBuilder(const Graph& g, const Node& node) : g_(g), node_(node) {
    const Tensor* widest = nullptr;
    const auto consider = [&](TensorId t) {
      if (t != kNoTensor && (!widest || count_of(g_[t]) > count_of(*widest))) widest = &g_[t];
    };
    for (const TensorId t : node.outputs) consider(t);
    for (const TensorId t : node.inputs) consider(t);
    if (widest) w_.iteration = widest->shape;
    w_.reduced.assign(w_.iteration.size(), false);
    for (const TensorId t : node.inputs)
      if (t != kNoTensor) w_.reads.push_back({count_of(g_[t]), g_[t].format});
    for (const TensorId t : node.outputs)
      if (t != kNoTensor) w_.writes.push_back({count_of(g_[t]), g_[t].format});
  }

  const Tensor& in(std::size_t i) const { return g_[node_.inputs[i]]; }
  const Tensor& out(std::size_t i = 0) const {
    for (const TensorId t : node_.outputs)
      if (t != kNoTensor && i-- == 0) return g_[t];
    MONET_ASSERT(false, "a node without outputs");
  }
  void functions(const std::vector<FunctionCount>& per_element, std::uint64_t times) {
    for (const FunctionCount& f : per_element) {
      const auto same = std::find_if(w_.functions.begin(), w_.functions.end(),
                                     [&](const FunctionCount& o) { return o.function == f.function; });
      if (same == w_.functions.end())
        w_.functions.push_back({f.function, f.count * times});
      else
        same->count += f.count * times;
    }
  }
  void per_element(const std::vector<FunctionCount>& counts) { functions(counts, count_of(out())); }
  VectorWork& work() { return w_; }

 private:
  const Graph& g_;
  const Node& node_;
  VectorWork w_;
};

void lower_norm(VectorBuilder& v, const NormPart& op) {
  const Tensor& x = v.in(0);
  v.functions(norm_counts(op), count_of(x));
  VectorWork& w = v.work();
  const auto reduce_where = [&](auto inside) {
    for (std::size_t i = 0; i < w.reduced.size(); ++i) w.reduced[i] = inside(i);
  };
  const bool layer = op.kind == NormKind::Layer || op.kind == NormKind::Rms;
  const auto normalised = [&](std::size_t i) {  // which dimensions are normalised together
    if (layer) return static_cast<std::int64_t>(i) >= op.axis;
    return op.kind == NormKind::Group ? i >= 1 : i != 1;
  };
  if (op.pass == NormPass::Statistics) {
    v.functions({{F::Multiply, 2}, {F::Add, 2}, {F::Sqrt, 1}, {F::Divide, 1}}, count_of(v.out()));  // Σ/n, ε, 1/√
    reduce_where(normalised);
  }
  if (op.pass == NormPass::GroupSums) reduce_where(normalised);
  if (op.pass == NormPass::ParameterSums)
    reduce_where([&](std::size_t i) { return layer ? static_cast<std::int64_t>(i) < op.axis : i != 1; });
}

void lower_reduce(VectorBuilder& v, const Reduce& op) {
  const std::uint64_t n = count_of(v.in(0));
  v.work().iteration = v.in(0).shape;  // not the output's, which has as many elements where the axes have extent 1
  v.work().reduced.assign(v.work().iteration.size(), false);
  for (const std::int64_t axis : op.axes) v.work().reduced[static_cast<std::size_t>(axis)] = true;
  switch (op.kind) {
    case ReduceKind::Mean: v.functions({{F::Multiply, 1}}, count_of(v.out())); [[fallthrough]];
    case ReduceKind::Sum: return v.functions({{F::Add, 1}}, n);
    case ReduceKind::Max:
    case ReduceKind::Min: return v.functions({{F::Compare, 1}}, n);
    case ReduceKind::SumSquare: return v.functions({{F::Multiply, 1}, {F::Add, 1}}, n);
  }
}

// A slice of whole rows of memory needs no copy: it is contiguous from the first dimension it cuts.
bool is_contiguous_part(const Shape& part, const Shape& whole, const Ints& steps) {
  bool cut = false;
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (part[i] > 1 && !steps.empty() && steps[i] != 1) return false;
    if (cut && part[i] != whole[i]) return false;
    if (part[i] > 1) cut = true;
  }
  return true;
}

VectorWork lower_vector(const Graph& g, const Node& node);

// All that the steps do, one after the other: what one makes for the next goes through the core's memory, too.
void lower_steps(VectorBuilder& v, const Graph& g, const Node& node, const Steps& op) {
  std::vector<const Tensor*> operands;
  for (const TensorId t : node.inputs) operands.push_back(&g[t]);
  Graph values;  // by number
  values.tensors = step_values(op, operands);
  VectorWork& w = v.work();
  w.iteration = values.tensors.back().shape;
  w.reduced.assign(w.iteration.size(), false);
  w.reads.clear();
  w.writes.clear();
  for (std::size_t i = 0; i < op.program.size(); ++i) {
    Node step;
    step.op = whole_op(op.program[i].op);
    for (const std::int32_t in : op.program[i].inputs)
      if (in != kNoValue) step.inputs.push_back(TensorId{static_cast<std::uint32_t>(in)});
    step.outputs = {TensorId{static_cast<std::uint32_t>(operands.size() + i)}};
    const VectorWork one = lower_vector(values, step);
    v.functions(one.functions, 1);
    w.reads.insert(w.reads.end(), one.reads.begin(), one.reads.end());
    // The first operand of the next step comes in on the first way again (cost/vector.h).
    if (one.reads.size() % 2 == 1) w.reads.push_back({0, one.reads.back().format});
    w.writes.insert(w.writes.end(), one.writes.begin(), one.writes.end());
  }
}

VectorWork lower_vector(const Graph& g, const Node& node) {
  VectorBuilder v(g, node);
  VectorWork& w = v.work();
  const auto mask_compare = [&] { return node.outputs.size() > 1 && node.outputs[1] != kNoTensor; };
  const auto move = [&](bool permutes = false) { w.permutes = permutes; };
  std::visit(
      overloaded{
          [&](const Unary& op) {
            v.per_element(unary_counts(op.kind));
            if (mask_compare()) v.per_element({{F::Compare, 1}});
          },
          [&](const UnaryGradient& op) { v.per_element(unary_gradient_counts(op)); },
          [&](const Binary& op) { v.per_element(binary_counts(op.kind)); },
          [&](const Sum&) {
            v.per_element({{F::Add, node.inputs.size() - 1}});
          },
          [&](const Select&) {
            v.per_element({{F::Select, 1}});
          },
          [&](const Cast&) {
            v.per_element({{F::Convert, 1}});
          },
          [&](const Dropout&) {
            v.per_element({{F::Random, 1}, {F::Compare, 1}, {F::Multiply, 1}, {F::Select, 1}});
          },
          [&](const DropoutGradient&) {
            v.per_element({{F::Multiply, 1}, {F::Select, 1}});
            if (node.inputs.size() < 2 || node.inputs[1] == kNoTensor) v.per_element({{F::Random, 1}, {F::Compare, 1}});
          },
          [&](const Steps& op) { lower_steps(v, g, node, op); },
          [&](const Reduce& op) { lower_reduce(v, op); },
          [&](const Pool& op) {
            const auto window = static_cast<std::uint64_t>(elements(op.kernel));
            v.functions({{op.kind == PoolKind::Max ? F::Compare : F::Add, window}}, count_of(v.out()));
            if (op.kind == PoolKind::Average) v.functions({{F::Multiply, 1}}, count_of(v.out()));
          },
          [&](const PoolGradient& op) {
            const std::uint64_t n = count_of(v.in(0));
            if (op.kind == PoolKind::Max)
              v.functions({{F::Add, 1}}, n), w.indirect = true;
            else
              v.functions({{F::Add, static_cast<std::uint64_t>(elements(op.kernel))}, {F::Multiply, 1}}, n);
          },
          [&](const NormPart& op) { lower_norm(v, op); },
          [&](const Lrn& op) {
            v.per_element(
                {{F::Multiply, 2}, {F::Add, static_cast<std::uint64_t>(op.size)}, {F::Power, 1}, {F::Divide, 1}});
          },
          [&](const LrnGradient& op) {
            v.per_element(
                {{F::Multiply, 5}, {F::Add, 2 * static_cast<std::uint64_t>(op.size)}, {F::Power, 2}, {F::Divide, 1}});
          },
          [&](const NegativeLogLikelihood&) {
            w.iteration = v.in(0).shape;  // a label for each, but for the classes
            w.iteration.erase(w.iteration.begin() + 1);
            const auto n = static_cast<std::uint64_t>(elements(w.iteration));
            v.functions({{F::Compare, 1}, {F::Add, 1}}, n);
            w.reduced.assign(w.iteration.size(), true);
            w.reads[0].elements = n;
            w.indirect = true;
          },
          [&](const CrossEntropyGradient&) {
            v.per_element({{F::Exp, 1}, {F::Compare, 1}, {F::Add, 1}, {F::Multiply, 1}});
          },
          [&](const NegativeLogLikelihoodGradient&) {
            v.per_element({{F::Compare, 1}, {F::Select, 1}});
            w.reads[1].elements = 0;  // only its shape matters
          },
          [&](const View&) { w.is_view = true; },
          [&](const Expand&) { w.is_view = true; },
          [&](const Transpose& op) {
            Ints moved;  // dimensions longer than one keep their order: nothing moves in memory
            for (const std::int64_t p : op.perm)
              if (v.in(0).shape[static_cast<std::size_t>(p)] > 1) moved.push_back(p);
            w.is_view = std::is_sorted(moved.begin(), moved.end());
            move(!w.is_view);
          },
          [&](const Concat&) { move(); },
          [&](const Split&) { w.is_view = is_contiguous_part(v.out().shape, v.in(0).shape, {}); },
          [&](const Slice& op) {
            w.is_view = is_contiguous_part(op.sizes, v.in(0).shape, op.steps);
            w.reads[0].elements = count_of(v.out());
          },
          [&](const Place&) { move(); },
          [&](const Pad&) { move(); },
          [&](const PadGradient&) {
            v.functions({{F::Add, 1}}, count_of(v.in(0)));
          },
          [&](const Gather&) {
            w.reads[0].elements = count_of(v.out());
            w.indirect = true;
          },
          [&](const ScatterAdd& op) {
            // Of a part as much as it would be if every entry had as many indices: no one knows them.
            std::uint64_t added = count_of(v.in(0));
            if (op.part != Part{}) {
              const auto first = static_cast<std::uint64_t>(op.part.origin[0]),
                         size = static_cast<std::uint64_t>(op.size),
                         whole = static_cast<std::uint64_t>(op.part.whole[0]);
              added = added * (first + size) / whole - added * first / whole;
            }
            w.reads[0].elements = added;
            v.functions({{F::Add, 1}}, added);
            w.indirect = true;
          },
          [&](const Trilu&) {
            v.per_element({{F::Select, 1}});
          },
          [&](const Unfold&) { move(true); },
          [&](const Fill&) { move(); },
          [&](const Iota&) { move(); },
          [&](const Fallback& op) {
            if (op.cost == CostClass::Elementwise) v.per_element({{F::Add, 1}});
            if (op.cost == CostClass::Reduction && !node.inputs.empty() && node.inputs[0] != kNoTensor)
              v.functions({{F::Add, 1}}, count_of(v.in(0)));
          },
          [&](const auto&) { MONET_ASSERT(false, "this operator is a loop nest or must be decomposed first"); },
      },
      node.op);
  return std::move(w);
}

}  // namespace

bool is_single_work(const Op& op) {
  return !(std::holds_alternative<Norm>(op) || std::holds_alternative<NormGradient>(op) ||
           std::holds_alternative<Softmax>(op) || std::holds_alternative<SoftmaxGradient>(op) ||
           std::holds_alternative<Attention>(op) || std::holds_alternative<AttentionGradient>(op) ||
           std::holds_alternative<CrossEntropy>(op));
}

work::Work lower(const Graph& graph, const Node& node) {
  if (const Conv* conv = std::get_if<Conv>(&node.op)) return lower_conv(graph, node, *conv);
  if (const MatMul* matmul = std::get_if<MatMul>(&node.op)) return lower_matmul(graph, node, *matmul);
  return lower_vector(graph, node);
}

}  // namespace monet
