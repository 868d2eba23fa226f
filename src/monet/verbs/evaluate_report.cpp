#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "monet/base/shell.h"
#include "monet/report/nest.h"
#include "monet/report/page.h"
#include "monet/report/table.h"
#include "monet/verbs/evaluate.h"

namespace monet {
namespace {

constexpr std::size_t kNodesShown = 8, kBoundsShown = 4, kStoresShown = 6;

template <class Values, class Name>
std::string parts_text(const Values& values, double sum, Name name_of) {
  std::string out;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i] > 0) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", name_of(i), share_text(values[i], sum));
  return out;
}

std::string_view phase_name(std::size_t p) { return name(static_cast<Phase>(p)); }

std::string latency_text(const plan::Chip& chip, const schedule::Evaluation& e) {
  std::string out = fmt::format("latency   {} cycles", quantity(e.latency));
  if (e.clock_hz > 0) out += fmt::format(" = {} at {:.4g} MHz", seconds_text(e.latency / e.clock_hz), e.clock_hz / 1e6);
  if (e.iteration_ends.size() > 1)
    out += fmt::format(" for {} iterations, {} from one to the next", e.iteration_ends.size(),
                       quantity(std::round(steady_cycles(e))));
  out += fmt::format("\n          {}\n", parts_text(e.latency_by_phase, e.latency, phase_name));
  std::string bound;
  double shown = 0;
  const std::vector<TimeSpent> bounds = time_spent(chip, e);
  for (std::size_t i = 0; i < bounds.size() && i < kBoundsShown; ++i) {
    bound += fmt::format("{}{} {}", i > 0 ? ", " : "", bounds[i].resource, share_text(bounds[i].cycles, e.latency));
    shown += bounds[i].cycles;
  }
  if (bounds.size() > kBoundsShown) bound += fmt::format(", others {}", share_text(e.latency - shown, e.latency));
  return out + fmt::format("          spent on {}\n", bound);
}

std::string energy_lines(const schedule::Evaluation& e) {
  const double total = e.energy.total();
  std::vector<std::pair<std::string, double>> parts{{"compute", e.energy.compute}};
  for (const auto& [level, pj] : e.energy.memory) parts.emplace_back(level, pj);
  parts.emplace_back("links", e.energy.link);
  parts.emplace_back("off-chip", e.energy.offchip);
  parts.emplace_back("leakage", e.energy.leakage);
  std::string list;
  for (const auto& [part, pj] : parts)
    if (pj > 0) list += fmt::format("{}{} {}", list.empty() ? "" : ", ", part, share_text(pj, total));
  return fmt::format("energy    {}\n          {}\n          {}\n", energy_text(total), list,
                     parts_text(e.energy_by_phase, total, phase_name));
}

std::string memory_lines(const plan::Chip& chip, const schedule::Evaluation& e) {
  std::string out;
  // Stores that are alike and equally full are one line.
  std::vector<std::size_t> order;
  for (std::size_t s = 0; s < chip.machine.stores.size(); ++s)
    if (e.stores[s].peak_bytes > 0) order.push_back(s);
  const std::size_t home = chip.machine.home.index();
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const auto full = [&](std::size_t s) {
      return e.stores[s].peak_bytes / static_cast<double>(chip.machine.stores[s].bytes);
    };
    return (a == home) != (b == home) ? a == home : full(a) > full(b);
  });
  for (std::size_t i = 0; i < order.size() && i < kStoresShown; ++i) {
    const std::size_t s = order[i];
    const schedule::StoreUse& use = e.stores[s];
    out += fmt::format("{}{} of {} in {} at cycle {}: {}\n", i == 0 ? "memory    " : "          ",
                       byte_count(use.peak_bytes), byte_count(static_cast<double>(chip.machine.stores[s].bytes)),
                       chip.machine.stores[s].name, quantity(use.peak_time),
                       parts_text(use.at_peak, use.peak_bytes,
                                  [](std::size_t u) { return name(static_cast<schedule::MemoryUse>(u)); }));
  }
  if (order.size() > kStoresShown)
    out += fmt::format("          … {} more (--json lists all)\n", order.size() - kStoresShown);
  const schedule::StoreUse& use = e.stores[home];
  out += fmt::format("off-chip  {} read, {} written\n", byte_count(use.bytes_out), byte_count(use.bytes_in));
  return out;
}

std::string work_line(const plan::Chip& chip, const schedule::Evaluation& e) {
  double macs = 0, ops = 0;
  for (std::size_t p = 0; p < kPhases; ++p) {
    macs += e.macs[p];
    ops += e.vector_ops[p];
  }
  std::string used;
  std::vector<std::pair<double, std::string>> cores;
  for (std::size_t c = 0; c < chip.cores.size(); ++c)
    cores.emplace_back(core_utilisation(chip, e, c), chip.cores[c].core.name);
  std::stable_sort(cores.begin(), cores.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  constexpr std::size_t kCoresShown = 6;
  for (std::size_t i = 0; i < cores.size() && i < kCoresShown; ++i)
    used += fmt::format("{}{} {}", i > 0 ? ", " : "", cores[i].second, share_text(cores[i].first, 1));
  if (cores.size() > kCoresShown) used += ", …";
  return fmt::format("work      {} multiply-adds, {} element operations; of their peak: {}\n", quantity(macs),
                     quantity(ops), used);
}

std::string node_table(const EvaluateRun& run, const Evaluated& mode) {
  const schedule::Evaluation& e = mode.result();
  std::vector<std::size_t> order;
  for (std::size_t n = 0; n < e.nodes.size(); ++n)
    if (e.nodes[n].tiles > 0) order.push_back(n);
  // What the path that decides the latency spends on each node.
  std::vector<double> on_path(e.nodes.size(), 0);
  for (const schedule::PathStep& step : e.path) {
    const std::uint32_t tile =
        step.kind == schedule::PathStep::Kind::Tile ? step.index : e.timeline.transfers[step.index].tile.value;
    on_path[e.tiled.tiles[tile].node.index()] += step.to - step.from;
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return on_path[a] > on_path[b]; });
  Table table({"nodes that decide the latency", "phase", "on", "tiles", "cycles of it", "busy", "energy"});
  for (std::size_t i = 0; i < order.size() && i < kNodesShown; ++i) {
    const std::size_t n = order[i];
    const plan::NodeChoice& choice = mode.decided.nodes[n];
    const std::string& core = run.chip.cores[choice.cores[0]].core.name;
    table.row({mode.graph.nodes[n].name, std::string(name(mode.graph.nodes[n].phase)),
               choice.cores.size() > 1 ? fmt::format("{} + {}", core, choice.cores.size() - 1) : core,
               grouped(e.nodes[n].tiles), quantity(on_path[n]), quantity(e.nodes[n].busy),
               energy_text(e.nodes[n].energy_pj)});
  }
  if (order.size() > kNodesShown) table.row({fmt::format("… {} more (--json lists all)", order.size() - kNodesShown)});
  return table.text("  ");
}

std::string mode_text(const EvaluateRun& run, const Evaluated& mode, const EvaluateRequest& request) {
  const Prepared& p = mode.prepared;
  std::string out = fmt::format("{}, {}", request.model.model, mode.mode);
  if (p.is_training && !p.imported_training)
    out += fmt::format(" ({}, {}, batch {})", p.precision, p.optimizer_name,
                       request.model.batch ? std::to_string(*request.model.batch) : "1");
  out += fmt::format(" on {}", run.loaded.hardware.name);
  if (!mode.is_feasible()) {
    const auto& infeasible = std::get<schedule::Infeasible>(mode.outcome);
    out += fmt::format(": not possible\n{}\n", infeasible.reason);
    for (const std::string& lever : infeasible.levers) out += fmt::format("  would help: {}\n", lever);
    return out;
  }
  const schedule::Evaluation& e = mode.result();
  out += fmt::format(": {} nodes in {} groups, {} tiles\n\n", grouped(mode.graph.nodes.size()),
                     grouped(mode.decided.groups.size()), grouped(e.tiled.tiles.size()));
  out += latency_text(run.chip, e) + energy_lines(e) + memory_lines(run.chip, e) + work_line(run.chip, e);
  out += "\n" + node_table(run, mode);
  for (const std::string& note : mode.notes) out += fmt::format("note: {}\n", note);
  return out;
}

}  // namespace

std::vector<TimeSpent> time_spent(const plan::Chip& chip, const schedule::Evaluation& e) {
  const plan::Machine& machine = chip.machine;
  std::map<std::string, double> sums;
  for (const schedule::PathStep& step : e.path) {
    std::string resource;
    if (step.kind == schedule::PathStep::Kind::Tile) {
      resource = machine.units[e.tiled.problem.tiles[step.index].unit.index()].name;
    } else {
      const schedule::Transfer& t = e.timeline.transfers[step.index];
      const plan::Route& route = machine.route(t.from, t.to);
      // The narrowest of the way decides.
      double least =
          std::min(machine.stores[t.from.index()].bytes_per_cycle, machine.stores[t.to.index()].bytes_per_cycle);
      resource =
          machine.stores[least == machine.stores[t.from.index()].bytes_per_cycle ? t.from.index() : t.to.index()].name;
      for (const plan::ChannelId c : route.channels)
        if (machine.channels[c.index()].bytes_per_cycle <= least) {
          least = machine.channels[c.index()].bytes_per_cycle;
          resource = machine.channels[c.index()].name;
        }
      // What comes after it has passed them is the port's.
      const double late =
          t.end > t.passed ? std::clamp(step.to - std::max(step.from, t.passed), 0.0, step.to - step.from) : 0;
      if (late > 0) {
        const plan::Store &from = machine.stores[t.from.index()], &to = machine.stores[t.to.index()];
        sums["port " + machine.ports[(to.fill ? *to.fill : *from.drain).index()].name] += late;
      }
      sums[resource] += step.to - step.from - late;
      continue;
    }
    sums[resource] += step.to - step.from;
  }
  std::vector<TimeSpent> bounds;
  for (const auto& [resource, cycles] : sums) bounds.push_back({resource, cycles});
  std::stable_sort(bounds.begin(), bounds.end(),
                   [](const TimeSpent& a, const TimeSpent& b) { return a.cycles > b.cycles; });
  return bounds;
}

std::string page(const EvaluateRun& run, const Evaluated& mode, const EvaluateRequest& request) {
  PageOptions options{.model = request.model.model, .chip = run.loaded.hardware.name, .mode = mode.mode};
  if (request.model.batch) options.details.emplace_back("batch", std::to_string(*request.model.batch));
  options.details.emplace_back("precision", mode.prepared.precision);
  if (mode.prepared.is_training && !mode.prepared.imported_training)
    options.details.emplace_back("optimizer", mode.prepared.optimizer_name);
  if (!request.plan.empty()) options.details.emplace_back("plan", request.plan);
  options.command =
      fmt::format("monet evaluate {} --on {}{}{}", shell_word(request.model.model), shell_word(request.hardware),
                  mode.mode == "inference" ? " --mode inference" : "", request.fused_updates ? " --updates fused" : "");
  return page_html(mode.graph, run.chip, mode.result(), options);
}

std::string text(const EvaluateRun& run, const EvaluateRequest& request) {
  std::string out;
  for (const Evaluated& mode : run.modes) out += (out.empty() ? "" : "\n") + mode_text(run, mode, request);
  return out;
}

}  // namespace monet
