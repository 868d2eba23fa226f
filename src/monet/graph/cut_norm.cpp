// Cutting of reductions and of the passes of normalisations.
#include <algorithm>

#include "monet/graph/cut_rules.h"

namespace monet::cutting {
namespace {

constexpr const char* kIntegerMean = "a mean of integers is rounded once, of the whole sum";
constexpr const char* kNoMean = "parts of a variance are put together with their means, which are not kept";

CombineKind combination_of(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::Sum:
    case ReduceKind::SumSquare: return CombineKind::Sum;
    case ReduceKind::Mean: return CombineKind::Mean;
    case ReduceKind::Max: return CombineKind::Max;
    case ReduceKind::Min: return CombineKind::Min;
  }
  return CombineKind::None;
}

// Where the box stands in x, and in what elements of x share: statistics, parameters.
struct NormBox {
  Region x, statistics, parameters;
  std::int64_t groups = 1;
};

bool by_axis(NormKind kind) { return kind == NormKind::Layer || kind == NormKind::Rms; }

// What one axis of x is to the result of a pass.
struct AxisRole {
  LoopKind kind = LoopKind::Parallel;
  std::int64_t number = 0;  // of the output's axis if parallel, of x's if reduced
};

AxisRole role_of(const NormPart& op, std::size_t axis) {
  const auto at = static_cast<std::int64_t>(axis);
  const bool layer = by_axis(op.kind), group = op.kind == NormKind::Group;
  const bool normalised = layer ? at >= op.axis : group ? at >= 1 : at != 1;
  const bool has_parameter = layer ? at >= op.axis : at == 1;
  switch (op.pass) {
    case NormPass::Statistics:
    case NormPass::GroupSums:
      if (normalised) return {LoopKind::Reduction, at};
      return {LoopKind::Parallel, layer || group ? at : 0};
    case NormPass::ParameterSums:
      if (!has_parameter) return {LoopKind::Reduction, at};
      return {LoopKind::Parallel, layer ? at - op.axis : 0};
    case NormPass::Apply:
    case NormPass::InputGradient:
    case NormPass::RunningUpdate: break;
  }
  return {LoopKind::Parallel, at};
}

NormBox box_of(const NormPart& op, const Shape& x, Cutter& c) {
  NormBox box;
  // A variance alone cannot be put together from its parts.
  const bool mergeable = op.pass != NormPass::Statistics || op.kind == NormKind::Rms || c.output(0);
  Range group{0, 1}, channel;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const AxisRole role = role_of(op, i);
    const bool reduced = role.kind == LoopKind::Reduction;
    const Name name{reduced ? "R" : "A", role.number};
    Range range;
    if (i == 1 && op.kind == NormKind::Group && op.groups > 1) {
      const std::int64_t together = x[1] / op.groups;
      group = c.parallel({"G"}, op.groups);
      channel =
          reduced && !mergeable ? c.fixed(name, together, kNoMean) : c.inside(role.kind, name, together, group, "G");
      range = {group.begin * together + channel.begin, (group.end - 1) * together + channel.end};
    } else {
      range = !reduced ? c.parallel(name, x[i]) : mergeable ? c.reduction(name, x[i]) : c.fixed(name, x[i], kNoMean);
    }
    box.x.axes.push_back(range);
  }
  box.groups = group.size();
  const std::vector<Range>& axes = box.x.axes;
  if (by_axis(op.kind)) {
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const bool inside = static_cast<std::int64_t>(i) >= op.axis;
      box.statistics.axes.push_back(inside ? Range{0, 1} : axes[i]);
      if (inside) box.parameters.axes.push_back(axes[i]);
    }
  } else {
    box.parameters.axes = {axes[1]};
    box.statistics.axes = op.kind == NormKind::Group ? std::vector{axes[0], group} : std::vector{axes[1]};
  }
  return box;
}

}  // namespace

void rule(const Reduce& op, Cutter& c) {
  const Shape& x = c.in(0);
  const bool rounds = op.kind == ReduceKind::Mean && is_integer(c.first_output().format.element);
  Region read, made;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto axis = static_cast<std::int64_t>(i);
    if (std::find(op.axes.begin(), op.axes.end(), axis) == op.axes.end()) {
      made.axes.push_back(c.parallel({"A", static_cast<std::int64_t>(made.axes.size())}, x[i]));
      read.axes.push_back(made.axes.back());
    } else {
      read.axes.push_back(rounds ? c.fixed({"R", axis}, x[i], kIntegerMean) : c.reduction({"R", axis}, x[i]));
      if (op.keep) made.axes.push_back({0, 1});
    }
  }
  c.combine(combination_of(op.kind));
  c.read(0, std::move(read));
  c.write(0, std::move(made));
  c.become(op);
}

void rule(const NormPart& op, Cutter& c) {
  if (op.pass == NormPass::RunningUpdate) {
    const Region region = c.parallel("A", c.in(0));
    for (std::size_t i = 0; i < c.inputs(); ++i) c.read(i, region);
    c.write_all(region);
    return c.become(op);
  }
  const Shape& x = c.in(0);
  const NormBox box = box_of(op, x, c);
  NormPart part = op;
  if (op.kind == NormKind::Group) part.groups = box.groups;
  c.read(0, box.x);
  const auto read_statistics = [&](std::size_t mean) {
    c.read(mean, box.statistics), c.read(mean + 1, box.statistics);
  };
  switch (op.pass) {
    case NormPass::Statistics:
      c.combine(CombineKind::Statistics);
      c.write_all(box.statistics);
      break;
    case NormPass::Apply:
      read_statistics(1);
      c.read(3, box.parameters), c.read(4, box.parameters);
      c.write(0, box.x);
      break;
    case NormPass::ParameterSums:
      c.combine(CombineKind::Sum);
      c.read(1, box.x);
      read_statistics(2);
      c.write_all(box.parameters);
      break;
    case NormPass::GroupSums:
      c.combine(CombineKind::Sum);
      c.read(1, box.x);
      read_statistics(2);
      c.read(4, box.parameters);
      c.write_all(box.statistics);
      break;
    case NormPass::InputGradient: {
      // The divisor is the number of elements behind a statistic, here or elsewhere.
      const std::int64_t count = elements(x) / std::max<std::int64_t>(1, elements(c.in(3)));
      if (!c.is_whole()) part.part.count = {count};
      c.read(1, box.x);
      read_statistics(2);
      c.read(4, box.parameters);
      read_statistics(5);
      c.write(0, box.x);
      break;
    }
    case NormPass::RunningUpdate: break;
  }
  c.become(part);
}

}  // namespace monet::cutting
