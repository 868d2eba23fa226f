#include "monet/verbs/explain_bound.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "monet/report/nest.h"
#include "monet/verbs/explain_flow.h"

namespace monet {
namespace {

using cost::Mapped;
using hardware::Core;

constexpr double kWorthNaming = 0.01;  // of the latency
constexpr double kAsBusy = 0.95;       // as the port that is waited for

// Cycles the array waits for each port. They sum to the stall: waits are means over tiles of different sizes, and
// what that leaves is given to the port that is waited for most.
std::vector<double> stall_of_ports(const Mapped& m) {
  const cost::Evaluation& e = m.evaluation;
  std::vector<double> stall(m.problem.ports.size(), 0);
  if (stall.empty() || e.stall == 0) return stall;
  double sum = 0;
  for (const cost::Wait& wait : e.waits) {
    if (m.problem.quirks.worst_port) break;  // then only one port is waited for
    stall[wait.port] += wait.cycles * wait.periods;
    sum += wait.cycles * wait.periods;
  }
  std::size_t most = 0;
  for (std::size_t i = 1; i < stall.size(); ++i)
    if (sum > 0 ? stall[i] > stall[most] : e.ports[i].stall > e.ports[most].stall) most = i;
  stall[most] += e.stall - sum;
  return stall;
}

std::string percent(double part, double whole) { return fmt::format("{:.3g} %", whole > 0 ? 100 * part / whole : 0); }

void split_latency(const Mapped& m, const Core& core, Bound& bound) {
  const cost::Evaluation& e = m.evaluation;
  const double idle = e.temporal_cycles - e.ideal_cycles, transfers = e.onload + e.offload;
  bound.latency.push_back({"the array at work, all lanes", e.ideal_cycles});
  bound.latency.push_back({"lanes without work", idle});
  const std::vector<double> stall = stall_of_ports(m);
  std::size_t worst = 0;
  for (std::size_t i = 0; i < stall.size(); ++i) {
    if (stall[i] > stall[worst]) worst = i;
    if (stall[i] != 0)
      bound.latency.push_back(
          {"waiting for " + port_name(m, core, i), stall[i], std::nullopt, m.problem.ports[i].memory});
  }
  bound.latency.push_back({"first loads, which nothing hides", e.onload});
  bound.latency.push_back({"last stores, which nothing hides", e.offload});
  const double waited = stall.empty() ? 0 : stall[worst], least = kWorthNaming * e.latency;
  if (waited > least && waited >= idle && waited >= transfers) {
    const cost::PortProblem& port = m.problem.ports[worst];
    bound.resource =
        fmt::format("{}.{}", core.memories[port.memory].name, core.memories[port.memory].ports[port.port].name);
    bound.latency_by = fmt::format("{}, {:g} bits a cycle: the array waits for it {} of the time",
                                   port_name(m, core, worst), port.max_bits, percent(waited, e.latency));
    // To widen one port is of no use where another is as busy.
    std::vector<std::string> others;
    for (std::size_t i = 0; i < m.problem.ports.size(); ++i) {
      if (busy_cycles(m, i) < kAsBusy * busy_cycles(m, worst)) continue;
      bound.ports.push_back(i);
      if (i != worst) others.push_back(port_name(m, core, i));
    }
    if (!others.empty()) bound.latency_by += fmt::format("; as busy: {}", fmt::join(others, ", "));
  } else if (idle > least && idle >= transfers) {
    bound.resource = "lanes";
    bound.latency_by = fmt::format("the shape of the array: {} of its lanes have no work under this unrolling",
                                   percent(idle, e.temporal_cycles));
  } else if (transfers > least) {
    bound.resource = "transfers";
    bound.latency_by =
        fmt::format("first loads and last stores, which nothing hides: {} of the time", percent(transfers, e.latency));
  } else {
    bound.resource = "array";
    bound.latency_by =
        fmt::format("the array: all its lanes are at work {} of the time", percent(e.ideal_cycles, e.latency));
  }
}

void split_energy(const Mapped& m, const Core& core, Bound& bound) {
  const cost::Evaluation& e = m.evaluation;
  bound.energy.push_back({"arithmetic", e.mac_energy_pj});
  bound.energy.push_back({"leakage of all memories", e.static_energy_pj});
  for (std::size_t o = 0; o < m.layer.operands.size(); ++o)
    for (std::size_t l = 0; l < m.problem.operands[o].memories; ++l)
      for (const hardware::Direction d : hardware::kDirections) {
        const std::size_t i = m.problem.operands[o].memory[l];
        const cost::MemoryProblem& memory = m.problem.memories[i];
        const double words = e.levels[o][l].flows[static_cast<std::size_t>(d)].words;
        if (words == 0) continue;
        bound.energy.push_back(
            {fmt::format("{}@{} {}", m.layer.operands[o].name, core.memories[i].name, flow_text(m, core, o, l, d)),
             words * (is_read(d) ? memory.read_pj : memory.write_pj), o, i});
      }
  std::stable_sort(bound.energy.begin(), bound.energy.end(),
                   [](const BoundPart& a, const BoundPart& b) { return a.value > b.value; });
  const BoundPart& most = bound.energy.front();
  bound.energy_by = fmt::format("{}: {} of the energy", most.name, percent(most.value, e.energy_pj));
}

}  // namespace

Bound find_bound(const Mapped& m, const Core& core) {
  Bound bound;
  split_latency(m, core, bound);
  split_energy(m, core, bound);
  return bound;
}

}  // namespace monet
