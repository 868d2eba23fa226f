#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "monet/report/nest.h"
#include "monet/report/table.h"
#include "monet/verbs/evaluate_stream.h"
#include "monet/verbs/graph.h"

namespace monet {
namespace {

constexpr std::size_t kLayersShown = 8, kMemoriesShown = 6;
constexpr std::array<const char*, schedule::kStreamBuckets> kBucketKeys{"offchip", "eviction", "sink", "core_to_core"};

// A layer with what its tiles add up to.
struct LayerUse {
  const schedule::StreamLayer* layer = nullptr;
  std::vector<std::int64_t> cores{};
  std::size_t stack = 0, tiles = 0;
  double start = 0, end = 0, busy = 0, onchip_pj = 0, offchip_pj = 0;
};

std::vector<LayerUse> layer_uses(const StreamEvaluation& e) {
  std::vector<std::size_t> stack_of(e.plan.layers.size(), 0);
  std::size_t stacks = 0;
  for (const std::vector<std::int64_t>& stack : e.plan.stacks) {
    for (const std::int64_t id : stack) stack_of[static_cast<std::size_t>(id)] = stacks;
    if (!stack.empty()) ++stacks;
  }
  std::vector<LayerUse> uses;
  for (const schedule::StreamTiledLayer& tiled : e.plan.tiling.layers) {
    LayerUse use{.layer = &e.plan.layers[static_cast<std::size_t>(tiled.layer)],
                 .cores = tiled.cores,
                 .stack = stack_of[static_cast<std::size_t>(tiled.layer)],
                 .tiles = tiled.tiles};
    for (std::uint32_t t = tiled.first; t < tiled.first + tiled.tiles; ++t) {
      const schedule::StreamTile& tile = e.plan.problem.tiles[t];
      use.start = t == tiled.first ? e.result.start[t] : std::min(use.start, e.result.start[t]);
      use.end = std::max(use.end, e.result.end[t]);
      use.busy += tile.runtime;
      use.onchip_pj += tile.onchip_pj;
      use.offchip_pj += tile.offchip_pj;
    }
    uses.push_back(std::move(use));
  }
  return uses;
}

struct MemoryPeak {
  std::string name{};  // as in every evaluation: CORE.MEMORY, the off-chip one by its own
  double bytes = 0, size = 0;
};

std::vector<MemoryPeak> peaks(const StreamEvaluation& e) {
  const schedule::StreamProblem& p = e.plan.problem;
  std::vector<MemoryPeak> out(p.memories.size());
  for (std::size_t c = p.cores.size(); c-- > 0;)  // shared memories have the name of their first core
    for (const std::uint32_t m : p.cores[c].memories)
      out[m] = {
          .name = c == p.offchip ? p.memories[m].name : e.loaded.hardware.cores[c].name + "." + p.memories[m].name,
          .bytes = static_cast<double>(e.result.peak_bits[m]) / kBitsPerByte,
          .size = static_cast<double>(p.memories[m].size) / kBitsPerByte};
  return out;
}

std::vector<double> busy_by_core(const StreamEvaluation& e) {
  std::vector<double> busy(e.plan.problem.cores.size(), 0);
  for (const schedule::StreamTile& tile : e.plan.problem.tiles) busy[tile.core] += tile.runtime;
  return busy;
}

std::size_t block_count(const StreamEvaluation& e) {
  return static_cast<std::size_t>(std::count_if(e.result.events.begin(), e.result.events.end(),
                                                [](const schedule::StreamEvent& event) { return event.is_block; }));
}

Json nodes_json(const StreamEvaluation& e) {
  Json out = Json::array();
  for (const LayerUse& use : layer_uses(e)) {
    Json cores = Json::array();
    for (const std::int64_t core : use.cores) cores.push(e.loaded.hardware.cores[static_cast<std::size_t>(core)].name);
    out.push(Json::object()
                 .set("name", use.layer->name)
                 .set("phase", "forward")
                 .set("core", e.loaded.hardware.cores[static_cast<std::size_t>(use.cores[0])].name)
                 .set("cores", std::move(cores))
                 .set("group", static_cast<std::uint64_t>(use.stack))
                 .set("tiles", static_cast<std::uint64_t>(use.tiles))
                 .set("start_cycle", use.start)
                 .set("end_cycle", use.end)
                 .set("busy_cycles", use.busy)
                 .set("tile_onchip_energy_pj", use.onchip_pj)
                 .set("tile_offchip_energy_pj", use.offchip_pj));
  }
  return out;
}

std::string energy_lines(const schedule::StreamResult& r) {
  std::string parts = fmt::format("tiles on chip {}", share_text(r.onchip_pj, r.energy_pj));
  constexpr std::array<const char*, schedule::kStreamBuckets> kNames{"fetched from off-chip", "evicted",
                                                                     "results written back", "core to core"};
  for (std::size_t b = 0; b < kNames.size(); ++b)
    if (const double pj = r.link_pj[b] + r.memory_pj[b]; pj > 0)
      parts += fmt::format(", {} {}", kNames[b], share_text(pj, r.energy_pj));
  return fmt::format("energy    {}\n          {}\n", energy_text(r.energy_pj), parts);
}

std::string memory_lines(const StreamEvaluation& e) {
  std::vector<MemoryPeak> list = peaks(e);
  std::erase_if(list, [](const MemoryPeak& peak) { return peak.bytes <= 0; });
  std::stable_sort(list.begin(), list.end(),
                   [](const MemoryPeak& a, const MemoryPeak& b) { return a.bytes / a.size > b.bytes / b.size; });
  std::string out;
  for (std::size_t i = 0; i < list.size() && i < kMemoriesShown; ++i)
    out += fmt::format("{}{} of {} in {}\n", i == 0 ? "memory    " : "          ",
                       byte_count(static_cast<std::uint64_t>(list[i].bytes)),
                       byte_count(static_cast<std::uint64_t>(list[i].size)), list[i].name);
  if (list.size() > kMemoriesShown)
    out += fmt::format("          … {} more (--json lists all)\n", list.size() - kMemoriesShown);
  return out;
}

std::string layer_table(const StreamEvaluation& e) {
  std::vector<LayerUse> uses = layer_uses(e);
  std::stable_sort(uses.begin(), uses.end(), [](const LayerUse& a, const LayerUse& b) { return a.busy > b.busy; });
  Table table({"layers that compute longest", "on", "stack", "tiles", "from", "to", "busy", "energy of its tiles"});
  for (std::size_t i = 0; i < uses.size() && i < kLayersShown; ++i) {
    const LayerUse& use = uses[i];
    const std::string& core = e.loaded.hardware.cores[static_cast<std::size_t>(use.cores[0])].name;
    table.row({use.layer->name, use.cores.size() > 1 ? fmt::format("{} + {}", core, use.cores.size() - 1) : core,
               grouped(use.stack), grouped(use.tiles), quantity(use.start), quantity(use.end), quantity(use.busy),
               energy_text(use.onchip_pj + use.offchip_pj)});
  }
  if (uses.size() > kLayersShown) table.row({fmt::format("… {} more (--json lists all)", uses.size() - kLayersShown)});
  return table.text("  ");
}

}  // namespace

std::string text(const StreamEvaluation& e, const EvaluateRequest& request) {
  std::string out = fmt::format("{}, inference on {}, by Stream's rules", request.model.model, e.loaded.hardware.name);
  if (!e.is_feasible()) return out + fmt::format(": not possible\n{}\n", e.failure);
  const auto stacks = std::count_if(e.plan.stacks.begin(), e.plan.stacks.end(),
                                    [](const std::vector<std::int64_t>& stack) { return !stack.empty(); });
  out += fmt::format(": {} layers in {} stacks, {} tiles\n\n", grouped(e.plan.tiling.layers.size()),
                     grouped(static_cast<std::uint64_t>(stacks)), grouped(e.plan.problem.tiles.size()));
  out += fmt::format("latency   {} cycles", quantity(e.result.latency));
  if (const double hz = e.loaded.hardware.clock_hz.value; hz > 0)
    out += fmt::format(" = {} at {:.4g} MHz", seconds_text(e.result.latency / hz), hz / 1e6);
  out += "\n" + energy_lines(e.result) + memory_lines(e);
  const std::size_t blocks = block_count(e);
  out += fmt::format("moved     {} transfers; {} stretches in which operands too large for a core were streamed\n",
                     grouped(e.result.events.size() - blocks), grouped(blocks));
  return out + "\n" + layer_table(e);
}

Json json(const StreamEvaluation& e) {
  Json out = Json::object();
  out.set("feasible", e.is_feasible()).set("mode", "inference").set("quirks", Json::array().push("stream"));
  if (!e.is_feasible()) return out.set("reason", e.failure).set("levers", Json::array()).set("notes", Json::array());
  const double hz = e.loaded.hardware.clock_hz.value;
  const schedule::StreamResult& r = e.result;
  Json buckets = Json::object().set("onchip", r.onchip_pj), peak = Json::object(), busy = Json::object();
  for (std::size_t b = 0; b < kBucketKeys.size(); ++b)
    buckets.set(kBucketKeys[b], Json::object().set("link", r.link_pj[b]).set("memory", r.memory_pj[b]));
  for (const MemoryPeak& m : peaks(e)) peak.set(m.name, m.bytes);
  const std::vector<double> cycles = busy_by_core(e);
  for (std::size_t c = 0; c < cycles.size(); ++c)
    if (c != e.plan.problem.offchip)
      busy.set(e.loaded.hardware.cores[c].name, r.latency > 0 ? cycles[c] / r.latency : 0);
  const std::size_t blocks = block_count(e);
  out.set("latency_cycles", r.latency).set("latency_s", hz > 0 ? Json(r.latency / hz) : Json());
  out.set("energy_pj", r.energy_pj).set("energy_by_bucket_pj", std::move(buckets));
  out.set("peak_memory_bytes", std::move(peak)).set("busy", std::move(busy));
  out.set("tiles", e.plan.problem.tiles.size()).set("edges", e.plan.problem.edges.size());
  out.set("transfers", r.events.size() - blocks).set("streamed", blocks);
  return out.set("nodes", nodes_json(e)).set("notes", Json::array());
}

Json stream_options_json(const EvaluateRequest& r) {
  Json dims = Json::object(), parameters = Json::object();
  for (const auto& [key, value] : r.model.dims) dims.set(key, value);
  for (const auto& [name, value] : r.parameters) parameters.set(name, value);
  return Json::object()
      .set("model", r.model.model)
      .set("batch", r.model.batch ? Json(*r.model.batch) : Json())
      .set("dims", std::move(dims))
      .set("attention", r.model.attention)
      .set("fold_batch_norm", r.model.fold_batch_norm)
      .set("strict", r.model.strict)
      .set("on", r.hardware)
      .set("set", std::move(parameters))
      .set("mode", r.mode)
      .set("plan", r.plan)
      .set("stacks", r.stacks)
      .set("iterations", r.iterations)
      .set("quirks", Json::array().push("stream"));
}

}  // namespace monet
