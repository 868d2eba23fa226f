#include "monet/search/placement_search.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "monet/base/assert.h"
#include "monet/search/placement_model.h"

namespace monet::search {
namespace {

using solve::Choices;
using solve::Random;

// Prices placements, none twice, and keeps the best.
class PlacementJudge {
 public:
  PlacementJudge(const Placement& placement, const DescentOptions& options)
      : placement_(placement), options_(options) {}

  std::vector<Figures> operator()(std::span<const Choices> batch) {
    std::vector<Choices> open;
    for (const Choices& c : batch)
      if (!is_known(c) && std::find(open.begin(), open.end(), c) == open.end()) open.push_back(c);
    const std::vector<Figures> found = placement_.figures(open, options_.threads);
    for (std::size_t i = 0; i < open.size(); ++i) learn(open[i], found[i]);
    std::vector<Figures> out;
    for (const Choices& c : batch) out.push_back(known_.at(c));
    return out;
  }
  void learn(const Choices& decision, const Figures& figures) {
    if (!known_.emplace(decision, figures).second) return;
    if (known_.size() == 1) {
      best_.before = figures;
    } else if (!(value_of(options_, figures) < value_of(options_, best_.figures))) {
      return;
    }
    best_.decision = decision;
    best_.figures = figures;
  }
  bool is_known(const Choices& decision) const { return known_.count(decision) != 0; }
  std::size_t count() const { return known_.size(); }
  const Placed& best() const { return best_; }
  void tell() const {
    if (options_.observe) options_.observe(count(), best_.figures);
  }

 private:
  const Placement& placement_;
  const DescentOptions& options_;
  std::map<Choices, Figures> known_;
  Placed best_;
};

// ---- Local ----

// Two layers change places if each may run where the other does.
void swap_layers(const Placement& placement, Choices& decision, std::size_t a, std::size_t b) {
  const auto number_of = [&](std::size_t layer, const std::vector<std::uint32_t>& cores) {
    const std::vector<plan::NodeChoice>& list = placement.layers()[layer].allocations;
    const auto at = std::find_if(list.begin(), list.end(), [&](const plan::NodeChoice& c) { return c.cores == cores; });
    return static_cast<std::size_t>(at - list.begin());
  };
  const Layer &first = placement.layers()[a], &second = placement.layers()[b];
  const std::size_t of_a = number_of(a, second.allocations[decision[b]].cores),
                    of_b = number_of(b, first.allocations[decision[a]].cores);
  if (of_a == first.allocations.size() || of_b == second.allocations.size()) return;
  decision[a] = static_cast<std::uint16_t>(of_a);
  decision[b] = static_cast<std::uint16_t>(of_b);
}

class LocalSearch {
 public:
  LocalSearch(const Placement& placement, const DescentOptions& options)
      : placement_(placement), options_(options), model_(placement, options.threads), judge_(placement, options) {}

  Placed run() {
    for (std::size_t i = 0; i < model_.evaluated().size(); ++i)
      judge_.learn(model_.evaluated()[i], model_.figures()[i]);
    const std::vector<Choices> starts = find_starts();
    const std::vector<Figures> figures = judge_(starts);
    judge_.tell();
    std::vector<std::size_t> order(starts.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return value_of(options_, figures[a]) < value_of(options_, figures[b]);
    });
    DescentProblem<Choices> problem;
    problem.price = [&](std::span<const Choices> steps) { return judge_(steps); };
    problem.steps_from = [&](const Choices& from) { return steps_from(from); };
    problem.together = together;
    Placed out;
    for (const std::size_t start : order) {
      Descent<Choices> way{.state = starts[start], .figures = figures[start], .evaluations = judge_.count()};
      descend(way, problem, options_);
      const bool is_better = way.state == judge_.best().decision && out.decision != way.state;
      if (is_better) out = {.decision = way.state, .steps = way.steps, .is_local_optimum = way.is_local_optimum};
    }
    out.figures = judge_.best().figures;
    out.before = judge_.best().before;
    out.evaluations = judge_.count();
    return out;
  }

 private:
  // As many as may be evaluated, beside those that are.
  std::vector<Choices> find_starts() const {
    std::vector<Choices> out = model_.evaluated();
    std::size_t left = options_.evaluations - std::min(options_.evaluations, out.size());
    for (Choices& start : std::vector<Choices>{model_.scheduled(placement_.setting().chip.cores.size()),
                                               model_.scheduled(1), model_.each_best(options_.value)})
      if (left > 0 && std::find(out.begin(), out.end(), start) == out.end()) {
        out.push_back(std::move(start));
        --left;
      }
    return out;
  }

  // Where two of them decide on the same layer, the first one does.
  static Choices together(const Choices& from, std::span<const Choices> steps) {
    Choices out = from;
    for (const Choices& step : steps)
      for (std::size_t l = 0; l < from.size(); ++l)
        if (out[l] == from[l]) out[l] = step[l];
    return out;
  }

  // Steps that are not known: the best of each layer by the guess, then the second best of each, … What is known is no
  // better than the best so far.
  std::vector<Choices> steps_from(const Choices& from) const {
    struct Step {
      double value = 0;
      std::size_t layer = 0, turn = 0;
      Choices decision{};
    };
    std::vector<Step> steps;
    const auto add = [&](std::size_t layer, Choices step) {
      if (judge_.is_known(step)) return;
      const double value = options_.value(model_.guess(step));
      steps.push_back({value, layer, 0, std::move(step)});
    };
    const std::vector<Layer>& layers = placement_.layers();
    for (std::size_t l = 0; l < layers.size(); ++l)
      for (std::uint16_t a = 0; a < layers[l].allocations.size(); ++a) {
        if (a == from[l]) continue;
        Choices step = from;
        step[l] = a;
        add(l, std::move(step));
      }
    for (std::size_t a = 0; a < layers.size(); ++a)
      for (std::size_t b = a + 1; b < layers.size(); ++b) {
        if (layers[a].allocations.size() < 2 || layers[b].allocations.size() < 2) continue;
        Choices step = from;
        swap_layers(placement_, step, a, b);
        if (step != from) add(a, std::move(step));
      }
    std::stable_sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) { return a.value < b.value; });
    std::vector<std::size_t> turns(layers.size(), 0);
    for (Step& step : steps) step.turn = turns[step.layer]++;
    std::stable_sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) { return a.turn < b.turn; });
    std::vector<Choices> out;
    for (Step& step : steps) out.push_back(std::move(step.decision));
    return out;
  }

  const Placement& placement_;
  const DescentOptions& options_;
  PlacementModel model_;
  PlacementJudge judge_;
};

// ---- Genetic ----

constexpr double kCrossed = 0.3, kEachGene = 0.75;

Choices crossed(const Choices& a, const Choices& b, Random& random) {
  Choices child = a;
  const auto [first, last] = std::minmax({random.below(a.size() + 1), random.below(a.size() + 1)});
  std::copy(b.begin() + static_cast<std::ptrdiff_t>(first), b.begin() + static_cast<std::ptrdiff_t>(last),
            child.begin() + static_cast<std::ptrdiff_t>(first));
  return child;
}

solve::Variation<Choices> stream_variation(const Placement& placement) {
  const std::vector<std::uint16_t> choices = placement.choices();
  std::vector<std::size_t> open;
  for (std::size_t l = 0; l < choices.size(); ++l)
    if (choices[l] > 1) open.push_back(l);
  const double each = 1 / std::max(1.0, static_cast<double>(open.size()));
  solve::Variation<Choices> out = solve::choice_variation(choices, {.mutation = each});
  out.cross = [&placement, open, mutate = out.mutate](const Choices& a, const Choices& b, Random& random) {
    if (random.chance(kCrossed)) return crossed(a, b, random);
    Choices child = a;
    if (open.size() < 2 || random.chance(kEachGene))
      mutate(child, random);
    else
      swap_layers(placement, child, open[random.below(open.size())], open[random.below(open.size())]);
    return child;
  };
  out.mutate = [](Choices&, Random&) {};
  return out;
}

Placed search_by_genes(const Placement& placement, const PlaceOptions& options) {
  PlacementJudge judge(placement, options.search);
  const std::vector<Choices> usual{Choices(placement.layers().size(), 0)};
  judge(usual);
  solve::Nsga2Problem<Choices> problem{.variation = stream_variation(placement)};
  problem.seeds = usual;
  problem.evaluate = [&](std::span<const Choices> batch) {
    std::vector<solve::Score> scores;
    for (const Figures& f : judge(batch))
      scores.push_back(f.is_possible ? solve::Score{{f.latency_cycles, f.energy_pj}} : solve::Score{{}, 1});
    judge.tell();
    return scores;
  };
  const std::size_t population =
      options.population > 0 ? options.population : std::clamp<std::size_t>(options.search.evaluations / 8, 8, 100);
  solve::Nsga2<Choices> search(problem, {.population = population,
                                         .evaluations = options.search.evaluations,
                                         .crossover = 1,  // what a child is, the variation decides
                                         .seed = options.seed,
                                         .deadline = options.search.deadline});
  search.run();
  Placed out = judge.best();
  out.evaluations = judge.count();
  return out;
}

// ---- Exact ----

Placed try_all(const Placement& placement, const DescentOptions& options) {
  constexpr std::size_t kBatch = 64;
  MONET_ASSERT(placement.decisions() <= kMostPlacements, "too many placements for all of them");
  const std::vector<std::uint16_t> choices = placement.choices();
  PlacementJudge judge(placement, options);
  Choices at(choices.size(), 0);
  bool has_more = true;
  while (has_more && !(options.deadline.is_over() && judge.count() > 0)) {
    std::vector<Choices> batch;
    for (; has_more && batch.size() < kBatch; has_more = solve::advance(at, choices)) batch.push_back(at);
    judge(batch);
    judge.tell();
  }
  Placed out = judge.best();
  out.evaluations = judge.count();
  out.is_exact = out.is_local_optimum = !has_more;
  return out;
}

}  // namespace

std::string_view name(PlaceMethod method) {
  switch (method) {
    case PlaceMethod::Local: return "local";
    case PlaceMethod::Genetic: return "ga";
    case PlaceMethod::Exact: return "exact";
  }
  return "";
}

Placed place(const Placement& placement, const PlaceOptions& options) {
  switch (options.method) {
    case PlaceMethod::Local: return LocalSearch(placement, options.search).run();
    case PlaceMethod::Genetic: return search_by_genes(placement, options);
    case PlaceMethod::Exact: return try_all(placement, options.search);
  }
  return {};
}

}  // namespace monet::search
