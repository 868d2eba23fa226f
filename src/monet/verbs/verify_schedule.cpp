#include "monet/verbs/verify_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "monet/base/rng.h"
#include "monet/interpret/run.h"
#include "monet/report/nest.h"
#include "monet/report/table.h"

namespace monet {
namespace {

constexpr double kSplitTolerance = 1e-6;
// What inputs are changed by to see what roundings do, and how many times as far a sum in another order may be off.
constexpr double kRounding = 1e-15, kMoreRoundings = 1000;
constexpr std::size_t kFaultsShown = 5;

bool has_split_sums(const Evaluated& mode) {
  for (std::size_t n = 0; n < mode.decided.nodes.size(); ++n)
    for (const auto* splits : {&mode.decided.nodes[n].across, &mode.decided.nodes[n].tiles})
      for (const plan::LoopSplit& split : *splits)
        if (split.parts > 1 && mode.facts[n].loops[split.loop].kind == LoopKind::Reduction) return true;
  return false;
}

VerifiedTensor compared(const std::string& name, const Array<double>& ours, const Array<double>* other) {
  VerifiedTensor out{.name = name, .is_there = other != nullptr && other->data.size() == ours.data.size()};
  if (!out.is_there) return out;
  double scale = 0, most = 0;
  bool exact = true;
  for (std::size_t i = 0; i < ours.data.size(); ++i) {
    const double a = ours.data[i], b = other->data[i];
    const bool same = a == b || (std::isnan(a) && std::isnan(b));
    exact = exact && same;
    if (same) continue;
    scale = std::max(scale, std::abs(a));
    most = std::max(most, std::isfinite(a - b) ? std::abs(a - b) : HUGE_VAL);
  }
  for (const double a : ours.data)
    if (std::isfinite(a)) scale = std::max(scale, std::abs(a));
  out.is_exact = exact;
  out.error = exact ? 0 : scale > 0 ? most / scale : most;
  return out;
}

// The same numbers, each a few roundings away.
Values<double> jittered(const Graph& graph, Values<double> values) {
  std::uint64_t drawn = 0;
  for (const Tensor& t : graph.tensors) {
    const auto at = values.find(t.name);
    if (at == values.end() || !is_float(t.format.element)) continue;
    for (double& v : at->second.data) v *= 1 + (random_bits(3, 5, drawn++) % 2 == 0 ? kRounding : -kRounding);
  }
  return values;
}

// Differences of almost equal numbers, such as normalisations over two of them, and updates by the sign of a gradient
// that is nearly nothing: of these, roundings leave nothing certain.
void doubt(const Graph& graph, const Values<double>& sources, const Values<double>& expected,
           std::vector<VerifiedTensor>& tensors) {
  const auto is_far = [](const VerifiedTensor& t) { return t.is_there && !t.is_exact && t.error > kSplitTolerance; };
  if (std::none_of(tensors.begin(), tensors.end(), is_far)) return;
  const Values<double> rounded = run<double>(graph, jittered(graph, sources));
  for (VerifiedTensor& t : tensors)
    if (is_far(t) && t.error <= kMoreRoundings * compared(t.name, expected.at(t.name), &rounded.at(t.name)).error)
      t.is_certain = false;
}

}  // namespace

VerifiedSchedule verify_schedule(const VerifyScheduleRequest& request) {
  EvaluateRequest asked = request.evaluate;
  asked.model.load_weights = true;
  if (asked.mode == "both")
    throw InputError(
        Diagnostic{.where = "--mode", .message = "one schedule at a time", .hint = "training or inference"});
  if (asked.iterations != 1)
    throw InputError(
        Diagnostic{.where = "--iterations", .message = "one iteration at a time is carried out on numbers"});
  VerifiedSchedule out{.run = evaluate(asked)};
  const Evaluated& mode = out.run.modes.front();
  if (!mode.is_feasible()) return out;
  out.splits_sums = has_split_sums(mode);
  try {
    const Values<double> sources = initial_values<double>(mode.graph, request.seed, mode.prepared.values);
    const Values<double> expected = run<double>(mode.graph, sources);
    const schedule::Evaluation& e = mode.result();
    out.replayed = replay::replay(mode.graph, *mode.storage, mode.facts, e.tiled, e.timeline, sources);
    for (const auto& [name, array] : expected) {
      const auto at = out.replayed.values.find(name);
      out.tensors.push_back(compared(name, array, at == out.replayed.values.end() ? nullptr : &at->second));
    }
    if (out.splits_sums) doubt(mode.graph, sources, expected, out.tensors);
  } catch (const ValueError& error) {
    throw InputError(Diagnostic{.file = request.evaluate.model.model, .message = error.what()});
  }
  out.agrees = out.replayed.faults.empty();
  for (const VerifiedTensor& t : out.tensors) {
    if (t.is_exact) ++out.exact;
    if (!t.is_certain) ++out.uncertain;
    if (t.is_certain && t.error > out.worst_error) {
      out.worst_error = t.error;
      out.worst = t.name;
    }
    out.agrees =
        out.agrees && t.is_there && (t.is_exact || !t.is_certain || (out.splits_sums && t.error <= kSplitTolerance));
  }
  return out;
}

std::string text(const VerifiedSchedule& v, const VerifyScheduleRequest& request) {
  const Evaluated& mode = v.run.modes.front();
  std::string out = fmt::format("{}, {} on {}\n", request.evaluate.model.model, mode.mode, v.run.loaded.hardware.name);
  if (!mode.is_feasible()) {
    const auto& infeasible = std::get<schedule::Infeasible>(mode.outcome);
    return out + fmt::format("there is no schedule: {}\n", infeasible.reason);
  }
  out += fmt::format("carried out {} tiles and {} transfers, {} moved, {} cycles\n", grouped(v.replayed.tiles),
                     grouped(v.replayed.transfers), byte_count(static_cast<std::uint64_t>(v.replayed.bytes_moved)),
                     quantity(mode.result().latency));
  out += fmt::format("compared with the interpreter: {} of {} results equal bit for bit", v.exact, v.tensors.size());
  if (v.exact < v.tensors.size())
    out += fmt::format(", {} to {} of their largest value ({})",
                       v.uncertain > 0 ? fmt::format("{}", v.tensors.size() - v.exact - v.uncertain) : "the others",
                       scientific(v.worst_error), v.worst);
  out += "\n";
  if (v.splits_sums) out += "sums were made in parts: their last bits may differ\n";
  if (v.uncertain > 0)
    out += fmt::format(
        "{} others are decided by rounding: inputs changed by 1e-15 move them by a thousandth of it or more\n",
        v.uncertain);
  for (std::size_t i = 0; i < v.replayed.faults.size() && i < kFaultsShown; ++i)
    out += fmt::format("fault at cycle {}: {}\n", quantity(v.replayed.faults[i].time), v.replayed.faults[i].what);
  for (const VerifiedTensor& t : v.tensors)
    if (!t.is_there) out += fmt::format("'{}' never came home\n", t.name);
  return out + (v.agrees ? "the schedule is right: halos, lifetimes, order, addresses\n" : "the schedule is WRONG\n");
}

Json json(const VerifiedSchedule& v) {
  Json faults = Json::array(), differing = Json::array();
  for (const replay::Fault& fault : v.replayed.faults)
    faults.push(Json::object().set("cycle", fault.time).set("what", fault.what));
  for (const VerifiedTensor& t : v.tensors)
    if (!t.is_exact)
      differing.push(Json::object()
                         .set("name", t.name)
                         .set("error", t.error)
                         .set("there", t.is_there)
                         .set("certain", t.is_certain));
  const Evaluated& mode = v.run.modes.front();
  Json out = Json::object();
  out.set("feasible", mode.is_feasible()).set("agrees", v.agrees).set("sums_in_parts", v.splits_sums);
  out.set("tiles", v.replayed.tiles).set("transfers", v.replayed.transfers).set("bytes_moved", v.replayed.bytes_moved);
  out.set("results", v.tensors.size())
      .set("exact", v.exact)
      .set("uncertain", v.uncertain)
      .set("worst_error", v.worst_error)
      .set("worst", v.worst);
  out.set("differing", std::move(differing)).set("faults", std::move(faults));
  if (!mode.is_feasible()) out.set("reason", std::get<schedule::Infeasible>(mode.outcome).reason);
  return out;
}

}  // namespace monet
