// Cutting of work that makes each element from elements at the same place, and of the losses.
#include "monet/graph/cut_rules.h"
#include "monet/graph/infer.h"

namespace monet::cutting {
namespace {

// Every operand has or broadcasts to the shape of the result. Gives the region made.
Region same_place(const Op& op, Cutter& c) {
  Region region = c.parallel("A", c.out());
  for (std::size_t i = 0; i < c.inputs(); ++i)
    if (c.input(i)) c.read(i, broadcast_part(c.in(i), region));
  c.write_all(region);
  c.become(op);
  return region;
}

Ints origin_of(const Region& region) {
  Ints origin;
  for (const Range& r : region.axes) origin.push_back(r.begin);
  return origin;
}

// Labels [N,…] of log probabilities [N,C,…]. Which labels count decides the divisor of a mean: it takes all of them to
// know. A part of the classes must know where it stands among them.
template <class LossOp>
void read_labels(LossOp op, std::size_t operand, std::size_t axis, const Shape& log_prob, const Region& region,
                 Cutter& c) {
  const bool cuts_classes = region.axes[axis].size() != log_prob[axis];
  if ((op.mean && !c.is_whole()) || cuts_classes) {
    op.part = {log_prob, origin_of(region), {}, {}};
    c.read(operand, whole(c.in(operand)));
  } else {
    Region labels = region;
    labels.axes.erase(labels.axes.begin() + static_cast<std::ptrdiff_t>(axis));
    c.read(operand, std::move(labels));
  }
  c.become(op);
}

// (dloss, log_prob, labels) -> gradient
template <class LossOp>
void loss_gradient(const LossOp& op, std::size_t axis, Cutter& c) {
  const Region region = c.parallel("A", c.out());
  c.read(0, whole(c.in(0)));
  c.read(1, region);
  read_labels(op, 2, axis, c.in(1), region, c);
  c.write(0, region);
}

}  // namespace

void rule(const Unary& op, Cutter& c) { same_place(op, c); }
void rule(const UnaryGradient& op, Cutter& c) { same_place(op, c); }
void rule(const Binary& op, Cutter& c) { same_place(op, c); }
void rule(const Sum& op, Cutter& c) { same_place(op, c); }
void rule(const Select& op, Cutter& c) { same_place(op, c); }
void rule(const Cast& op, Cutter& c) { same_place(op, c); }

void rule(const Dropout& op, Cutter& c) {
  const Region region = same_place(op, c);
  if (c.is_whole()) return;
  Dropout part = op;
  part.part = {c.out(), origin_of(region), {}, {}};
  c.become(part);
}

void rule(const DropoutGradient& op, Cutter& c) {
  const Region region = same_place(op, c);
  if (c.is_whole() || c.input(1)) return;  // with the mask at hand nothing is drawn
  DropoutGradient part = op;
  part.part = {c.out(), origin_of(region), {}, {}};
  c.become(part);
}

// Outputs may be absent: the inputs tell the shape.
void rule(const Steps& op, Cutter& c) {
  Shape shape;
  for (std::size_t i = 0; i < c.inputs(); ++i) shape = broadcast(shape, c.in(i));
  const Region region = c.parallel("A", shape);
  for (std::size_t i = 0; i < c.inputs(); ++i) c.read(i, broadcast_part(c.in(i), region));
  for (std::size_t o = 0; o < op.outputs.size(); ++o) c.write(o, region);
  c.become(op);
}

void rule(const NegativeLogLikelihood& op, Cutter& c) {
  const Shape& log_prob = c.in(0);
  Region region;
  for (std::size_t i = 0; i < log_prob.size(); ++i)
    region.axes.push_back(c.reduction({"R", static_cast<std::int64_t>(i)}, log_prob[i]));
  c.combine(CombineKind::Sum);  // of a mean too: each part divides by the number of all labels that count
  c.read(0, region);
  read_labels(op, 1, 1, log_prob, region, c);
  c.write(0, {});
}

void rule(const CrossEntropyGradient& op, Cutter& c) { loss_gradient(op, static_cast<std::size_t>(op.axis), c); }
void rule(const NegativeLogLikelihoodGradient& op, Cutter& c) { loss_gradient(op, 1, c); }

}  // namespace monet::cutting
