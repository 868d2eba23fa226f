#include <cmath>

#include "monet/schedule/evaluation.h"

namespace monet::schedule {

namespace {

template <class Add>  // told of each PortDemand
void list_demands(const Problem& problem, const Timeline& timeline, std::uint32_t transfer, const Add& told) {
  const Transfer& t = timeline.transfers[transfer];
  if (!(t.passed > t.start)) return;
  const auto add = [&](const std::optional<PortId>& port) {
    if (!port) return;
    const auto bytes = static_cast<double>(problem.blocks[t.block.index()].bytes);
    told(PortDemand{*port, std::ceil(bytes / problem.machine.ports[port->index()].bytes_per_cycle - 1e-9)});
  };
  const std::optional<PortId>&drain = problem.machine.stores[t.from.index()].drain,
        &fill = problem.machine.stores[t.to.index()].fill;
  const bool is_own = t.carried_by == transfer;
  if (is_own) add(drain);
  if (!is_own || fill != drain) add(fill);
}

}  // namespace

std::vector<PortDemand> port_demands(const Problem& problem, const Timeline& timeline, std::uint32_t transfer) {
  std::vector<PortDemand> out;
  list_demands(problem, timeline, transfer, [&](const PortDemand& demand) { out.push_back(demand); });
  return out;
}

std::vector<double> port_cycles(const Problem& problem, const Timeline& timeline) {
  std::vector<double> out(problem.machine.ports.size(), 0);
  for (const Tile& tile : problem.tiles)
    for (std::uint32_t d = 0; d < tile.demands; ++d) {
      const PortDemand& demand = problem.demands[tile.first_demand + d];
      out[demand.port.index()] += demand.cycles;
    }
  for (std::uint32_t t = 0; t < timeline.transfers.size(); ++t)
    list_demands(problem, timeline, t, [&](const PortDemand& demand) { out[demand.port.index()] += demand.cycles; });
  return out;
}

}  // namespace monet::schedule
