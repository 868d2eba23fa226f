#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "monet/onnx/operators.h"

namespace monet {
namespace {

// ---- Views ----

// Files exported for one batch have it written into their target shapes: it moves with the batch.
void follow_batch(const Converter& c, const Shape& x, Shape& target) {
  const auto& rebatched = c.dimensions().rebatched;
  if (rebatched && !x.empty() && target.size() > 1 && target[0] == rebatched->first && x[0] == rebatched->second)
    target[0] = rebatched->second;
}

// Sizes of 0 copy (unless allowed as sizes), one -1 takes what is left.
Shape target_shape(const Shape& x, Shape target, bool allow_zero) {
  std::int64_t rest = -1, product = 1;
  for (std::size_t i = 0; i < target.size(); ++i) {
    if (target[i] == 0 && !allow_zero) {
      if (i >= x.size()) throw ModelError(fmt::format("size 0 at {} copies a dimension {} lacks", i, to_string(x)));
      target[i] = x[i];
    }
    if (target[i] == -1) {
      if (rest >= 0) throw ModelError(fmt::format("target {} leaves two sizes open", to_string(target)));
      rest = static_cast<std::int64_t>(i);
      continue;
    }
    if (target[i] < 0) throw ModelError(fmt::format("target {} has a negative size", to_string(target)));
    if (target[i] > 0 && product > (std::int64_t{1} << 48) / target[i])
      throw ModelError(fmt::format("target {} is too large", to_string(target)));
    product *= target[i];
  }
  if (rest >= 0) {
    const std::int64_t total = elements(x);
    if (product == 0 || total % product != 0)
      throw ModelError(fmt::format("{} does not reshape to {}", to_string(x), to_string(target)));
    target[static_cast<std::size_t>(rest)] = total / product;
  }
  return target;
}

void reshape_rule(Converter& c, const OnnxCall& call) {
  const OperandId x = c.need(call, 0);
  Shape target = c.integers(c.need(call, 1), "shape");
  follow_batch(c, c.shape(x), target);
  c.finish(call, View{target_shape(c.shape(x), target, call.attributes.integer("allowzero", 0) != 0)}, {x});
}

void flatten_rule(Converter& c, const OnnxCall& call) {
  const OperandId x = c.need(call, 0);
  std::int64_t axis = call.attributes.integer("axis", 1);
  if (axis < 0) axis += c.rank(x);
  if (axis < 0 || axis > c.rank(x)) throw ModelError(fmt::format("axis {} is out of range", axis));
  const Shape& s = c.shape(x);
  c.finish(call, View{{elements({s.begin(), s.begin() + axis}), elements({s.begin() + axis, s.end()})}}, {x});
}

void squeeze(Converter& c, const OnnxCall& call) {
  const OperandId x = c.need(call, 0);
  const auto axes = read_axes(c, call, c.rank(x));
  Shape shape;
  for (std::size_t i = 0; i < c.shape(x).size(); ++i) {
    const std::int64_t extent = c.shape(x)[i];
    const bool named = axes && std::binary_search(axes->begin(), axes->end(), static_cast<std::int64_t>(i));
    if (named && extent != 1) throw ModelError(fmt::format("dimension {} of {} is not 1", i, to_string(c.shape(x))));
    if (!(named || (!axes && extent == 1))) shape.push_back(extent);
  }
  c.finish(call, View{shape}, {x});
}

void unsqueeze(Converter& c, const OnnxCall& call) {
  const OperandId x = c.need(call, 0);
  const std::size_t added = call.has_input(1) ? c.integers(call.in[1], "axes").size()
                                              : call.attributes.integers("axes").value_or(Ints{}).size();
  if (added > 64) throw ModelError("too many axes");
  const auto axes = read_axes(c, call, c.rank(x) + static_cast<std::int64_t>(added));
  if (!axes) throw ModelError("axes are missing");
  Shape shape = c.shape(x);
  for (const std::int64_t axis : *axes) shape.insert(shape.begin() + axis, 1);
  c.finish(call, View{shape}, {x});
}

// An initializer under another name needs no node; an activation does, so that every name has its producer.
void identity(Converter& c, const OnnxCall& call) {
  const OperandId x = c.need(call, 0);
  if (call.out.empty()) throw ModelError("has no outputs");
  if (c[x].known || c[x].stored)
    c.alias(call.out[0], x);
  else
    c.finish(call, View{c.shape(x)}, {x});
}

// ---- Rearranging ----

void transpose(Converter& c, const OnnxCall& call) {
  const OperandId x = c.need(call, 0);
  Ints reversed(c.shape(x).size());
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  c.finish(call, Transpose{call.attributes.integers("perm").value_or(reversed)}, {x});
}

void concat(Converter& c, const OnnxCall& call) {
  const OperandId first = c.need(call, 0);
  std::vector<OperandId> filled;  // exporters begin some lists with an empty one
  for (std::size_t i = 0; i < call.in.size(); ++i)
    if (elements(c.shape(c.need(call, i))) > 0) filled.push_back(call.in[i]);
  const std::int64_t axis = normal_axis(call.attributes.integer("axis", 1), c.rank(first));
  c.finish(call, Concat{axis}, filled.empty() ? call.in : filled);
}

void split(Converter& c, const OnnxCall& call) {
  const OperandId x = c.need(call, 0);
  Split op;
  op.axis = normal_axis(call.attributes.integer("axis", 0), c.rank(x));
  const std::int64_t extent = c.shape(x)[static_cast<std::size_t>(op.axis)];
  const std::int64_t parts = call.attributes.integer("num_outputs", std::ssize(call.out));
  if (call.has_input(1)) {
    op.sizes = c.integers(call.in[1], "split");
  } else if (const auto sizes = call.attributes.integers("split")) {
    op.sizes = *sizes;
  } else {
    if (parts < 1 || parts > extent) throw ModelError(fmt::format("extent {} has no {} parts", extent, parts));
    const std::int64_t size = (extent + parts - 1) / parts;
    for (std::int64_t left = extent; left > 0; left -= size) op.sizes.push_back(std::min(size, left));
  }
  for (const std::int64_t size : op.sizes)
    if (size < 0 || size > extent) throw ModelError(fmt::format("part of size {} of {}", size, extent));
  if (std::ssize(op.sizes) != std::ssize(call.out))
    throw ModelError(fmt::format("{} parts for {} outputs", op.sizes.size(), call.out.size()));
  std::vector<std::string> out;
  for (std::size_t i = 0; i < op.sizes.size(); ++i) {
    if (op.sizes[i] > 0) {
      out.push_back(call.out[i]);
      continue;
    }
    Shape empty = c.shape(x);
    empty[static_cast<std::size_t>(op.axis)] = 0;
    c.constant(call.out[i], empty, c[x].format.element, {});
  }
  std::erase(op.sizes, 0);
  c.add(call, op, {x}, out);
}

struct Range {
  std::int64_t start = 0, size = 0;
};

// Python's slice of `extent` elements; starts and ends may lie far outside.
Range slice_range(std::int64_t start, std::int64_t end, std::int64_t step, std::int64_t extent) {
  const auto from_end = [&](std::int64_t i) { return i < 0 ? i + extent : i; };
  const std::int64_t lowest = step > 0 ? 0 : -1, highest = step > 0 ? extent : extent - 1;
  start = std::clamp(from_end(start), step > 0 ? 0 : std::int64_t{-1}, highest);
  // The end before the first element has no index counted from the end but a very negative one.
  end = end < -extent ? lowest : std::clamp(from_end(end), lowest, highest);
  const std::int64_t room = step > 0 ? end - start : start - end;
  if (room <= 0) return {0, 0};
  const std::int64_t size = step > 0 ? step : step == std::numeric_limits<std::int64_t>::min() ? extent : -step;
  return {start, (room - 1) / size + 1};
}

void slice(Converter& c, const OnnxCall& call) {
  const OperandId x = c.need(call, 0);
  const bool inputs = call.opset >= 10;
  const auto list = [&](std::size_t input, const char* name) -> std::optional<Ints> {
    if (!inputs) return call.attributes.integers(name);
    if (!call.has_input(input)) return std::nullopt;
    return c.integers(call.in[input], name);
  };
  const auto starts = list(1, "starts"), ends = list(2, "ends");
  if (!starts || !ends || starts->size() != ends->size()) throw ModelError("needs as many starts as ends");
  Ints axes(starts->size());
  std::iota(axes.begin(), axes.end(), 0);
  axes = list(3, "axes").value_or(axes);
  const Ints steps = list(4, "steps").value_or(Ints(starts->size(), 1));
  if (axes.size() != starts->size() || steps.size() != starts->size())
    throw ModelError("starts, ends, axes and steps differ in length");
  Slice op{.starts = Ints(c.shape(x).size(), 0), .sizes = c.shape(x), .steps = Ints(c.shape(x).size(), 1)};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(normal_axis(axes[i], c.rank(x)));
    if (steps[i] == 0) throw ModelError("a step is 0");
    const Range range = slice_range((*starts)[i], (*ends)[i], steps[i], c.shape(x)[axis]);
    op.starts[axis] = range.start;
    op.sizes[axis] = range.size;
    op.steps[axis] = range.size == 1 ? 1 : steps[i];
  }
  if (elements(op.sizes) == 0) {
    if (!c.knows(x)) throw ModelError("takes nothing: the result would be empty");
    c.constant(call.out.at(0), op.sizes, c[x].format.element, {});
    return;
  }
  c.finish(call, op, {x});
}

void gather(Converter& c, const OnnxCall& call) {
  const OperandId x = c.need(call, 0), indices = c.need(call, 1);
  c.finish(call, Gather{normal_axis(call.attributes.integer("axis", 0), c.rank(x))}, {x, indices});
}

void pad(Converter& c, const OnnxCall& call) {
  const OperandId x = c.need(call, 0);
  const std::string mode = call.attributes.text("mode", "constant");
  Pad op;
  if (mode == "reflect")
    op.mode = PadMode::Reflect;
  else if (mode == "edge")
    op.mode = PadMode::Edge;
  else if (mode != "constant")
    throw UnsupportedUse(fmt::format("mode '{}'", mode));
  Ints pads, axes(c.shape(x).size());
  std::iota(axes.begin(), axes.end(), 0);
  if (call.opset < 11) {
    pads = call.attributes.integers("pads").value_or(Ints{});
    op.value = call.attributes.real("value", 0);
  } else {
    pads = c.integers(c.need(call, 1), "pads");
    if (call.has_input(2)) op.value = c.number(call.in[2], "the padding value");
    if (call.has_input(3)) axes = c.integers(call.in[3], "axes");
  }
  if (pads.size() != 2 * axes.size()) throw ModelError(fmt::format("{} pads for {} axes", pads.size(), axes.size()));
  op.begin.assign(c.shape(x).size(), 0);
  op.end.assign(c.shape(x).size(), 0);
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(normal_axis(axes[i], c.rank(x)));
    for (const std::int64_t size : {pads[i], pads[i + axes.size()]})
      if (size < -kMost || size > kMost) throw ModelError("pads are too large");
    op.begin[axis] = pads[i];
    op.end[axis] = pads[i + axes.size()];
  }
  if (std::all_of(pads.begin(), pads.end(), [](std::int64_t size) { return size == 0; }))
    c.finish(call, View{c.shape(x)}, {x});
  else
    c.finish(call, op, {x});
}

void expand(Converter& c, const OnnxCall& call) {
  const OperandId x = c.need(call, 0);
  Shape target = c.integers(c.need(call, 1), "shape");
  follow_batch(c, c.shape(x), target);
  check_shape(target);
  c.finish(call, Expand{broadcast(c.shape(x), target)}, {x});
}

// Each dimension is seen as [1, extent], broadcast to [repeats, extent] and joined again.
void tile(Converter& c, const OnnxCall& call) {
  const OperandId x = c.need(call, 0);
  const Ints repeats = c.integers(c.need(call, 1), "repeats");
  if (std::ssize(repeats) != c.rank(x)) throw ModelError("needs one repeat per dimension");
  Shape apart, wide, joined;
  bool plain = true;  // only dimensions of 1 are repeated
  for (std::size_t i = 0; i < repeats.size(); ++i) {
    const std::int64_t extent = c.shape(x)[i];
    if (repeats[i] < 1 || extent < 1 || repeats[i] > (std::int64_t{1} << 48) / extent)
      throw ModelError(fmt::format("repeats dimension {} of {} {} times", i, to_string(c.shape(x)), repeats[i]));
    plain &= repeats[i] == 1 || extent == 1;
    apart.insert(apart.end(), {1, extent});
    wide.insert(wide.end(), {repeats[i], extent});
    joined.push_back(repeats[i] * extent);
  }
  if (plain) {
    c.finish(call, Expand{joined}, {x});
    return;
  }
  check_shape(joined);
  const OperandId seen = reshape(c, call, x, apart, "apart");
  const OperandId repeated = c.step(call, Expand{wide}, {seen}, "repeated");
  c.finish(call, View{joined}, {repeated});
}

void trilu(Converter& c, const OnnxCall& call) {
  Trilu op;
  op.upper = call.attributes.integer("upper", 1) != 0;
  constexpr std::int64_t kMost = std::int64_t{1} << 50;  // beyond every matrix
  if (call.has_input(1)) op.k = std::clamp(to_integer(c.number(call.in[1], "k")), -kMost, kMost);
  c.finish(call, op, {c.need(call, 0)});
}

// Compares each index with 0 … depth-1, and with -depth … -1, and picks one of two values.
void one_hot(Converter& c, const OnnxCall& call) {
  const OperandId indices = c.need(call, 0), values = c.need(call, 2);
  const std::int64_t depth = to_integer(c.number(c.need(call, 1), "depth"));
  const std::int64_t axis = normal_axis(call.attributes.integer("axis", -1), c.rank(indices) + 1);
  constexpr std::int64_t kMostClasses = 1 << 20;
  if (depth < 1 || depth > kMostClasses) throw UnsupportedUse(fmt::format("a depth of {}", depth));
  if (!c.has_numbers(values) || elements(c.shape(values)) != 2) throw UnsupportedUse("values that are not known");
  const std::vector<double> pair = c.numbers(values, "values");
  Shape column = c.shape(indices), classes(column.size() + 1, 1);
  column.insert(column.begin() + axis, 1);
  classes[static_cast<std::size_t>(axis)] = depth;
  const Element element = c[values].format.element;
  const OperandId off = c.scalar(call, pair[0], element, "off");
  const OperandId on = c.scalar(call, pair[1], element, "on");
  const OperandId seen = reshape(c, call, indices, column, "column");
  const auto compare = [&](std::int64_t first, const std::string& part) {
    std::vector<double> numbers(static_cast<std::size_t>(depth));
    std::iota(numbers.begin(), numbers.end(), static_cast<double>(first));
    const OperandId table =
        c.constant(c.part_name(call, part + "_classes"), classes, c[indices].format.element, std::move(numbers), false);
    return c.step(call, Binary{BinaryKind::Equal}, {seen, table}, part);
  };
  const OperandId hit =
      c.step(call, Binary{BinaryKind::Or}, {compare(0, "from_start"), compare(-depth, "from_end")}, "hit");
  c.finish(call, Select{}, {hit, on, off});
}

}  // namespace

std::span<const OperatorRule> movement_rules() {
  static constexpr auto kRules = std::to_array<OperatorRule>({
      {"Reshape", reshape_rule},
      {"Flatten", flatten_rule},
      {"Squeeze", squeeze},
      {"Unsqueeze", unsqueeze},
      {"Identity", identity},
      {"Transpose", transpose},
      {"Concat", concat},
      {"Split", split},
      {"Slice", slice},
      {"Gather", gather},
      {"Pad", pad},
      {"Expand", expand},
      {"Tile", tile},
      {"Trilu", trilu},
      {"OneHot", one_hot},
  });
  return kRules;
}

}  // namespace monet
