#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "monet/base/parallel.h"
#include "monet/verbs/explain_run.h"

namespace monet {
namespace {

using schedule::Problem;

// Things of one kind, which nobody would build anew one by one.
struct Kind {
  std::string resource{};
  std::string unit{};
  double from = 0;
  std::function<void(Problem&)> doubled{};
};

std::string named(const std::vector<std::string>& names) {
  if (names.size() == 1) return names[0];
  if (names.size() == 2) return names[0] + " and " + names[1];
  return fmt::format("all {} of {} … {}", names.size(), names.front(), names.back());
}

// Twice as many bytes a cycle. What the port alone did to a tile stays in its cycles.
void widen(Problem& p, const std::vector<std::uint32_t>& ports) {
  const auto is_wider = [&](plan::PortId id) { return std::find(ports.begin(), ports.end(), id.value) != ports.end(); };
  for (const std::uint32_t i : ports) p.machine.ports[i].bytes_per_cycle *= 2;
  for (schedule::PortDemand& demand : p.demands)
    if (is_wider(demand.port)) demand.cycles = std::ceil(demand.cycles / 2);
  for (plan::Store& store : p.machine.stores)
    if ((store.fill && is_wider(*store.fill)) || (store.drain && is_wider(*store.drain))) store.bytes_per_cycle *= 2;
}

std::vector<Kind> kinds_of(const EvaluateRun& run, const schedule::Evaluation& e) {
  const plan::Machine& machine = run.chip.machine;
  std::vector<Kind> kinds;
  const auto collect = [&](std::size_t count, auto key_of, auto name_of, auto make) {
    std::map<std::string, std::vector<std::uint32_t>> alike;
    std::vector<std::string> order;
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::string key = key_of(i);
      if (key.empty()) continue;
      if (alike[key].empty()) order.push_back(key);
      alike[key].push_back(i);
    }
    for (const std::string& key : order) {
      std::vector<std::string> names;
      for (const std::uint32_t i : alike[key]) names.push_back(name_of(i));
      kinds.push_back(make(alike[key], named(names)));
    }
  };
  // A name without the number that tells copies apart.
  const auto family = [](std::string name) {
    std::string out;
    for (const char c : name)
      if (c < '0' || c > '9') out += c;
    return out;
  };
  collect(
      machine.units.size(),
      [&](std::uint32_t i) { return e.units[i].busy > 0 ? family(machine.units[i].name) : std::string(); },
      [&](std::uint32_t i) { return machine.units[i].name; },
      [&](std::vector<std::uint32_t> ids, std::string name) {
        return Kind{name, "times as fast", 1, [ids](Problem& p) {
                      for (schedule::Tile& tile : p.tiles)
                        if (std::find(ids.begin(), ids.end(), tile.unit.value) != ids.end())
                          tile.cycles = std::ceil(tile.cycles / 2);
                    }};
      });
  collect(
      machine.channels.size(),
      [&](std::uint32_t i) {
        return e.channel_bytes[i] > 0
                   ? fmt::format("{} {}", family(machine.channels[i].name), machine.channels[i].bytes_per_cycle)
                   : std::string();
      },
      [&](std::uint32_t i) { return machine.channels[i].name; },
      [&](std::vector<std::uint32_t> ids, std::string name) {
        return Kind{name, "B/cycle", machine.channels[ids[0]].bytes_per_cycle, [ids](Problem& p) {
                      for (const std::uint32_t i : ids) p.machine.channels[i].bytes_per_cycle *= 2;
                    }};
      });
  collect(
      machine.ports.size(),
      [&](std::uint32_t i) {
        return e.port_cycles[i] > 0
                   ? fmt::format("{} {}", family(machine.ports[i].name), machine.ports[i].bytes_per_cycle)
                   : std::string();
      },
      [&](std::uint32_t i) { return "port " + machine.ports[i].name; },
      [&](std::vector<std::uint32_t> ids, std::string name) {
        return Kind{name, "B/cycle", machine.ports[ids[0]].bytes_per_cycle, [ids](Problem& p) { widen(p, ids); }};
      });
  collect(
      machine.stores.size(),
      [&](std::uint32_t i) {
        return e.stores[i].peak_bytes > 0 && plan::StoreId{i} != machine.home
                   ? fmt::format("{} {}", family(machine.stores[i].name), machine.stores[i].bytes)
                   : std::string();
      },
      [&](std::uint32_t i) { return machine.stores[i].name; },
      [&](std::vector<std::uint32_t> ids, std::string name) {
        return Kind{name, "B", static_cast<double>(machine.stores[ids[0]].bytes), [ids](Problem& p) {
                      for (const std::uint32_t i : ids) p.machine.stores[i].bytes *= 2;
                    }};
      });
  // Everything on the way off the chip at once: one of its parts alone seldom helps.
  Kind offchip{"the way off the chip (its ports, buses and links)", "times as wide", 1, {}};
  offchip.doubled = [](Problem& p) {
    plan::Machine& m = p.machine;
    std::vector<bool> is_on_way(m.channels.size(), false);
    for (std::size_t s = 0; s < m.stores.size(); ++s)
      for (const plan::Route* route : {&m.route(m.home, plan::StoreId{static_cast<std::uint32_t>(s)}),
                                       &m.route(plan::StoreId{static_cast<std::uint32_t>(s)}, m.home)})
        for (const plan::ChannelId c : route->channels) is_on_way[c.index()] = true;
    for (std::size_t c = 0; c < m.channels.size(); ++c)
      if (is_on_way[c]) m.channels[c].bytes_per_cycle *= 2;
    m.stores[m.home.index()].bytes_per_cycle *= 2;
  };
  kinds.push_back(std::move(offchip));
  return kinds;
}

}  // namespace

std::vector<RunLever> run_levers(const EvaluateRun& run, const Evaluated& mode, std::size_t threads) {
  const schedule::Evaluation& e = mode.result();
  const std::vector<Kind> kinds = kinds_of(run, e);
  std::vector<RunLever> levers(kinds.size());
  parallel_for(kinds.size(), threads, [&](std::size_t i) {
    Problem problem = e.tiled.problem;
    kinds[i].doubled(problem);
    const schedule::Scheduled scheduled = schedule::schedule(problem);
    levers[i] = {kinds[i].resource, kinds[i].unit, kinds[i].from, 2 * kinds[i].from, e.latency, e.energy.total()};
    if (const auto* timeline = std::get_if<schedule::Timeline>(&scheduled)) {
      levers[i].latency = timeline->cycles;
      // Leakage follows the time, what moves follows the transfers.
      levers[i].energy_pj += run.chip.leakage_pj_per_cycle * (timeline->cycles - e.latency);
      levers[i].energy_pj +=
          schedule::transfer_energy_pj(problem, *timeline) - schedule::transfer_energy_pj(e.tiled.problem, e.timeline);
    }
  });
  std::erase_if(levers, [&](const RunLever& lever) { return lever.latency >= e.latency; });
  std::stable_sort(levers.begin(), levers.end(),
                   [](const RunLever& a, const RunLever& b) { return a.latency < b.latency; });
  return levers;
}

}  // namespace monet
