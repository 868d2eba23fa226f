#include "monet/search/fusion.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "monet/base/diagnostic.h"
#include "monet/graph/text.h"
#include "monet/hardware/library.h"
#include "monet/models/catalogue.h"
#include "monet/plan/machine.h"
#include "monet/rewrite/decompose.h"
#include "monet/search/refine.h"
#include "monet/solve/random.h"
#include "monet/training/train.h"

namespace monet::search {
namespace {

using Group = std::vector<std::uint32_t>;

plan::Chip chip(const char* name) { return plan::chip_of(hardware::find_hardware(name).hardware); }

// ---- Candidates, against all sets of nodes there are ----

FusionGraph random_graph(std::uint64_t seed) {
  solve::Random random(seed, 0, 0);
  FusionGraph g;
  const auto count = static_cast<std::uint32_t>(4 + random.below(6));
  const char* const kinds[] = {"conv", "matmul", "add"};
  for (std::uint32_t n = 0; n < count; ++n)
    g.nodes.push_back({.nodes = {NodeId{n}},
                       .kind = kinds[random.below(3)],
                       .work_class = "elementwise",
                       .rows = std::int64_t{1} << random.below(3),
                       .weight_bytes = static_cast<double>(random.below(3)) * 1e6,
                       .made = 1 + static_cast<double>(random.below(4)),
                       .summed = random.chance(0.2) ? 4.0 : 0.0,
                       .cores = 1});
  g.nodes[0].rows = 3;
  g.neighbours.resize(count);
  g.made.resize(count);
  g.read.resize(count);
  for (std::uint32_t n = 0; n < count; ++n) {
    FusionTensor t{.producer = n, .bytes = 8, .row_bytes = 8, .is_output = random.chance(0.1)};
    for (std::uint32_t m = n + 1; m < count; ++m)
      if (random.chance(0.3)) t.readers.push_back(m);
    for (const std::uint32_t m : t.readers) {
      g.order.push_back({n, m});
      g.neighbours[n].push_back(m);
      g.neighbours[m].push_back(n);
      g.read[m].push_back(static_cast<std::uint32_t>(g.tensors.size()));
    }
    g.made[n].push_back(static_cast<std::uint32_t>(g.tensors.size()));
    g.tensors.push_back(t);
  }
  if (random.chance(0.5)) g.order.push_back({0, count - 1});  // an order without data
  for (auto& list : g.neighbours) std::sort(list.begin(), list.end());
  return g;
}

bool has(const Group& group, std::uint32_t n) { return std::find(group.begin(), group.end(), n) != group.end(); }

// By the words of the rules, one after the other.
bool is_allowed(const FusionGraph& g, const FusionRules& rules, double room, const Group& group) {
  if (group.size() == 1) return true;
  if (group.size() > rules.limit) return false;
  // Hangs together.
  Group reached{group[0]};
  for (std::size_t i = 0; i < reached.size(); ++i)
    for (const std::uint32_t m : g.neighbours[reached[i]])
      if (has(group, m) && !has(reached, m)) reached.push_back(m);
  if (reached.size() != group.size()) return false;
  // Nobody outside between two of them: from outside nodes that follow one, none leads back.
  std::vector<bool> follows(g.nodes.size(), false);
  for (std::uint32_t n = 0; n < g.nodes.size(); ++n)
    for (const auto& [from, to] : g.order)
      if (to == n && ((has(group, from) && !has(group, n)) || (follows[from] && !has(group, from)))) {
        if (has(group, n)) return false;
        follows[n] = true;
      }
  std::uint32_t convs = 0, products = 0, outputs = 0;
  double weights = 0;
  std::set<std::uint32_t> producers;
  for (const std::uint32_t n : group) {
    convs += g.nodes[n].kind == "conv" ? 1 : 0;
    products += g.nodes[n].kind == "matmul" ? 1 : 0;
    weights += g.nodes[n].weight_bytes;
    bool leaves = false;
    for (const std::uint32_t r : g.tensors[n].readers) leaves = leaves || !has(group, r);
    outputs += leaves ? 1 : 0;
    for (std::uint32_t p = 0; p < g.nodes.size(); ++p)
      if (!has(group, p) && has(Group(g.tensors[p].readers), n)) producers.insert(p);
    for (const std::uint32_t m : group)
      if (rules.rows_divide && g.nodes[n].rows % g.nodes[m].rows != 0 && g.nodes[m].rows % g.nodes[n].rows != 0)
        return false;
  }
  if (convs > 3 || products > 1 || (products > 0 && convs > 1)) return false;
  if (rules.weights_fit && weights > room) return false;
  if (rules.most_outputs > 0 && outputs > rules.most_outputs) return false;
  if (rules.most_producers > 0 && producers.size() > rules.most_producers) return false;
  if (rules.statistics_are_barriers) {
    std::vector<double> waited(g.nodes.size(), 0);
    for (const std::uint32_t n : group) {
      for (const std::uint32_t p : group)
        if (has(Group(g.tensors[p].readers), n)) waited[n] = std::max({waited[n], waited[p], g.nodes[p].summed});
      if (waited[n] > 0 && 2 * g.nodes[n].made >= waited[n]) return false;
    }
  }
  return true;
}

TEST(FusionCandidates, AreAllGroupsThatTheRulesAllow) {
  const plan::Chip on = chip("tpu_like_quad_core");
  const double room = static_cast<double>(on.machine.stores[on.store(0, hardware::Slot::Weight).index()].bytes);
  std::size_t found = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    const FusionGraph g = random_graph(seed);
    FusionRules rules = monet_rules();
    rules.limit = 2 + static_cast<std::uint32_t>(seed % 5);
    rules.most_outputs = static_cast<std::uint32_t>(seed % 3);
    rules.most_producers = static_cast<std::uint32_t>(seed / 3 % 3);
    rules.rows_divide = seed % 2 == 0;
    rules.statistics_are_barriers = seed % 4 < 2;
    std::set<Group> expected;
    for (unsigned bits = 1; bits < 1u << g.nodes.size(); ++bits) {
      Group group;
      for (std::uint32_t n = 0; n < g.nodes.size(); ++n)
        if ((bits >> n & 1u) != 0) group.push_back(n);
      if (is_allowed(g, rules, room, group)) expected.insert(group);
    }
    const FusionCandidates c = fusion_candidates(g, on, rules);
    EXPECT_TRUE(c.is_complete);
    EXPECT_EQ(c.groups.size(), expected.size()) << "seed " << seed;
    EXPECT_EQ(std::set<Group>(c.groups.begin(), c.groups.end()), expected) << "seed " << seed;
    for (const Group& group : c.groups)
      EXPECT_TRUE(group.size() == 1 || !group_judge(g, on, rules)(group)) << "seed " << seed;
    found += expected.size() - g.nodes.size();
  }
  EXPECT_GT(found, 1'000u);
}

TEST(FusionCandidates, StopAtAnEndAndSaySo) {
  const FusionGraph g = random_graph(3);
  const FusionCandidates c = fusion_candidates(g, chip("fusemax"), default_rules(), {.most = g.nodes.size() + 2});
  EXPECT_FALSE(c.is_complete);
}

// ---- Whole graphs ----

Subject subject(const char* model, const char* optimizer = "adam") {
  TrainingOptions options;
  options.optimizer = parse_optimizer(optimizer);
  return Subject(decompose(make_training(build_model(model, 1), options).graph, {}));
}

TEST(Fuse, MakesGroupsOfAllNodesInAnOrderThatRuns) {
  const plan::Chip on = chip("fusemax");
  for (const char* model : {"mlp:in=16,hidden=8,layers=2,classes=4", "resnet18:image=32,classes=10,width=8"}) {
    const Subject s = subject(model);
    for (const FusionRules& rules : {monet_rules(), default_rules()}) {
      const FusionInput input{.graph = s.graph, .facts = s.facts, .chip = on, .rules = rules};
      const Fusion f = fuse(input);
      EXPECT_TRUE(f.is_proven);
      EXPECT_EQ(f.objective, f.bound);
      std::vector<bool> seen(s.graph.nodes.size(), false);
      for (const std::vector<NodeId>& group : f.groups)
        for (const NodeId n : group) {
          EXPECT_FALSE(seen[n.index()]);
          seen[n.index()] = true;
        }
      EXPECT_EQ(std::count(seen.begin(), seen.end(), true), static_cast<std::ptrdiff_t>(seen.size()));
      // A plan of them is legal: decide throws if it is not.
      const plan::Decided decided = plan::decide(s.graph, s.facts, on, plan_of(s, f.groups));
      EXPECT_EQ(groups_of(decided), f.groups);
      EXPECT_LE(objective_of(input, f.groups), f.objective + 1e-9);
    }
  }
}

// Checks and sums that all gradients pass stand between the steps of updates, with views of what they make.
TEST(Fuse, LosesNoNodeWhereUpdatesWaitForOneAnother) {
  const plan::Chip on = chip("fusemax");
  for (const char* model : {"mlp:in=16,hidden=8,layers=2,classes=4", "resnet18:image=32,classes=10,width=8",
                            "gpt2-mini:layers=1,seq=16,width=32,vocab=64"})
    for (const bool is_scaled : {false, true})
      for (const bool is_clipped : {false, true}) {
        TrainingOptions options;
        options.loss_scaling = is_scaled;
        if (is_clipped) options.clip_norm = 1.0;
        const Subject s(decompose(make_training(build_model(model, 1), options).graph, {}));
        const FusionRules rules = default_rules();
        const FusionGraph graph = fusion_graph(s.graph, s.facts, on, rules);
        for (std::size_t n = 0; n < s.graph.nodes.size(); ++n)
          EXPECT_EQ(graph.index_of[n] == FusionTensor::kNobody, s.facts[n].is_view) << s.graph.nodes[n].name;
        const FusionInput input{
            .graph = s.graph, .facts = s.facts, .chip = on, .rules = rules, .objective = FusionObjective::Traffic};
        const Fusion f = fuse(input);
        EXPECT_TRUE(f.is_proven);
        EXPECT_NEAR(objective_of(input, f.groups), f.objective, 1e-9 * f.objective);
        for (const std::vector<NodeId>& group : f.groups) EXPECT_LE(fusion_group(graph, group).size(), rules.limit);
      }
}

TEST(Fuse, TakesAGraphInWhichNothingComputes) {
  const plan::Chip on = chip("fusemax");
  const Subject s(
      parse_graph("graph \"v\"\ninput x : f32[2,8]\n\nforward r = view{shape=[4,4]}(x) -> r : f32[4,4]\n"
                  "\noutput r\n",
                  "v.monet"));
  const Fusion f = fuse({.graph = s.graph, .facts = s.facts, .chip = on, .rules = default_rules()});
  ASSERT_EQ(f.groups.size(), 1u);
  EXPECT_EQ(f.groups[0].size(), 1u);
  EXPECT_EQ(stream_groups(s, on), f.groups);
}

TEST(Fuse, TakesAsManyNodesAsCanBeListed) {
  const plan::Chip on = chip("fusemax");
  const Subject s = subject("gpt2-mini:layers=1,seq=16,width=32,vocab=64");
  const auto fused = [&](std::uint32_t limit) {
    FusionInput input{.graph = s.graph, .facts = s.facts, .chip = on, .rules = default_rules(), .most_looks = 20'000};
    input.rules.limit = limit;
    return fuse(input);
  };
  const Fusion f = fused(200);
  EXPECT_GT(f.limit, 3u);
  EXPECT_LT(f.limit, 200u);
  EXPECT_EQ(fused(f.limit).groups, f.groups);
  EXPECT_EQ(fused(f.limit + 1).limit, f.limit);
}

TEST(Fuse, CostsNoMoreThanWhatTheRulesAllowOtherwise) {
  const plan::Chip on = chip("fusemax");
  const Subject s = subject("mlp:in=64,hidden=32,layers=2,classes=8");
  double last = std::numeric_limits<double>::infinity();
  for (std::uint32_t limit = 1; limit <= 6; ++limit) {
    FusionRules rules = default_rules();
    rules.limit = limit;
    const Fusion f =
        fuse({.graph = s.graph, .facts = s.facts, .chip = on, .rules = rules, .objective = FusionObjective::Traffic});
    EXPECT_LE(f.objective, last) << limit;
    last = f.objective;
  }
}

TEST(Fuse, KeepsAnUpdateApartFromItsGradientWhereABarrierStandsBetween) {
  const plan::Chip on = chip("fusemax");
  for (const bool is_clipped : {false, true}) {
    TrainingOptions options;
    if (is_clipped) options.clip_norm = 1.0;
    const Subject s(
        decompose(make_training(build_model("mlp:in=64,hidden=32,layers=1,classes=8", 1), options).graph, {}));
    const Fusion f = fuse({.graph = s.graph,
                           .facts = s.facts,
                           .chip = on,
                           .rules = default_rules(),
                           .objective = FusionObjective::Traffic});
    bool is_fused = false;
    for (const std::vector<NodeId>& group : f.groups) {
      bool makes = false, updates = false;
      for (const NodeId n : group) {
        makes = makes || (s.facts[n.index()].is_nest && s.graph[n].phase == Phase::Backward);
        for (const TensorId t : s.graph[n].outputs)
          updates = updates ||
                    (t != kNoTensor && s.graph[t].overwrites != kNoTensor && s.graph[t].category == Category::Weight);
      }
      is_fused = is_fused || (makes && updates);
    }
    EXPECT_EQ(is_fused, !is_clipped);
  }
}

TEST(Refine, NeverMakesItWorseAndIsTheSameOnAnyNumberOfThreads) {
  const hardware::Hardware hardware = hardware::find_hardware("fusemax").hardware;
  const plan::Chip on = plan::chip_of(hardware);
  const Subject s = subject("mlp:in=64,hidden=32,layers=2,classes=8", "sgd");
  cost::Cache cache;
  Setting setting{on, hardware, {}};
  setting.costs.cache = &cache;
  const Fusion f = fuse({.graph = s.graph, .facts = s.facts, .chip = on, .rules = default_rules()});
  const Evaluated before = evaluate(setting, s, plan_of(s, f.groups));
  std::vector<Refined> results;
  for (const std::size_t threads : {1, 2, 4})
    results.push_back(
        refine(setting, s, default_rules(), f.groups,
               {.value = [](const Figures& x) { return x.latency_cycles; }, .evaluations = 60, .threads = threads}));
  EXPECT_LE(results[0].figures.latency_cycles, std::get<schedule::Evaluation>(before.outcome).latency);
  for (const Refined& r : results) {
    EXPECT_EQ(r.groups, results[0].groups);
    EXPECT_EQ(r.figures, results[0].figures);
    EXPECT_EQ(r.evaluations, results[0].evaluations);
  }
}

TEST(Refine, JoinsWhatTheRulesAllowOnly) {
  const hardware::Hardware hardware = hardware::find_hardware("tpu_like").hardware;
  const plan::Chip on = plan::chip_of(hardware);
  const Subject s(decompose(build_model("resnet18:image=32,width=8,classes=10", 1), {}));
  cost::Cache cache;
  Setting setting{on, hardware, {}};
  setting.costs.cache = &cache;
  FusionRules rules = monet_rules();
  rules.limit = 2;
  std::vector<std::vector<NodeId>> alone;
  for (std::uint32_t n = 0; n < s.graph.nodes.size(); ++n) alone.push_back({NodeId{n}});
  const Refined r =
      refine(setting, s, rules, alone, {.value = [](const Figures& x) { return x.latency_cycles; }, .evaluations = 40});
  EXPECT_GT(r.steps, 0u);
  const FusionGraph graph = fusion_graph(s.graph, s.facts, on, rules);
  const GroupJudge broken_rule = group_judge(graph, on, rules);
  for (const std::vector<NodeId>& nodes : r.groups) {
    const auto group = fusion_group(graph, nodes);
    EXPECT_TRUE(group.size() < 2 || !broken_rule(group)) << s.graph[nodes.front()].name;
  }
}

TEST(StreamGroups, AreTheFirstNodesWhoseWeightsFitAndTheRestAlone) {
  const Subject s = subject("mlp:in=64,hidden=32,layers=2,classes=8", "sgd");
  const plan::Chip on = chip("tpu_like_quad_core");
  const auto groups = stream_groups(s, on);
  EXPECT_EQ(groups.size(), 1u);  // everything fits
  std::size_t nodes = 0;
  for (const auto& group : groups) nodes += group.size();
  EXPECT_EQ(nodes, s.graph.nodes.size());
}

// ---- Rule files ----

TEST(FusionRules, AreReadFromAFile) {
  const FusionRules rules = parse_rules(
      "monet: fusion_rules\nlimit: 4\nkinds:\n  - {of: [conv, matmul], most: 1}\n  - {of: conv, most: 2, with: "
      "[relu]}\n"
      "rows_divide: false\nmost_outputs: 0\n",
      "rules.yaml");
  EXPECT_EQ(rules.limit, 4u);
  ASSERT_EQ(rules.kinds.size(), 2u);
  EXPECT_EQ(rules.kinds[1], (KindLimit{.of = {"conv"}, .most = 2, .with = {"relu"}}));
  EXPECT_FALSE(rules.rows_divide);
  EXPECT_TRUE(rules.weights_fit);
  EXPECT_EQ(rules.most_outputs, 0u);
}

TEST(FusionRules, SayWhatIsWrongWithAFile) {
  const auto error_of = [](const std::string& text) -> std::string {
    try {
      parse_rules(text, "r.yaml");
    } catch (const InputError& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_NE(error_of("monet: fusion_rules\nlimits: 4\n").find("r.yaml:2:1: error: unknown key 'limits'"),
            std::string::npos);
  EXPECT_NE(error_of("monet: plan\n").find("r.yaml:1:8"), std::string::npos);
  EXPECT_NE(error_of("monet: fusion_rules\nlimit: 0\n").find("r.yaml:2:8"), std::string::npos);
  EXPECT_NE(error_of("monet: fusion_rules\nkinds: [{most: 1}]\n").find("'of' names no kind"), std::string::npos);
}

}  // namespace
}  // namespace monet::search
