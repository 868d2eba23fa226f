// Shapes, copies and indices.
#include <algorithm>
#include <cmath>

#include "monet/graph/infer.h"
#include "monet/onnx/export_rules.h"

namespace monet::exporting {
namespace {

std::int64_t signed_of(std::size_t i) { return static_cast<std::int64_t>(i); }

// dx of one axis that was padded by reflection or by its edge: what was copied comes back on top of the middle.
Value fold_pads(Scope& s, const Value& dy, std::size_t rank, std::size_t axis, std::int64_t begin, std::int64_t end,
                std::int64_t extent, PadMode mode) {
  const std::int64_t a = signed_of(axis);
  std::vector<Value> terms{s.slice(dy, a, begin, begin + extent - 1)};
  // A part of dy, put `before` elements into the axis.
  const auto place = [&](const Value& part, std::int64_t size, std::int64_t before) {
    Ints pads_begin(rank), pads_end(rank);
    pads_begin[axis] = before;
    pads_end[axis] = extent - before - size;
    terms.push_back(s.pad(part, pads_begin, pads_end));
  };
  const bool reflect = mode == PadMode::Reflect;
  if (begin > 0) {
    if (reflect)
      place(s.slice(dy, a, begin - 1, 0, -1), begin, 1);
    else
      place(s.reduce("ReduceSum", s.slice(dy, a, 0, begin - 1), {a}), 1, 0);
  }
  if (end > 0) {
    const std::int64_t first = begin + extent, last = begin + extent + end - 1;
    if (reflect)
      place(s.slice(dy, a, last, first, -1), end, extent - 1 - end);
    else
      place(s.reduce("ReduceSum", s.slice(dy, a, first, last), {a}), 1, extent - 1);
  }
  return terms.size() == 1 ? terms[0] : s.make("Sum", terms);
}

}  // namespace

void write(const View& op, Scope& s) { s.out(0, s.reshape(s.in(0), op.shape)); }

void write(const Transpose& op, Scope& s) { s.out(0, s.transpose(s.in(0), op.perm)); }

void write(const Expand& op, Scope& s) {
  Value x = s.in(0);
  if (x.element == Element::BF16) x = s.cast(x, Element::F32);  // onnxruntime has no such kernel for bf16
  s.out(0, s.make("Expand", {x, s.ints(op.shape)}));
}

void write(const Concat& op, Scope& s) {
  const Element element = carrier(s.output(0).format.element);
  std::vector<Value> parts;
  for (std::size_t i = 0; i < s.inputs(); ++i) parts.push_back(s.in(i, element));
  s.out(0, s.make("Concat", parts, {{"axis", op.axis}}));
}

void write(const Split& op, Scope& s) {
  const Value x = s.in(0);
  const std::vector<Value> parts =
      s.make("Split", {x, s.ints(op.sizes)}, {{"axis", op.axis}}, std::vector<Element>(op.sizes.size(), x.element));
  for (std::size_t i = 0; i < parts.size(); ++i) s.out(i, parts[i]);
}

void write(const Slice& op, Scope& s) {
  Value y = s.in(0);
  const Shape& x = s.input(0).shape;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (op.sizes[i] == x[i] && op.steps[i] == 1) continue;
    const std::int64_t last = op.starts[i] + (op.sizes[i] - 1) * op.steps[i];
    y = s.slice(y, signed_of(i), op.starts[i], last, op.sizes[i] == 1 ? 1 : op.steps[i]);
  }
  s.out(0, y);
}

void write(const Place& op, Scope& s) {
  Value y = s.in(0, arithmetic(s.input(0).format.element));
  const Shape& x = s.input(0).shape;
  const std::size_t rank = x.size();
  // Every element becomes a cell of |step| elements with zeros behind it; the cells are then moved into place.
  Shape cells, spread_shape;
  Ints none, fill, begin(rank), end(rank);
  bool spreads = false;
  for (std::size_t i = 0; i < rank; ++i) {
    const bool single = x[i] == 1;
    const std::int64_t step = single ? 1 : std::abs(op.steps[i]);
    if (!single && op.steps[i] < 0) y = s.slice(y, signed_of(i), x[i] - 1, 0, -1);
    cells.insert(cells.end(), {x[i], 1});
    none.insert(none.end(), {0, 0});
    fill.insert(fill.end(), {0, step - 1});
    spread_shape.push_back(x[i] * step);
    spreads = spreads || step > 1;
    begin[i] = !single && op.steps[i] < 0 ? op.starts[i] + (x[i] - 1) * op.steps[i] : op.starts[i];
    end[i] = op.shape[i] - begin[i] - x[i] * step;  // negative: the last cell's zeros reach beyond the end
  }
  if (spreads) y = s.reshape(s.pad(s.reshape(y, cells), none, fill), spread_shape);
  s.out(0, s.pad(y, begin, end));
}

void write(const Pad& op, Scope& s) {
  const Value x = s.in(0, arithmetic(s.input(0).format.element));
  if (op.mode == PadMode::Constant) return s.out(0, s.pad(x, op.begin, op.end, op.value));
  Ints pads = op.begin;
  pads.insert(pads.end(), op.end.begin(), op.end.end());
  s.out(0, s.make("Pad", {x, s.ints(pads)}, {{"mode", std::string(op.mode == PadMode::Reflect ? "reflect" : "edge")}}));
}

void write(const PadGradient& op, Scope& s) {
  const Shape& x = s.output(0).shape;
  Value dx = s.in(0, floating(s.input(0).format.element));
  if (op.mode == PadMode::Constant) {
    Ints begin, end;
    for (const std::int64_t pad : op.begin) begin.push_back(-pad);
    for (const std::int64_t pad : op.end) end.push_back(-pad);
    return s.out(0, s.pad(dx, begin, end));
  }
  for (std::size_t i = 0; i < x.size(); ++i)
    if (op.begin[i] > 0 || op.end[i] > 0) dx = fold_pads(s, dx, x.size(), i, op.begin[i], op.end[i], x[i], op.mode);
  s.out(0, dx);
}

void write(const Gather& op, Scope& s) {
  s.out(0, s.make("Gather", {s.in(0), s.in(1, arithmetic(s.input(1).format.element))}, {{"axis", op.axis}}));
}

// ScatterElements, not ScatterND: onnxruntime adds the updates of the latter in parallel.
void write(const ScatterAdd& op, Scope& s) {
  const Shape &dy = s.input(0).shape, &indices = s.input(1).shape;
  const auto axis = static_cast<std::size_t>(op.axis);
  const std::int64_t before = elements(Shape(dy.begin(), dy.begin() + op.axis)), picked = elements(indices);
  const std::int64_t after = elements(dy) / (before * picked);
  const Shape updates{before, picked, after};
  const Value dys = s.reshape(s.in(0, wide(s.input(0).format.element)), updates);
  const Value rows = s.make("Expand", {s.reshape(s.in(1, Element::I64), {1, picked, 1}), s.ints(updates)});
  const Value sums = s.make("ScatterElements", {s.filled({before, op.size, after}, 0, dys.element), rows, dys},
                            {{"axis", std::int64_t{1}}, {"reduction", std::string("add")}});
  Shape data(dy.begin(), dy.begin() + op.axis);
  data.push_back(op.size);
  data.insert(data.end(), dy.begin() + signed_of(axis + indices.size()), dy.end());
  s.out(0, s.reshape(sums, data));
}

void write(const Trilu& op, Scope& s) {
  const Value x = s.in(0, arithmetic(s.input(0).format.element));
  s.out(0,
        s.make("Trilu", {x, s.scalar(static_cast<double>(op.k), Element::I64)}, {{"upper", std::int64_t{op.upper}}}));
}

void write(const Unfold& op, Scope& s) {
  const Shape& x = s.input(0).shape;
  const std::size_t spatial = op.kernel.size();
  Ints begin{0, 0}, end{0, 0};
  begin.insert(begin.end(), op.pads_begin.begin(), op.pads_begin.end());
  end.insert(end.end(), op.pads_end.begin(), op.pads_end.end());
  Value y = s.pad(s.in(0, arithmetic(s.input(0).format.element)), begin, end);
  // One gather per axis turns it into (tap, position); then the taps move before the positions.
  Ints perm{0, 1};
  for (std::size_t i = 0; i < spatial; ++i) {
    const std::int64_t count =
        window_count(x[i + 2], op.kernel[i], op.strides[i], op.dilations[i], op.pads_begin[i], op.pads_end[i], false);
    const Value rows = s.table({op.kernel[i], count}, Element::I64, [&](std::size_t at) {
      const std::int64_t tap = signed_of(at) / count, position = signed_of(at) % count;
      return static_cast<double>(position * op.strides[i] + tap * op.dilations[i]);
    });
    y = s.make("Gather", {y, rows}, {{"axis", signed_of(2 + 2 * i)}});
    perm.push_back(signed_of(2 + 2 * i));
  }
  for (std::size_t i = 0; i < spatial; ++i) perm.push_back(signed_of(3 + 2 * i));
  s.out(0, s.reshape(s.transpose(y, perm), s.output(0).shape));
}

void write(const Fill& op, Scope& s) { s.out(0, s.filled(op.shape, op.value, op.element)); }

void write(const Iota& op, Scope& s) {
  const auto integer = [&](double v) { return s.scalar(v, Element::I64); };
  const Value count = s.make("Range", {integer(0), integer(static_cast<double>(op.count)), integer(1)});
  // Integers step as doubles do, and are then cut: 0, 0.5, 1 become 0, 0, 1.
  const bool whole = op.start == std::floor(op.start) && op.step == std::floor(op.step);
  const Element element = is_float(op.element) ? floating(op.element) : whole ? Element::I64 : Element::F64;
  Value y = s.mul(s.cast(count, element), op.step);
  if (op.start != 0) y = s.add(y, op.start);
  s.out(0, y);
}

}  // namespace monet::exporting
