#include "monet/search/linear_problem.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "monet/graph/saved.h"
#include "monet/models/catalogue.h"
#include "monet/rewrite/recompute.h"
#include "monet/training/train.h"
#include "unit/search/linear_judge.h"

namespace monet::search {
namespace {

const char* const kModels[] = {"mlp:in=16,hidden=8,layers=3,classes=4", "resnet18:image=32,classes=10,width=8",
                               "gpt2-mini", "mobilenet_v3_small:image=64"};

struct Linearised {
  Linearised(const char* model, double least_share, bool has_free_views = false, SavePolicy policy = SavePolicy::Lean)
      : graph(make_training(build_model(model, 2), {.policy = policy}).graph) {
    const Uses u = uses(graph);
    double all = 0;
    for (const TensorId t : saved_activations(graph)) all += static_cast<double>(bytes(graph[t]));
    for (const TensorId t : saved_activations(graph))
      if (u.producer[t.index()] != kNoNode && static_cast<double>(bytes(graph[t])) >= least_share * all)
        activations.push_back(t);
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      const Op& op = graph.nodes[n].op;
      const bool is_view = std::holds_alternative<View>(op) || std::holds_alternative<Expand>(op) ||
                           std::holds_alternative<Slice>(op) || std::holds_alternative<Split>(op);
      costs.cycles.push_back(is_view && has_free_views ? 0 : static_cast<double>(1 + n * 37 % 101));
      costs.energy_pj.push_back(static_cast<double>(1 + n * 53 % 97));
    }
    problem = linear_problem(graph, activations, costs);
  }
  Graph graph;
  std::vector<TensorId> activations;
  NodeCosts costs;
  LinearProblem problem;
};

TEST(LinearProblem, CostsSumUpToThoseOfTheNodes) {
  for (const char* model : kModels)
    for (const double least_share : {0.0, 0.01, 0.1}) {
      const Linearised f(model, least_share);
      double cycles = 0, energy = 0, merged_cycles = 0, merged_energy = 0;
      for (std::size_t n = 0; n < f.graph.nodes.size(); ++n)
        if (f.graph.nodes[n].phase != Phase::Update) cycles += f.costs.cycles[n], energy += f.costs.energy_pj[n];
      for (const LinearStep& step : f.problem.steps) merged_cycles += step.cycles, merged_energy += step.energy_pj;
      EXPECT_EQ(cycles, merged_cycles) << model;
      EXPECT_EQ(energy, merged_energy) << model;
    }
}

TEST(LinearProblem, StepsReadEarlierOnesAndBackwardComesLast) {
  for (const char* model : kModels) {
    const Linearised f(model, 0.01);
    ASSERT_EQ(f.problem.step_of.size(), f.activations.size());
    bool has_turned = false;
    for (std::uint32_t s = 0; s < f.problem.steps.size(); ++s) {
      const LinearStep& step = f.problem.steps[s];
      for (const std::uint32_t i : step.inputs) EXPECT_LT(i, s);
      EXPECT_TRUE(std::is_sorted(step.inputs.begin(), step.inputs.end()));
      EXPECT_TRUE(step.is_backward || !has_turned);
      has_turned = step.is_backward;
    }
    EXPECT_TRUE(has_turned);
    // All activations, in the steps' bytes; everything else that is saved, in the fixed ones.
    double decided = 0, steps = 0;
    for (const TensorId t : f.activations) decided += static_cast<double>(bytes(f.graph[t]));
    std::set<std::uint32_t> seen(f.problem.step_of.begin(), f.problem.step_of.end());
    for (const std::uint32_t s : seen) steps += f.problem.steps[s].bytes;
    EXPECT_EQ(decided, steps) << model;
  }
}

TEST(LinearProblem, OfAnMlpIsAChain) {
  const Linearised f("mlp:in=16,hidden=8,layers=3,classes=4", 0.01);
  for (std::uint32_t s = 1; s < f.problem.steps.size() && !f.problem.steps[s].is_backward; ++s)
    EXPECT_EQ(f.problem.steps[s].inputs, std::vector{s - 1}) << f.problem.steps[s].name;
}

// The costs of the clones that the rewrite adds to an iteration.
double rewritten_cost(const Linearised& f, const std::vector<TensorId>& dropped) {
  std::map<std::string, double> cost;
  for (std::size_t n = 0; n < f.graph.nodes.size(); ++n) cost[f.graph.nodes[n].name] = f.costs.cycles[n];
  double sum = 0;
  for (const Node& node : recompute(f.graph, dropped).nodes)
    if (node.phase == Phase::Recompute) sum += cost.at(node.name.substr(0, node.name.find(".recompute")));
  return sum;
}

// Except for views, which the rewrite repeats only where somebody reads them.
TEST(LinearProblem, RebuildingCostsWhatTheRewriteAdds) {
  for (const char* model : kModels)
    for (const double least_share : {0.0, 0.01}) {
      const Linearised f(model, least_share, true, least_share == 0 ? SavePolicy::Torch : SavePolicy::Lean);
      const double once = rebuilding_result(f.problem, std::vector<bool>(f.problem.steps.size(), true)).figures.cycles;
      for (std::uint64_t seed = 0; seed < 8; ++seed) {
        solve::Random random(3, seed, 0);
        std::vector<bool> is_kept(f.problem.steps.size(), false);
        for (const std::uint32_t s : f.problem.step_of) is_kept[s] = random.chance(0.5);
        std::vector<TensorId> dropped;
        for (std::size_t a = 0; a < f.activations.size(); ++a)
          if (!is_kept[f.problem.step_of[a]]) dropped.push_back(f.activations[a]);
        EXPECT_EQ(rebuilding_result(f.problem, is_kept).figures.cycles - once, rewritten_cost(f, dropped))
            << model << " " << least_share << " " << seed;
      }
    }
}

TEST(LinearProblem, RelatesActivationsThatAreRebuiltTogether) {
  // 0 → 1 (nobody decides on it) → 2, 3; 2, 3 → 4; 4 makes two activations.
  LinearProblem p;
  p.steps = {{.name = "a", .bytes = 1},
             {.name = "shared", .bytes = 1, .inputs = {0}},
             {.name = "b", .bytes = 1, .inputs = {1}},
             {.name = "c", .bytes = 1, .inputs = {1}},
             {.name = "d", .bytes = 1, .inputs = {2, 3}},
             {.name = "gradient of d", .inputs = {4}, .is_backward = true, .forward_of = 4}};
  p.step_of = {0, 2, 3, 4, 4};
  const std::vector<std::vector<std::uint32_t>> expected{{}, {0}, {0, 1}, {1, 2}, {3}};
  EXPECT_EQ(related_activations(p), expected);
}

TEST(LinearProblem, OfAnMlpRelatesNeighbours) {
  const Linearised f("mlp:in=16,hidden=8,layers=3,classes=4", 0);
  const std::vector<std::vector<std::uint32_t>> related = related_activations(f.problem);
  ASSERT_EQ(related.size(), f.activations.size());
  for (std::uint32_t a = 0; a < related.size(); ++a)
    for (const std::uint32_t other : related[a]) EXPECT_LT(other, a);
  EXPECT_FALSE(related.back().empty());
}

TEST(LinearSchedule, FiguresAreThoseOfTheJudge) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const LinearProblem p = random_problem(seed, 8, seed % 2 == 0);
    solve::Random random(5, seed, 0);
    std::vector<bool> is_kept(p.steps.size());
    for (std::size_t s = 0; s < is_kept.size(); ++s) is_kept[s] = random.chance(0.5);
    const LinearResult r = rebuilding_result(p, is_kept);
    const Judged judged = judge(p, r.events);
    EXPECT_EQ(judged.fault, "");
    EXPECT_EQ(judged.cycles, r.figures.cycles);
    EXPECT_EQ(judged.energy_pj, r.figures.energy_pj);
    EXPECT_EQ(judged.peak_bytes, r.figures.peak_bytes);
    EXPECT_EQ(judged.decision, r.figures.decision);
  }
}

}  // namespace
}  // namespace monet::search
