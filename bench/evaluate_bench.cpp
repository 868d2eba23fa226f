// Where the time of whole evaluations goes: a model on a chip, nothing known before.
//     evaluate_bench [RUNS]
// Wall time, of the fastest of RUNS (3) runs: mappings are searched on all cores. Each run begins with an empty cache.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <variant>

#include "monet/base/diagnostic.h"
#include "monet/plan/lanes.h"
#include "monet/rewrite/decompose.h"
#include "monet/verbs/evaluate.h"
#include "monet/verbs/hardware.h"

namespace monet::bench {
namespace {

struct Case {
  const char *model, *chip, *mode;
  bool fused_updates = false;
};
constexpr Case kCases[] = {
    {"resnet18", "tpu_like_quad_core", "training"},
    {"resnet18", "tpu_like_quad_core", "inference"},
    {"resnet18", "edge_tpu_hda", "training"},
    {"resnet18", "edge_tpu_hda", "training", true},
    {"gpt2", "fusemax", "training"},
    {"gpt2", "fusemax", "inference"},
};

// Milliseconds since it was made, or since it was asked last.
class Stopwatch {
 public:
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const std::chrono::duration<double, std::milli> passed = now - last_;
    last_ = now;
    return passed.count();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

struct Parts {
  double chip = 0, graph = 0, plan = 0, tiling = 0, pricing = 0, engine = 0, accounts = 0;
  std::size_t nodes = 0, kinds = 0, tiles = 0, transfers = 0;
  std::string failure{};
  double total() const { return chip + graph + plan + tiling + pricing + engine + accounts; }
};

// Tiling prices the kinds of tiles that it finds: the same ones again, alone and from an empty cache.
double pricing_of(const plan::Chip& chip, const std::vector<schedule::TileKind>& kinds) {
  cost::Cache cache;
  schedule::TileKinds again(chip);
  for (const schedule::TileKind& kind : kinds)
    again.find(kind.core, kind.work, kind.adds_to_sums, kind.leaves_sums, kind.at_lanes);
  const schedule::CostOptions costs = default_costs(cache, 0);
  Stopwatch watch;
  again.price(costs);
  return watch.lap();
}

Parts measure(const Case& c) {
  Parts out;
  Stopwatch watch;
  const hardware::Loaded loaded = describe_hardware({.hardware = c.chip});
  plan::Chip chip = plan::chip_of(loaded.hardware);
  out.chip = watch.lap();
  ModelRequest asked;
  asked.model = c.model;
  if (std::string_view(c.mode) == "inference") asked.train = "none";
  const Graph graph = decompose(prepare(asked).graph, {.fused_updates = c.fused_updates});
  const Storage storage(graph);
  out.graph = watch.lap();
  const std::vector<plan::Facts> facts = plan::facts_of(graph);
  const plan::Decided decided = plan::decide(graph, facts, chip, plan::Plan{}, [](const std::string&, Diagnostic&) {});
  plan::add_lane_stores(chip, decided);
  out.plan = watch.lap();
  cost::Cache cache;
  schedule::TilingInput input{.graph = graph,
                              .storage = storage,
                              .facts = facts,
                              .chip = chip,
                              .hardware = loaded.hardware,
                              .decided = decided,
                              .costs = default_costs(cache, 0)};
  watch.lap();
  const auto tiled = schedule::tile(input);
  out.tiling = watch.lap();
  if (const auto* no = std::get_if<schedule::Infeasible>(&tiled)) return out.failure = no->reason, out;
  const auto& tiles = std::get<schedule::Tiled>(tiled);
  out.pricing = std::min(out.tiling, pricing_of(chip, tiles.kinds));
  out.tiling -= out.pricing;
  watch.lap();
  const schedule::Scheduled scheduled = schedule::schedule(tiles.problem);
  out.engine = watch.lap();
  if (!std::holds_alternative<schedule::Timeline>(scheduled)) return out.failure = "no room", out;
  // All of it once more, with every mapping known: what is left are the sums over the timeline.
  const auto again = schedule::tile(input);
  const double known = watch.lap();
  const auto whole = schedule::evaluate(input);
  out.accounts = std::max(0.0, watch.lap() - known - out.engine);
  if (!std::holds_alternative<schedule::Evaluation>(whole)) return out.failure = "no evaluation", out;
  out.nodes = graph.nodes.size();
  out.kinds = tiles.kinds.size();
  out.tiles = tiles.tiles.size();
  out.transfers = std::get<schedule::Timeline>(scheduled).transfers.size();
  return out;
}

int run(int runs) {
  bool is_good = true;
  fmt::print("{:52} {:>7} {:>6} {:>8} {:>9} | {:>6} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} | {:>9}\n", "evaluation (ms)",
             "nodes", "kinds", "tiles", "transfers", "chip", "graph", "plan", "tiling", "pricing", "engine", "accounts",
             "total");
  for (const Case& c : kCases) {
    const std::string name =
        fmt::format("{} {} on {}{}", c.model, c.mode, c.chip, c.fused_updates ? ", fused updates" : "");
    Parts best;
    for (int i = 0; i < runs; ++i)
      if (Parts parts = measure(c); i == 0 || parts.total() < best.total()) best = std::move(parts);
    if (!best.failure.empty()) {
      fmt::print("{:52} {}\n", name, best.failure);
      is_good = false;
      continue;
    }
    fmt::print("{:52} {:7} {:6} {:8} {:9} | {:6.1f} {:8.1f} {:8.1f} {:8.1f} {:8.1f} {:8.1f} {:8.1f} | {:9.1f}\n", name,
               best.nodes, best.kinds, best.tiles, best.transfers, best.chip, best.graph, best.plan, best.tiling,
               best.pricing, best.engine, best.accounts, best.total());
    std::fflush(stdout);
  }
  return is_good ? 0 : 1;
}

}  // namespace
}  // namespace monet::bench

int main(int count, char** words) {
  try {
    return monet::bench::run(std::max(1, count > 1 ? std::atoi(words[1]) : 3));
  } catch (const monet::InputError& e) {
    std::fputs(e.what(), stderr);
    return 2;
  }
}
