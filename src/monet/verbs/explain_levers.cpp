#include "monet/verbs/explain_levers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "monet/base/parallel.h"
#include "monet/hardware/verify.h"
#include "monet/report/nest.h"
#include "monet/verbs/explain_bound.h"
#include "monet/verbs/explain_flow.h"
#include "monet/verbs/explain_inputs.h"

namespace monet {
namespace {

using cost::Costs;
using cost::Mapped;
using hardware::Core;

// A search that takes longer gives the best it has found: a gain that is too small rather than a long wait.
constexpr std::uint64_t kMostLabels = 200'000;
// Where all orderings are gone through, more than these are not tried.
constexpr double kMostLeverOrderings = 200'000;

struct Change {
  Lever lever{};
  Core core{};
  cost::MappingRequest asked{};
  bool widens = false;    // a port: energy per bit stays, though the figures are per word
  bool searches = false;  // the best mapping may be another
};

cost::Evaluation costed(const Mapped& m, const Core& core, const MapRun& run) {
  const cost::Problem problem = cost::make_problem(m.layer, core, m.spatial, run.options.quirks, run.options.clock_hz);
  cost::Evaluation e;
  e.cuts = m.evaluation.cuts;
  e.doubled = m.evaluation.doubled;
  cost::evaluate(problem, m.order, e);
  return e;
}

Costs costs_of(const Mapped& m, const Change& change, const MapRun& run) {
  const cost::Evaluation e = costed(m, change.core, run);
  if (!change.widens) return {e.energy_pj, e.latency};
  const cost::Evaluation narrow = costed(m, run.chosen_core(), run);
  return {narrow.mac_energy_pj + narrow.memory_energy_pj + e.static_energy_pj, e.latency};
}

class Changes {
 public:
  Changes(const MapRun& run, const MappedLayer& layer, const LeverScope& scope)
      : run_(run), layer_(layer), m_(*layer.mapped), scope_(scope), core_(run.chosen_core()), inputs_(run) {}

  std::vector<Change> all() {
    for (std::size_t i = 0; i < core_.memories.size(); ++i)
      if (is_asked(i)) of_memory(i);
    of_tight_ports();
    if (!scope_.operand && !scope_.memory) of_array();
    return std::move(changes_);
  }

 private:
  bool is_asked(std::size_t i) const {
    const std::vector<std::size_t>& operands = m_.problem.memories[i].operands;
    if (operands.empty() || (scope_.memory && *scope_.memory != i)) return false;
    return !scope_.operand || std::find(operands.begin(), operands.end(), *scope_.operand) != operands.end();
  }

  Change& add(std::string resource, double from, double to, std::string unit) {
    changes_.push_back({.lever = {.resource = std::move(resource), .from = from, .to = to, .unit = std::move(unit)},
                        .core = core_,
                        .asked = layer_.asked});
    return changes_.back();
  }

  // The mapping of least latency does not hang on energies.
  bool weighs_energy() const { return run_.options.criterion != cost::Criterion::Latency; }

  void less(std::string resource, std::string unit, double value, const auto& figure_of) {
    if (value <= 0) return;
    Change& change = add(std::move(resource), value, 0.9 * value, std::move(unit));
    figure_of(change.core).value *= 0.9;
    change.searches = weighs_energy();
  }

  void of_memory(std::size_t i) {
    const hardware::Memory& memory = core_.memories[i];
    of_link(i);
    for (std::size_t p = 0; p < memory.ports.size(); ++p) {
      const std::int64_t width = memory.ports[p].max_bits_per_cycle;
      if (!is_used(i, p) || inputs_.stated_width(i, p) > width || width > hardware::kMostBitsPerCycle / 2) continue;
      Change& change = add(fmt::format("{}.{}", memory.name, memory.ports[p].name), static_cast<double>(width),
                           2 * static_cast<double>(width), "bit/cycle");
      change.core.memories[i].ports[p].max_bits_per_cycle *= 2;
      change.widens = change.searches = true;
    }
    if (memory.size_bits <= hardware::kMostBits / 2) {
      const auto size = static_cast<double>(memory.size_bits);
      Change& change = add(memory.name + ".size", size, 2 * size, "bit");
      change.core.memories[i].size_bits *= 2;
      change.searches = true;
    }
    less(memory.name + ".read_energy", "pJ", memory.read_energy_pj.value,
         [i](Core& core) -> hardware::Figure& { return core.memories[i].read_energy_pj; });
    less(memory.name + ".write_energy", "pJ", memory.write_energy_pj.value,
         [i](Core& core) -> hardware::Figure& { return core.memories[i].write_energy_pj; });
    if (m_.problem.leakage_pj_per_cycle > 0)
      less(memory.name + ".leakage", "mW", memory.leakage_mw.value,
           [i](Core& core) -> hardware::Figure& { return core.memories[i].leakage_mw; });
    if (memory.latency_cycles > 1 && !run_.options.quirks.ignored_memory_options) {
      const std::int64_t half = memory.latency_cycles / 2;
      Change& change =
          add(memory.name + ".latency", static_cast<double>(memory.latency_cycles), static_cast<double>(half), "cycle");
      change.core.memories[i].latency_cycles = half;
      change.searches = true;
    }
  }

  // All ports of a memory off the chip are as wide as the link to it, where that is narrower.
  void of_link(std::size_t i) {
    const hardware::Memory& memory = core_.memories[i];
    std::int64_t width = 0;
    for (std::size_t p = 0; p < memory.ports.size(); ++p)
      if (is_used(i, p) && inputs_.stated_width(i, p) > memory.ports[p].max_bits_per_cycle)
        width = memory.ports[p].max_bits_per_cycle;
    if (width == 0) return;
    Change& change =
        add("the link to " + memory.name, static_cast<double>(width), 2 * static_cast<double>(width), "bit/cycle");
    for (std::size_t p = 0; p < memory.ports.size(); ++p)
      change.core.memories[i].ports[p].max_bits_per_cycle = std::min(inputs_.stated_width(i, p), 2 * width);
    change.widens = change.searches = true;
  }

  // Ports that are equally busy help only together.
  void of_tight_ports() {
    std::vector<std::size_t> ports = find_bound(m_, core_).ports;
    std::erase_if(ports, [&](std::size_t i) {
      const cost::PortProblem& p = m_.problem.ports[i];
      return !is_asked(p.memory) || p.max_bits > static_cast<double>(hardware::kMostBitsPerCycle / 2);
    });
    if (ports.size() < 2) return;
    std::vector<std::string> names;
    for (const std::size_t i : ports) {
      const hardware::Memory& memory = core_.memories[m_.problem.ports[i].memory];
      names.push_back(fmt::format("{}.{}", memory.name, memory.ports[m_.problem.ports[i].port].name));
    }
    Change& change = add(fmt::format("{}", fmt::join(names, " + ")), 1, 2, "factor");
    for (const std::size_t i : ports) {
      const cost::PortProblem& p = m_.problem.ports[i];
      change.core.memories[p.memory].ports[p.port].max_bits_per_cycle *= 2;
    }
    change.widens = change.searches = true;
  }

  bool is_used(std::size_t memory, std::size_t port) const {
    return std::any_of(m_.problem.ports.begin(), m_.problem.ports.end(), [&](const cost::PortProblem& p) {
      return p.memory == memory && p.port == port && !p.users.empty();
    });
  }

  void of_array() {
    const hardware::Array& array = *core_.array;
    double lanes = 1;
    for (const hardware::ArrayDimension& d : array.dimensions) lanes *= static_cast<double>(d.size);
    for (std::size_t a = 0; a < array.dimensions.size() && lanes <= static_cast<double>(hardware::kMostLanes / 2);
         ++a) {
      const std::int64_t size = array.dimensions[a].size;
      Change& change =
          add("array." + array.dimensions[a].name, static_cast<double>(size), 2 * static_cast<double>(size), "lane");
      change.core.array->dimensions[a].size *= 2;
      if (a < change.core.unrollings.size()) grow(change.core.unrollings[a], size);
      for (auto& [dimension, loops] : change.asked.spatial)
        if (dimension == array.dimensions[a].name) grow(loops, size);
      change.searches = true;
    }
    if (array.mac_energy_pj.value > 0 || !array.formats.empty()) {
      const double pj = m_.problem.mac_pj;
      if (pj <= 0) return;
      Change& change = add("array.mac_energy", pj, 0.9 * pj, "pJ");
      change.core.array->mac_energy_pj.value *= 0.9;
      for (hardware::MacCost& format : change.core.array->formats) format.energy_pj.value *= 0.9;
      change.searches = weighs_energy();
    }
  }

  // Loops that fill an array dimension go on to fill it; fewer were meant so.
  static void grow(std::vector<hardware::Unrolling>& loops, std::int64_t size) {
    double product = 1;
    for (const hardware::Unrolling& loop : loops) product *= static_cast<double>(loop.factor);
    if (!loops.empty() && product == static_cast<double>(size)) loops.front().factor *= 2;
  }

  const MapRun& run_;
  const MappedLayer& layer_;
  const Mapped& m_;
  const LeverScope& scope_;
  const Core& core_;
  const ChipInputs inputs_;
  std::vector<Change> changes_;
};

void cost_change(const MapRun& run, const MappedLayer& layer, Change& change) {
  Lever& lever = change.lever;
  lever.kept = lever.anew = costs_of(*layer.mapped, change, run);
  if (!change.searches) return;
  cost::MapOptions options = run.options;
  options.most_labels = std::min(options.most_labels, kMostLabels);
  if (options.quirks.greedy_allocation &&
      cost::orderings_to_try(layer.layer, change.core, change.asked, options) > kMostLeverOrderings)
    return;
  const cost::MapResult found = cost::map_layer(layer.layer, change.core, change.asked, options);
  lever.is_searched = true;
  if (!found.mapped) return;
  const Costs costs = costs_of(*found.mapped, change, run);
  if (cost::is_better(options.criterion, costs, lever.kept)) lever.anew = costs;
}

std::string short_number(double value) { return value < 1000 ? fmt::format("{:.4g}", value) : quantity(value); }

}  // namespace

std::vector<Lever> find_levers(const MapRun& run, const MappedLayer& layer, const LeverScope& scope) {
  std::vector<Change> changes = Changes(run, layer, scope).all();
  parallel_for(changes.size(), scope.threads, [&](std::size_t i) { cost_change(run, layer, changes[i]); });
  const cost::Evaluation& now = layer.mapped->evaluation;
  const auto gain = [&](const Lever& lever, bool energy) {
    const double whole = energy ? now.energy_pj : now.latency;
    const double least = energy ? std::min(lever.kept.energy_pj, lever.anew.energy_pj)
                                : std::min(lever.kept.latency, lever.anew.latency);
    return whole > 0 ? (whole - least) / whole : 0;
  };
  std::vector<Lever> levers;
  for (const Change& change : changes)
    if (gain(change.lever, scope.by_energy) >= kLeastGain ||
        (!scope.only_that && gain(change.lever, !scope.by_energy) >= kLeastGain))
      levers.push_back(change.lever);
  std::stable_sort(levers.begin(), levers.end(), [&](const Lever& a, const Lever& b) {
    const double first = gain(a, scope.by_energy), second = gain(b, scope.by_energy);
    return first != second ? first > second : gain(a, !scope.by_energy) > gain(b, !scope.by_energy);
  });
  return levers;
}

std::string change_text(const Lever& lever) {
  if (lever.unit == "bit" && lever.to >= 8192)
    return fmt::format("{} {} -> {}", lever.resource, size_text(lever.from), size_text(lever.to));
  if (lever.unit == "pJ" || lever.unit == "mW")
    return fmt::format("{} {} -> {} {}", lever.resource, short_number(lever.from), short_number(lever.to), lever.unit);
  if (lever.unit == "factor") return lever.resource + ", twice the bits/cycle";
  const std::string unit = lever.unit == "bit/cycle" ? "bits/cycle" : lever.unit + "s";
  return fmt::format("{} {} -> {} {}", lever.resource, exact_number(lever.from), exact_number(lever.to), unit);
}

}  // namespace monet
