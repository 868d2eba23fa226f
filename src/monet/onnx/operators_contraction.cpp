#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "monet/onnx/operators.h"

namespace monet {
namespace {

// ---- Convolution ----

Conv conv_of(ConvKind kind, const Window& window, std::int64_t groups) {
  return Conv{.kind = kind,
              .strides = window.strides,
              .dilations = window.dilations,
              .pads_begin = window.begin,
              .pads_end = window.end,
              .groups = groups,
              .extent = {}};
}

Ints kernel_of(Converter& c, const OnnxCall& call, OperandId x, OperandId weight) {
  if (c.rank(x) < 3 || c.rank(weight) != c.rank(x))
    throw ModelError(fmt::format("input {} and weight {} should be [N,C,space…] of one rank", to_string(c.shape(x)),
                                 to_string(c.shape(weight))));
  const Ints kernel(c.shape(weight).begin() + 2, c.shape(weight).end());
  const auto stated = call.attributes.integers("kernel_shape");
  if (stated && !stated->empty() && *stated != kernel)
    throw ModelError(
        fmt::format("kernel_shape {} is not that of the weight {}", to_string(*stated), to_string(c.shape(weight))));
  return kernel;
}

std::vector<OperandId> with_bias(const OnnxCall& call) {
  std::vector<OperandId> in{call.in[0], call.in[1]};
  if (call.has_input(2)) in.push_back(call.in[2]);
  return in;
}

void conv(Converter& c, const OnnxCall& call) {
  const OperandId x = c.need(call, 0), weight = c.need(call, 1);
  const Window window = read_window(call, c.shape(x), kernel_of(c, call, x, weight));
  c.finish(call, conv_of(ConvKind::Forward, window, call.attributes.integer("group", 1)), with_bias(call));
}

struct Transposed {
  Window window;
  Ints extent;
};

// Sizes of a transposed convolution, which is the data gradient of a convolution onto x.
Transposed transposed_window(Converter& c, const OnnxCall& call, const Shape& x, const Ints& kernel) {
  const std::size_t n = kernel.size();
  const std::string auto_pad = call.attributes.text("auto_pad", "NOTSET");
  const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  Transposed out{.window = {}, .extent = Ints(n)};
  out.window.strides = call.attributes.integers("strides").value_or(Ints(n, 1));
  out.window.dilations = call.attributes.integers("dilations").value_or(Ints(n, 1));
  Ints pads = call.attributes.integers("pads").value_or(Ints(2 * n, 0));
  if (auto_pad == "VALID" || same) pads.assign(2 * n, 0);
  const Ints extra = call.attributes.integers("output_padding").value_or(Ints(n, 0));
  auto wanted = call.attributes.integers("output_shape");
  if (wanted && wanted->size() == n + 2) wanted->erase(wanted->begin(), wanted->begin() + 2);
  if (out.window.strides.size() != n || out.window.dilations.size() != n || pads.size() != 2 * n || extra.size() != n ||
      (wanted && wanted->size() != n))
    throw ModelError(fmt::format("strides, dilations, pads, output_padding and output_shape need {} sizes", n));
  constexpr std::int64_t kMost = 1 << 24;
  const auto stated = c.stated().spatial_shape(call.out.empty() ? "" : call.out[0]);
  for (std::size_t i = 0; i < n; ++i) {
    const std::int64_t stride = out.window.strides[i], dilation = out.window.dilations[i];
    for (const std::int64_t size : {stride, dilation, kernel[i]})
      if (size < 1 || size > kMost) throw ModelError("strides, dilations and kernel must be positive and below 2^24");
    for (const std::int64_t size : {pads[i], pads[i + n], extra[i]})
      if (size < -kMost || size > kMost) throw ModelError("pads must lie within ±2^24");
    if (x[i + 2] > (std::int64_t{1} << 38)) throw ModelError("the input is too large");
    const std::int64_t full = stride * (x[i + 2] - 1) + extra[i] + dilation * (kernel[i] - 1) + 1;
    std::int64_t& begin = pads[i];
    std::int64_t& end = pads[i + n];
    if (wanted || same) {
      const std::int64_t size = wanted ? (*wanted)[i] : x[i + 2] * stride;
      if (size < 1 || size > (std::int64_t{1} << 40)) throw ModelError("output_shape must be positive");
      const std::int64_t total = std::max<std::int64_t>(0, full - size);  // a larger result grows at its end
      begin = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
      end = total - begin;
      out.extent[i] = size;
      continue;
    }
    out.extent[i] = full - begin - end;
    // Data gradients written by graph rewriters leave output_padding out and rely on the stated shape.
    if (stated && stated->size() == n + 2 && (*stated)[i + 2] > out.extent[i] &&
        (*stated)[i + 2] - out.extent[i] < stride && extra[i] == 0)
      out.extent[i] = (*stated)[i + 2];
  }
  out.window.begin.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(n));
  out.window.end.assign(pads.begin() + static_cast<std::ptrdiff_t>(n), pads.end());
  return out;
}

void conv_transpose(Converter& c, const OnnxCall& call) {
  const OperandId x = c.need(call, 0), weight = c.need(call, 1);
  const Ints kernel = kernel_of(c, call, x, weight);
  const Transposed sizes = transposed_window(c, call, c.shape(x), kernel);
  Conv op = conv_of(ConvKind::DataGradient, sizes.window, call.attributes.integer("group", 1));
  op.extent = sizes.extent;
  c.finish(call, op, with_bias(call));
}

// ---- Matrix products ----

void gemm(Converter& c, const OnnxCall& call) {
  const MatMul op{.trans_a = call.attributes.integer("transA", 0) != 0,
                  .trans_b = call.attributes.integer("transB", 0) != 0,
                  .alpha = call.attributes.real("alpha", 1),
                  .beta = call.attributes.real("beta", 1)};
  std::vector<OperandId> in{c.need(call, 0), c.need(call, 1)};
  if (call.has_input(2) && op.beta != 0) in.push_back(call.in[2]);
  c.finish(call, op, std::move(in));
}

// Vectors are seen as a row or a column, and the result without the dimension of 1 they brought.
void multiply(Converter& c, const OnnxCall& call, const MatMul& op) {
  OperandId a = c.need(call, 0), b = c.need(call, 1);
  const bool row = c.rank(a) == 1, column = c.rank(b) == 1;
  if (!row && !column) {
    c.finish(call, op, {a, b});
    return;
  }
  if (row) a = reshape(c, call, a, {1, c.shape(a)[0]}, "row");
  if (column) b = reshape(c, call, b, {c.shape(b)[0], 1}, "column");
  const OperandId y = c.step(call, op, {a, b}, "product");
  Shape shape = c.shape(y);
  if (column) shape.pop_back();
  if (row) shape.erase(shape.end() - (column ? 1 : 2));
  c.finish(call, View{shape}, {y});
}

void matmul(Converter& c, const OnnxCall& call) { multiply(c, call, MatMul{}); }

void fused_matmul(Converter& c, const OnnxCall& call) {
  if (call.attributes.integer("transBatchA", 0) != 0 || call.attributes.integer("transBatchB", 0) != 0)
    throw UnsupportedUse("transposed batch dimensions");
  MatMul op;
  op.trans_a = call.attributes.integer("transA", 0) != 0 && c.rank(c.need(call, 0)) > 1;
  op.trans_b = call.attributes.integer("transB", 0) != 0 && c.rank(c.need(call, 1)) > 1;
  op.alpha = call.attributes.real("alpha", 1);
  multiply(c, call, op);
}

// ---- Einsum ----

struct Equation {
  std::vector<std::string> inputs;
  std::string output;
};

Equation parse_equation(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  Equation equation;
  const std::size_t arrow = text.find("->");
  std::string left = text.substr(0, arrow);
  for (std::size_t comma = left.find(','); comma != std::string::npos; comma = left.find(',')) {
    equation.inputs.push_back(left.substr(0, comma));
    left = left.substr(comma + 1);
  }
  equation.inputs.push_back(left);
  const auto is_letter = [](char x) { return (x >= 'a' && x <= 'z') || (x >= 'A' && x <= 'Z'); };
  for (const std::string& labels : equation.inputs) {
    if (!std::all_of(labels.begin(), labels.end(), is_letter)) throw UnsupportedUse("an ellipsis in the equation");
    for (const char label : labels)
      if (std::count(labels.begin(), labels.end(), label) > 1) throw UnsupportedUse("a diagonal in the equation");
  }
  if (arrow != std::string::npos) {
    equation.output = text.substr(arrow + 2);
    if (!std::all_of(equation.output.begin(), equation.output.end(), is_letter))
      throw UnsupportedUse("an ellipsis in the equation");
    return equation;
  }
  std::string all;  // the output is what occurs once, in alphabetical order
  for (const std::string& labels : equation.inputs) all += labels;
  for (const char label : all)
    if (std::count(all.begin(), all.end(), label) == 1) equation.output += label;
  std::sort(equation.output.begin(), equation.output.end());
  return equation;
}

bool holds(const std::string& labels, char label) { return labels.find(label) != std::string::npos; }

// x with dimensions `labels`, brought into the order `order` and to the shape `shape`.
OperandId arrange(Converter& c, const OnnxCall& call, OperandId x, const std::string& labels, const std::string& order,
                  const Shape& shape, const std::string& part) {
  Ints perm;
  for (const char label : order) perm.push_back(static_cast<std::int64_t>(labels.find(label)));
  if (!std::is_sorted(perm.begin(), perm.end())) x = c.step(call, Transpose{perm}, {x}, part + "_order");
  if (c.shape(x) != shape) x = reshape(c, call, x, shape, part + "_shape");
  return x;
}

// Two operands: the labels fall into batch, rows, columns and the contracted ones, and a MatMul does the work.
void einsum(Converter& c, const OnnxCall& call) {
  const Equation equation = parse_equation(call.attributes.text("equation", ""));
  if (equation.inputs.size() != call.in.size() || call.in.size() != 2)
    throw UnsupportedUse(fmt::format("{} operands", call.in.size()));
  const OperandId a = c.need(call, 0), b = c.need(call, 1);
  const std::string &la = equation.inputs[0], &lb = equation.inputs[1], &lo = equation.output;
  if (std::ssize(la) != c.rank(a) || std::ssize(lb) != c.rank(b))
    throw ModelError("the equation does not fit its operands");
  std::map<char, std::int64_t> size;
  for (std::size_t i = 0; i < la.size(); ++i) size[la[i]] = c.shape(a)[i];
  for (std::size_t i = 0; i < lb.size(); ++i) {
    const auto [it, fresh] = size.emplace(lb[i], c.shape(b)[i]);
    if (!fresh && it->second != c.shape(b)[i])
      throw ModelError(fmt::format("sizes {} and {} of '{}' differ", it->second, c.shape(b)[i], lb[i]));
  }
  std::string batch, rows, columns, inner;
  for (const char label : lo) {
    if (!size.count(label) || std::count(lo.begin(), lo.end(), label) > 1)
      throw ModelError(fmt::format("'{}' of the result is no label of one operand", label));
    (holds(la, label) && holds(lb, label) ? batch : holds(la, label) ? rows : columns) += label;
  }
  for (const char label : la)
    if (!holds(lo, label)) {
      if (!holds(lb, label)) throw UnsupportedUse("a sum over one operand alone");
      inner += label;
    }
  for (const char label : lb)
    if (!holds(lo, label) && !holds(la, label)) throw UnsupportedUse("a sum over one operand alone");
  const auto product = [&](const std::string& labels) {
    std::int64_t total = 1;
    for (const char label : labels) total *= size[label];
    return total;
  };
  Shape outer, left, right, full;
  for (const char label : batch) outer.push_back(size[label]);
  left = right = full = outer;
  left.insert(left.end(), {product(rows), product(inner)});
  right.insert(right.end(), {product(inner), product(columns)});
  for (const char label : rows + columns) full.push_back(size[label]);
  const OperandId x = arrange(c, call, a, la, batch + rows + inner, left, "left");
  const OperandId y = arrange(c, call, b, lb, batch + inner + columns, right, "right");
  const std::string order = batch + rows + columns;
  if (c.shape(x).size() == full.size() && order == lo) {
    c.finish(call, MatMul{}, {x, y});
    return;
  }
  OperandId z = c.step(call, MatMul{}, {x, y}, "product");
  if (order == lo) {
    c.finish(call, View{full}, {z});
    return;
  }
  if (c.shape(z) != full) z = reshape(c, call, z, full, "full");
  Ints perm;
  for (const char label : lo) perm.push_back(static_cast<std::int64_t>(order.find(label)));
  c.finish(call, Transpose{perm}, {z});
}

// ---- Attention (opset 23) ----

// [batch, seq, heads·size] as [batch, heads, seq, size]
OperandId split_heads(Converter& c, const OnnxCall& call, OperandId x, std::int64_t heads, const std::string& part) {
  const Shape s = c.shape(x);
  if (s.size() == 4) return x;
  const OperandId apart = reshape(c, call, x, {s[0], s[1], heads, s[2] / heads}, part + "_heads");
  return c.step(call, Transpose{{0, 2, 1, 3}}, {apart}, part);
}

// Groups of queries share a head of keys and values: it is repeated for each of them.
OperandId share_heads(Converter& c, const OnnxCall& call, OperandId x, std::int64_t heads, const std::string& part) {
  const Shape s = c.shape(x);
  if (s[1] == heads) return x;
  const OperandId apart = reshape(c, call, x, {s[0], s[1], 1, s[2], s[3]}, part + "_apart");
  const OperandId wide = c.step(call, Expand{{s[0], s[1], heads / s[1], s[2], s[3]}}, {apart}, part + "_wide");
  return reshape(c, call, wide, {s[0], heads, s[2], s[3]}, part + "_shared");
}

void attention(Converter& c, const OnnxCall& call) {
  const OperandId q = c.need(call, 0), k = c.need(call, 1), v = c.need(call, 2);
  for (std::size_t i = 4; i < call.in.size(); ++i)
    if (call.has_input(i)) throw UnsupportedUse("a cache of keys and values");
  for (std::size_t i = 1; i < call.out.size(); ++i)
    if (call.has_output(i) && c.is_used(call.out[i])) throw UnsupportedUse("more than one result");
  if (call.attributes.real("softcap", 0) != 0) throw UnsupportedUse("capped scores");
  if (call.attributes.integer("left_window_size", -1) >= 0 || call.attributes.integer("right_window_size", -1) >= 0)
    throw UnsupportedUse("a window of keys");
  const bool flat = c.rank(q) == 3;
  if ((!flat && c.rank(q) != 4) || c.rank(k) != c.rank(q) || c.rank(v) != c.rank(q))
    throw ModelError("queries, keys and values should all have 3 or 4 dimensions");
  const std::int64_t heads = flat ? call.attributes.integer("q_num_heads") : c.shape(q)[1];
  const std::int64_t kv_heads = flat ? call.attributes.integer("kv_num_heads") : c.shape(k)[1];
  if (heads < 1 || kv_heads < 1 || heads % kv_heads != 0 || (!flat && c.shape(v)[1] != kv_heads) ||
      (flat && (c.shape(q)[2] % heads != 0 || c.shape(k)[2] % kv_heads != 0 || c.shape(v)[2] % kv_heads != 0)))
    throw ModelError(fmt::format("{} heads of queries and {} of keys do not fit", heads, kv_heads));
  const std::size_t sequence = flat ? 1 : 2;
  const bool causal = call.attributes.integer("is_causal", 0) != 0;
  if (causal && c.shape(q)[sequence] != c.shape(k)[sequence])
    throw UnsupportedUse("causal, with fewer queries than keys");
  const std::int64_t size = c.shape(q).back() / (flat ? heads : 1);
  const double scale = call.attributes.real("scale", 1 / std::sqrt(static_cast<double>(size)));
  std::vector<OperandId> in{split_heads(c, call, q, heads, "q"),
                            share_heads(c, call, split_heads(c, call, k, kv_heads, "k"), heads, "k"),
                            share_heads(c, call, split_heads(c, call, v, kv_heads, "v"), heads, "v")};
  if (call.has_input(3)) {
    OperandId mask = call.in[3];
    const Element element = c[q].format.element;
    if (is_truth(c[mask].format.element)) {
      const OperandId shown = c.scalar(call, 0, element, "shown");
      const OperandId hidden = c.scalar(call, -std::numeric_limits<double>::infinity(), element, "hidden");
      mask = c.step(call, Select{}, {mask, shown, hidden}, "mask");
    }
    in.push_back(mask);
  }
  const Attention op{.scale = scale, .causal = causal, .block = 128};
  if (!flat) {
    c.add(call, op, in, {call.out.at(0), c.part_name(call, "log_sum_exp")});
    return;
  }
  const auto made = c.add(call, op, in, {c.part_name(call, "per_head"), c.part_name(call, "log_sum_exp")}, "per_head");
  const OperandId back = c.step(call, Transpose{{0, 2, 1, 3}}, {made[0]}, "back");
  const Shape s = c.shape(back);
  c.finish(call, View{{s[0], s[1], s[2] * s[3]}}, {back});
}

}  // namespace

std::span<const OperatorRule> contraction_rules() {
  static constexpr auto kRules = std::to_array<OperatorRule>({
      {"Conv", conv},
      {"ConvTranspose", conv_transpose},
      {"Gemm", gemm},
      {"MatMul", matmul},
      {"com.microsoft:FusedMatMul", fused_matmul},
      {"com.microsoft:TransposeMatMul", fused_matmul},
      {"Einsum", einsum},
      {"Attention", attention},
  });
  return kRules;
}

}  // namespace monet
