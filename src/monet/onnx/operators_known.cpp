#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "monet/onnx/operators.h"

// Operators that pick and place single elements. Exporters use them to prepare constants (masks, position tables):
// computed where all operands are known, an estimate elsewhere; but sums into rows are a gradient of Gather.

namespace monet {
namespace {

void need_known(Converter& c, const OnnxCall& call) {
  for (const OperandId id : call.in)
    if (id != kNoOperand && !c.knows(id)) throw UnsupportedUse("operands that depend on data");
  if (call.out.empty() || call.out[0].empty()) throw ModelError("has no outputs");
}

// Distance between neighbours along each dimension.
Ints strides_of(const Shape& shape) {
  Ints strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

std::int64_t checked_index(double value, std::int64_t extent) {
  const std::int64_t i = to_integer(value);
  if (i < -extent || i >= extent) throw ModelError(fmt::format("index {} is outside of {}", i, extent));
  return i < 0 ? i + extent : i;
}

// indices [*, k] name places in the first k dimensions of data; each place is a block of the others.
struct Blocks {
  std::vector<std::size_t> starts;
  std::size_t size = 1;
  Shape outer, inner;  // dimensions of indices but the last; of a block
};
Blocks find_blocks(Converter& c, OperandId data, OperandId indices) {
  const Shape &d = c.shape(data), &s = c.shape(indices);
  if (s.empty() || s.back() < 1 || s.back() > std::ssize(d))
    throw ModelError(fmt::format("indices {} do not fit data {}", to_string(s), to_string(d)));
  const auto k = static_cast<std::size_t>(s.back());
  const Ints strides = strides_of(d);
  Blocks blocks{.starts = {}, .size = 1, .outer = {s.begin(), s.end() - 1}, .inner = {d.begin() + s.back(), d.end()}};
  blocks.size = static_cast<std::size_t>(elements(blocks.inner));
  const std::vector<double>& list = c.numbers(indices, "indices");
  for (std::size_t i = 0; i + k <= list.size(); i += k) {
    std::int64_t start = 0;
    for (std::size_t j = 0; j < k; ++j) start += checked_index(list[i + j], d[j]) * strides[j];
    blocks.starts.push_back(static_cast<std::size_t>(start));
  }
  return blocks;
}

void scatter_nd(Converter& c, const OnnxCall& call) {
  need_known(c, call);
  if (call.attributes.text("reduction", "none") != "none") throw UnsupportedUse("a reduction");
  const OperandId data = c.need(call, 0), updates = c.need(call, 2);
  const Blocks blocks = find_blocks(c, data, c.need(call, 1));
  std::vector<double> numbers = c.numbers(data, "data");
  const std::vector<double>& fresh = c.numbers(updates, "updates");
  if (fresh.size() != blocks.starts.size() * blocks.size)
    throw ModelError(fmt::format("updates {} do not fit the indices", to_string(c.shape(updates))));
  for (std::size_t i = 0; i < blocks.starts.size(); ++i)
    std::copy_n(fresh.begin() + static_cast<std::ptrdiff_t>(i * blocks.size), blocks.size,
                numbers.begin() + static_cast<std::ptrdiff_t>(blocks.starts[i]));
  c.constant(call.out[0], c.shape(data), c[data].format.element, std::move(numbers));
}

void gather_nd(Converter& c, const OnnxCall& call) {
  need_known(c, call);
  if (call.attributes.integer("batch_dims", 0) != 0) throw UnsupportedUse("batch dimensions");
  const OperandId data = c.need(call, 0);
  const Blocks blocks = find_blocks(c, data, c.need(call, 1));
  constexpr std::size_t kMost = 1 << 20;
  if (blocks.size > 0 && blocks.starts.size() > kMost / blocks.size) throw UnsupportedUse("a large table");
  const std::vector<double>& numbers = c.numbers(data, "data");
  std::vector<double> out;
  for (const std::size_t start : blocks.starts)
    out.insert(out.end(), numbers.begin() + static_cast<std::ptrdiff_t>(start),
               numbers.begin() + static_cast<std::ptrdiff_t>(start + blocks.size));
  Shape shape = blocks.outer;
  shape.insert(shape.end(), blocks.inner.begin(), blocks.inner.end());
  c.constant(call.out[0], shape, c[data].format.element, std::move(out));
}

// For each place of `indices`, the place in `data` that has its index along the axis instead.
std::vector<std::size_t> element_places(Converter& c, const OnnxCall& call, OperandId data, OperandId indices) {
  const Shape &d = c.shape(data), &s = c.shape(indices);
  const auto axis = static_cast<std::size_t>(normal_axis(call.attributes.integer("axis", 0), std::ssize(d)));
  if (s.size() != d.size()) throw ModelError("data and indices differ in rank");
  for (std::size_t i = 0; i < d.size(); ++i)
    if (i != axis && s[i] > d[i])
      throw ModelError(fmt::format("indices {} do not fit data {}", to_string(s), to_string(d)));
  const Ints strides = strides_of(d), own = strides_of(s);
  const std::vector<double>& list = c.numbers(indices, "indices");
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < list.size(); ++i) {
    std::int64_t place = 0, rest = static_cast<std::int64_t>(i);
    for (std::size_t j = 0; j < d.size(); ++j) {
      const std::int64_t at = j == axis ? checked_index(list[i], d[j]) : rest / own[j];
      rest %= own[j];
      place += at * strides[j];
    }
    places.push_back(static_cast<std::size_t>(place));
  }
  return places;
}

void gather_elements(Converter& c, const OnnxCall& call) {
  need_known(c, call);
  const OperandId data = c.need(call, 0), indices = c.need(call, 1);
  const std::vector<double>& numbers = c.numbers(data, "data");
  std::vector<double> out;
  for (const std::size_t place : element_places(c, call, data, indices)) out.push_back(numbers[place]);
  c.constant(call.out[0], c.shape(indices), c[data].format.element, std::move(out));
}

bool is_zero(const Converter& c, OperandId id) {
  if (c.knows(id)) return std::all_of(c[id].numbers.begin(), c[id].numbers.end(), [](double x) { return x == 0; });
  const Node* maker = c.maker(id);
  const Fill* fill = maker ? std::get_if<Fill>(&maker->op) : nullptr;
  return fill && fill->value == 0;
}

// Indices that vary along `axis` only, as a list: those of a tensor of one dimension, or broadcast to the others.
OperandId index_list(Converter& c, const OnnxCall& call, OperandId indices, std::size_t axis) {
  if (c.rank(indices) == 1) return indices;
  const Node* maker = c.maker(indices);
  if (!maker || !std::holds_alternative<Expand>(maker->op)) throw UnsupportedUse("indices that vary along all axes");
  const TensorId narrow = maker->inputs[0];
  const Tensor& tensor = c.builder[narrow];
  const std::int64_t picked = c.shape(indices)[axis];
  if (elements(tensor.shape) != picked || tensor.shape.size() != c.shape(indices).size() ||
      tensor.shape[axis] != picked)
    throw UnsupportedUse("indices that vary along all axes");
  c.read_through(indices);
  return reshape(c, call, c.operand_of(narrow), {picked}, "indices");
}

// Adding rows of updates to rows of data is the gradient of Gather.
void scatter_add(Converter& c, const OnnxCall& call) {
  const OperandId data = c.need(call, 0), indices = c.need(call, 1), updates = c.need(call, 2);
  const Shape &d = c.shape(data), &u = c.shape(updates);
  const auto axis = static_cast<std::size_t>(normal_axis(call.attributes.integer("axis", 0), std::ssize(d)));
  if (c.shape(indices) != u || u.size() != d.size()) throw ModelError("indices and updates differ in shape");
  for (std::size_t i = 0; i < d.size(); ++i)
    if (i != axis && u[i] != d[i]) throw UnsupportedUse("updates of a part of the data");
  const ScatterAdd op{static_cast<std::int64_t>(axis), d[axis]};
  const OperandId list = index_list(c, call, indices, axis);
  if (is_zero(c, data)) {
    if (!c.knows(data)) c.read_through(data);
    c.finish(call, op, {updates, list});
    return;
  }
  const OperandId sums = c.step(call, op, {updates, list}, "sums");
  c.finish(call, Sum{}, {data, sums});
}

void scatter_elements(Converter& c, const OnnxCall& call) {
  const std::string reduction = call.attributes.text("reduction", "none");
  if (reduction == "add") return scatter_add(c, call);
  need_known(c, call);
  if (reduction != "none") throw UnsupportedUse(fmt::format("reduction '{}'", reduction));
  const OperandId data = c.need(call, 0), indices = c.need(call, 1), updates = c.need(call, 2);
  if (c.shape(updates) != c.shape(indices)) throw ModelError("indices and updates differ in shape");
  std::vector<double> numbers = c.numbers(data, "data");
  const std::vector<double>& fresh = c.numbers(updates, "updates");
  const auto places = element_places(c, call, data, indices);
  for (std::size_t i = 0; i < places.size(); ++i) numbers[places[i]] = fresh[i];
  c.constant(call.out[0], c.shape(data), c[data].format.element, std::move(numbers));
}

void cumulative_sum(Converter& c, const OnnxCall& call) {
  need_known(c, call);
  const OperandId x = c.need(call, 0);
  const auto axis = static_cast<std::size_t>(normal_axis(to_integer(c.number(c.need(call, 1), "axis")), c.rank(x)));
  if (call.attributes.integer("exclusive", 0) != 0 || call.attributes.integer("reverse", 0) != 0)
    throw UnsupportedUse("exclusive or reversed sums");
  std::vector<double> numbers = c.numbers(x, "data");
  const auto stride = static_cast<std::size_t>(strides_of(c.shape(x))[axis]);
  const auto extent = static_cast<std::size_t>(c.shape(x)[axis]);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    if (i / stride % extent > 0) numbers[i] += numbers[i - stride];
  c.constant(call.out[0], c.shape(x), c[x].format.element, std::move(numbers));
}

void non_zero(Converter& c, const OnnxCall& call) {
  if (!c.knows(c.need(call, 0))) throw ModelError("the size of its result depends on data");
  need_known(c, call);
  const OperandId x = call.in[0];
  const Ints strides = strides_of(c.shape(x));
  std::vector<std::size_t> hits;
  const std::vector<double>& numbers = c.numbers(x, "data");
  for (std::size_t i = 0; i < numbers.size(); ++i)
    if (numbers[i] != 0) hits.push_back(i);
  std::vector<double> out;
  for (std::size_t j = 0; j < strides.size(); ++j)
    for (const std::size_t hit : hits)
      out.push_back(static_cast<double>(static_cast<std::int64_t>(hit) / strides[j] % c.shape(x)[j]));
  c.constant(call.out[0], {c.rank(x), std::ssize(hits)}, Element::I64, std::move(out));
}

}  // namespace

std::span<const OperatorRule> known_rules() {
  static constexpr auto kRules = std::to_array<OperatorRule>({
      {"ScatterND", scatter_nd},
      {"GatherND", gather_nd},
      {"GatherElements", gather_elements},
      {"ScatterElements", scatter_elements},
      {"CumSum", cumulative_sum},
      {"NonZero", non_zero},
  });
  return kRules;
}

}  // namespace monet
