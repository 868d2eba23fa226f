#include "monet/schedule/tiling_ports.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace monet::schedule {

void add_stream(const Machine& machine, const Flow& streamed, std::vector<PortDemand>& demands, Tile& tile) {
  const auto first = static_cast<std::uint32_t>(demands.size());
  for (std::uint32_t d = 0; d < tile.demands; ++d) demands.push_back(PortDemand(demands[tile.first_demand + d]));
  const auto add = [&](const std::optional<PortId>& port, double bytes) {
    if (!port || !(bytes > 0)) return;
    const double cycles = std::ceil(bytes / machine.ports[port->index()].bytes_per_cycle - 1e-9);
    const auto at =
        std::find_if(demands.begin() + first, demands.end(), [&](const PortDemand& d) { return d.port == *port; });
    if (at != demands.end())
      at->cycles += cycles;
    else
      demands.push_back({*port, cycles});
  };
  const Store& store = machine.stores[streamed.store.index()];
  add(store.fill, streamed.in);
  add(store.drain, streamed.out);
  tile.first_demand = first;
  tile.demands = static_cast<std::uint32_t>(demands.size()) - first;
}

}  // namespace monet::schedule
