#include "monet/search/ways.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "monet/base/assert.h"
#include "monet/graph/cut.h"
#include "monet/search/fusion.h"
#include "monet/search/placement_search.h"

namespace monet::search {
namespace {

// The same with so many times as many tiles, as near as loops allow: the outermost loop of each node in more parts, or
// in fewer.
plan::Plan with_tiles(const Setting& setting, const Subject& subject, const plan::Plan& plan, double times) {
  plan::Decided decided = plan::decide(subject.graph, subject.facts, setting.chip, plan);
  for (std::size_t n = 0; n < decided.nodes.size(); ++n) {
    plan::NodeChoice& choice = decided.nodes[n];
    if (choice.tiles.empty()) continue;
    plan::LoopSplit& first = choice.tiles.front();
    const std::int64_t size = loops_of(subject.graph, subject.graph.nodes[n])[first.loop].size;
    const std::int64_t others =
        plan::parts_of(choice.tiles, first.loop) / first.parts * plan::parts_of(choice.across, first.loop);
    const auto wanted = static_cast<std::int64_t>(std::llround(static_cast<double>(first.parts) * times));
    first.parts = std::clamp<std::int64_t>(wanted, 1, std::max<std::int64_t>(1, size / others));
    std::erase_if(choice.tiles, [](const plan::LoopSplit& s) { return s.parts == 1; });
  }
  return plan::in_words(subject.graph, subject.facts, setting.chip, decided);
}

}  // namespace

Ways::Ways(const Setting& setting, const Graph& single_works, const WayOptions& options) {
  const Subject subject(single_works);
  std::vector<plan::Plan> fused{options.plan};
  Axis fusion{"fusion", {"default"}};
  if (!options.limits.empty()) {
    const Evaluated by_default = evaluate(setting, subject, options.plan);
    FusionInput input{.graph = subject.graph, .facts = subject.facts, .chip = setting.chip, .rules = default_rules()};
    input.objective = FusionObjective::Traffic;
    if (std::holds_alternative<schedule::Evaluation>(by_default.outcome)) {
      input.objective = FusionObjective::Latency;
      input.costs = fusion_costs(setting.chip, by_default);
    }
    for (const std::uint32_t limit : options.limits) {
      input.rules.limit = limit;
      input.deadline = options.deadline;
      plan::Plan plan = plan_of(subject, fuse(input).groups);
      plan.nodes = options.plan.nodes;
      plan.prefetch = options.plan.prefetch;
      fused.push_back(std::move(plan));
      fusion.alternatives.push_back(fmt::format("limit {}", limit));
    }
  }

  std::vector<plan::Plan> placed = fused;  // cores by default, then those found for each objective
  Axis cores{"cores", {"default"}};
  for (const std::string& objective : options.cores) {
    cores.alternatives.push_back("for " + objective);
    for (const plan::Plan& plan : fused) {
      const Placement placement(setting, subject, plan);
      PlaceOptions how{.search = {.evaluations = options.place_evaluations,
                                  .threads = options.threads,
                                  .deadline = options.deadline}};
      how.search.value = [&](const Figures& f) { return objective == "energy" ? f.energy_pj : f.latency_cycles; };
      placed.push_back(placement.plan(place(placement, how).decision));
    }
  }

  plans_ = placed;
  Axis tiles{"tiles", {"default"}};
  for (const double times : options.tiles) {
    tiles.alternatives.push_back(fmt::format("{}x", times));
    for (const plan::Plan& plan : placed) plans_.push_back(with_tiles(setting, subject, plan, times));
  }
  for (Axis* axis : {&fusion, &cores, &tiles})
    if (axis->alternatives.size() > 1) axes_.push_back(std::move(*axis));
}

const plan::Plan& Ways::plan(std::span<const std::uint16_t> choices) const {
  MONET_ASSERT(choices.size() == axes_.size(), "a number for each axis");
  std::size_t at = 0, step = 1;
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    at += choices[a] * step;
    step *= axes_[a].alternatives.size();
  }
  return plans_[at];
}

}  // namespace monet::search
