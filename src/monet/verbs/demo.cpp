#include "monet/verbs/demo.h"

#include <fmt/format.h>

#include <limits>

#include "monet/base/assert.h"
#include "monet/report/nest.h"
#include "monet/report/table.h"

namespace monet {
namespace {

constexpr std::size_t kPointsShown = 5;

// Of a front of latency, energy and peak: the least latency for every peak, fastest first.
std::vector<std::uint32_t> by_peak(const CheckpointRun& run, const CheckpointRequest& request) {
  std::vector<std::uint32_t> out;
  double least = std::numeric_limits<double>::infinity();
  for (const std::uint32_t i : run.found.front) {
    const double peak = peak_of(run, request, run.found.points[i].figures);
    if (peak >= least) continue;
    least = peak;
    out.push_back(i);
  }
  return out;
}

}  // namespace

Demo demo() {
  Demo out;
  cost::Cache cache;
  for (const auto& [model, chip] : {std::pair{"resnet18", "edge_tpu_hda"}, std::pair{"gpt2-mini", "fusemax"}})
    for (const bool is_fused : {true, false}) {
      DemoRow row{.is_fused = is_fused};
      row.request.model.model = model;
      row.request.hardware = chip;
      if (!is_fused) row.request.stacks = "[0]";  // one layer is a group of its own, and so are all others
      row.run = evaluate(row.request, cache);
      out.rows.push_back(std::move(row));
    }
  out.question.evaluate.model.model = "gpt2-mini";
  out.question.evaluate.model.batch = 8;
  out.question.evaluate.hardware = "fusemax";
  out.question.evaluations = 80;
  out.answer = checkpoint(out.question);
  return out;
}

std::string text(const Demo& demo) {
  Table table(
      {"model", "on", "operators", "groups", "latency", "energy", "off-chip", "peak memory", "mostly spent on"});
  for (const DemoRow& row : demo.rows) {
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
  return fmt::format(
      "One training iteration of a sample: forward, loss, backward, update (fp16, AdamW)\n\n{}\n"
      "Less memory: {} with {} samples on {}, some of its {} saved activations made again ({} decisions "
      "scheduled)\n\n{}",
      table.text("  "), demo.question.evaluate.model.model, *demo.question.evaluate.model.batch,
      demo.answer.loaded->hardware.name, demo.answer.problem->activations().size(), demo.answer.found.points.size(),
      table_text(demo.answer, demo.question, spread(by_peak(demo.answer, demo.question), kPointsShown)));
}

}  // namespace monet
