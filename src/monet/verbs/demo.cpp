#include "monet/verbs/demo.h"

#include <fmt/format.h>

#include "monet/base/assert.h"
#include "monet/report/nest.h"
#include "monet/report/table.h"

namespace monet {

std::vector<DemoRow> demo() {
  std::vector<DemoRow> rows;
  cost::Cache cache;
  for (const auto& [model, chip] : {std::pair{"resnet18", "edge_tpu_hda"}, std::pair{"gpt2-mini", "fusemax"}})
    for (const bool is_fused : {true, false}) {
      DemoRow row{.is_fused = is_fused};
      row.request.model.model = model;
      row.request.hardware = chip;
      if (!is_fused) row.request.stacks = "[0]";  // one layer is a group of its own, and so are all others
      row.run = evaluate(row.request, cache);
      rows.push_back(std::move(row));
    }
  return rows;
}

std::string text(const std::vector<DemoRow>& rows) {
  Table table(
      {"model", "on", "operators", "groups", "latency", "energy", "off-chip", "peak memory", "mostly spent on"});
  for (const DemoRow& row : rows) {
    const Evaluated& mode = row.run.modes.front();
    MONET_ASSERT(mode.is_feasible(), "the demo's models fit its chips");
    const schedule::Evaluation& e = mode.result();
    const schedule::StoreUse& home = e.stores[row.run.chip.machine.home.index()];
    const TimeSpent most = time_spent(row.run.chip, e).front();
    table.row({row.request.model.model, row.run.loaded.hardware.name, row.is_fused ? "fused" : "one by one",
               grouped(mode.decided.groups.size()), seconds_text(e.latency / e.clock_hz), energy_text(e.energy.total()),
               byte_count(static_cast<std::uint64_t>(home.bytes_out + home.bytes_in)),
               byte_count(static_cast<std::uint64_t>(e.peak_total_bytes)),
               fmt::format("{} {}", most.resource, share_text(most.cycles, e.latency))});
  }
  return "One training iteration of a sample: forward, loss, backward, update (fp16, AdamW)\n\n" + table.text("  ");
}

}  // namespace monet
