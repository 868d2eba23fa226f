#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>

#include "monet/models/catalogue.h"
#include "monet/rewrite/decompose.h"
#include "monet/search/alike_tasks.h"
#include "monet/search/sensitivity.h"
#include "monet/training/train.h"

namespace monet::search {
namespace {

constexpr const char* kSpace = R"(monet: space
name: small
chip: fusemax_monet
variables:
  x: [32, 64]
  vector_lanes: [16, 64, 256]
  buffer_mib: [1, 4]
  offchip_bits: [64, 512]
constraints:
  - x * vector_lanes <= 8192
)";

// A perceptron, trained and not, on chips of a small space.
class ExplorationTest : public testing::Test {
 protected:
  ExplorationTest() : family_(hardware::parse_space(kSpace, "small.yaml")) {
    exploration_ = std::make_unique<Exploration>(family_, workloads(), std::vector<Axis>{}, cache_,
                                                 ExplorationOptions{.threads = 2});
  }

  static std::vector<Workload> workloads() {
    const Graph forward = build_model("mlp:in=32,hidden=48,layers=2,classes=8", 4);
    std::vector<Workload> workloads;
    workloads.push_back({.name = "inference"});
    workloads.back().variants.push_back(std::make_unique<Subject>(decompose(forward, {})));
    workloads.back().samples = {4};
    workloads.push_back({.name = "training"});
    workloads.back().variants.push_back(std::make_unique<Subject>(decompose(make_training(forward, {}).graph, {})));
    workloads.back().samples = {4};
    return workloads;
  }

  ExplorationSearchOptions options(std::size_t evaluations = 10) {
    ExplorationSearchOptions o{.evaluations = evaluations, .threads = 2};
    o.run = [this](std::span<const Task> tasks) {
      runs_ += tasks.size();
      return exploration_->run(tasks, {});
    };
    return o;
  }
  std::set<Candidate> on_front(const Explored& e, std::size_t workload) const {
    std::set<Candidate> out;
    for (const std::uint32_t i : e.fronts[workload]) out.insert(e.points[i].candidate);
    return out;
  }

  hardware::Family family_;
  cost::Cache cache_;
  std::unique_ptr<Exploration> exploration_;
  std::size_t runs_ = 0;
};

TEST_F(ExplorationTest, TheGridIsEveryPointOnce) {
  const Explored all = explore_grid(*exploration_, options());
  EXPECT_EQ(all.points.size(), 24u);
  std::set<Candidate> seen;
  std::size_t invalid = 0;
  for (const ExploredPoint& p : all.points) {
    seen.insert(p.candidate);
    ASSERT_EQ(p.figures.size(), 2u);
    if (!p.figures[0].is_possible()) {
      ++invalid;
      EXPECT_NE(p.figures[0].reason.find("x * vector_lanes <= 8192"), std::string::npos);
      continue;
    }
    for (const ChipFigures& f : p.figures) {
      EXPECT_GT(f.latency_s, 0);
      EXPECT_NEAR(f.energy_pj, f.compute_pj + f.memory_pj + f.link_pj + f.offchip_pj + f.leakage_pj,
                  1e-9 * f.energy_pj);
      EXPECT_EQ(f, figures_of("", numbers_of(f))) << "columns are the inverse of one another";
    }
    EXPECT_GT(p.figures[1].energy_pj, p.figures[0].energy_pj) << "training takes more than inference";
  }
  EXPECT_EQ(seen.size(), 24u);
  EXPECT_EQ(invalid, 4u) << "64 x 256";
  // No point of a front is dominated by any other.
  const ExplorationGoal goal;
  for (std::size_t w = 0; w < 2; ++w)
    for (const std::uint32_t i : all.fronts[w])
      for (const ExploredPoint& p : all.points)
        if (p.figures[w].is_possible()) {
          EXPECT_FALSE(
              solve::dominates(goal.score(p.figures[w]).objectives, goal.score(all.points[i].figures[w]).objectives));
        }
}

TEST_F(ExplorationTest, PruningKeepsEveryFront) {
  for (const std::vector<ChipObjective>& objectives : {std::vector{ChipObjective::Latency, ChipObjective::Energy},
                                                       {ChipObjective::Energy},
                                                       {ChipObjective::Latency, ChipObjective::Area}}) {
    ExplorationSearchOptions o = options();
    o.goal.objectives = objectives;
    const Explored all = explore_grid(*exploration_, o);
    const Explored pruned = explore_pruned(*exploration_, o);
    for (std::size_t w = 0; w < 2; ++w) EXPECT_EQ(on_front(all, w), on_front(pruned, w));
    EXPECT_EQ(all.common.size(), pruned.common.size());
    EXPECT_EQ(pruned.points.size() + pruned.pruned, 24u);
    // What is not valid is there with its reason.
    const auto reasons = [](const Explored& found) {
      std::vector<std::string> out;
      for (const ExploredPoint& p : found.points)
        if (!p.figures[0].is_possible()) out.push_back(p.figures[0].reason);
      return out;
    };
    EXPECT_EQ(reasons(pruned), reasons(all));
    EXPECT_EQ(reasons(pruned).size(), 4u);
    // In the order of the grid.
    std::vector<Candidate> order;
    for (const ExploredPoint& p : all.points)
      for (const ExploredPoint& q : pruned.points)
        if (p.candidate == q.candidate) order.push_back(p.candidate);
    for (std::size_t i = 0; i < order.size(); ++i) EXPECT_EQ(order[i], pruned.points[i].candidate);
  }
}

TEST_F(ExplorationTest, BoundsAreBelowFigures) {
  const Explored all = explore_grid(*exploration_, options());
  for (const ExploredPoint& p : all.points) {
    const TaskResult least = exploration_->bounds(p.candidate);
    for (std::size_t w = 0; w < 2; ++w) {
      EXPECT_EQ(least[w].is_possible(), p.figures[w].is_possible());
      if (!p.figures[w].is_possible()) continue;
      EXPECT_LE(least[w].latency_s, p.figures[w].latency_s);
      EXPECT_LE(least[w].energy_pj, p.figures[w].energy_pj);
      EXPECT_GT(least[w].latency_s, 0);
      EXPECT_EQ(least[w].area_mm2, p.figures[w].area_mm2);
    }
  }
}

TEST_F(ExplorationTest, RandomAndEvenlySpreadPointsAreDifferentOnes) {
  for (const auto explore : {explore_random, explore_quasi}) {
    const Explored some = explore(*exploration_, options(11));
    std::set<Candidate> seen;
    for (const ExploredPoint& p : some.points) seen.insert(p.candidate);
    EXPECT_EQ(seen.size(), 11u);
    const Explored again = explore(*exploration_, options(11));
    EXPECT_EQ(some.points, again.points);
    EXPECT_EQ(explore(*exploration_, options(100)).points.size(), 24u) << "there are no more";
  }
}

TEST_F(ExplorationTest, SpreadPointsTakeEveryValueAlike) {
  const Explored some = explore_quasi(*exploration_, options(12));
  std::vector<std::size_t> lanes(3), buffers(2);
  for (const ExploredPoint& p : some.points) {
    ++lanes[p.candidate[1]];
    ++buffers[p.candidate[2]];
  }
  for (const std::size_t n : lanes) EXPECT_GE(n, 3u);
  for (const std::size_t n : buffers) EXPECT_GE(n, 5u);
}

TEST_F(ExplorationTest, EvolutionFindsTheFrontOfAll) {
  const Explored all = explore_grid(*exploration_, options());
  const Explored found = explore_nsga2(*exploration_, options(24));
  EXPECT_EQ(found.points.size(), 24u);
  // Of equal points each front has the one that came first.
  const ExplorationGoal goal;
  const auto objectives = [&](const Explored& e, std::size_t w) {
    std::set<solve::Objectives> out;
    for (const std::uint32_t i : e.fronts[w]) out.insert(goal.score(e.points[i].figures[w]).objectives);
    return out;
  };
  for (std::size_t w = 0; w < 2; ++w) EXPECT_EQ(objectives(all, w), objectives(found, w));
}

TEST_F(ExplorationTest, ThreadsChangeNothing) {
  std::vector<Task> tasks;
  for (std::uint16_t i = 0; i < 3; ++i) tasks.push_back({{0, i, 0, 1}, {0, 1}});
  const std::vector<TaskResult> two = exploration_->run(tasks, {});
  for (std::size_t i = 0; i < tasks.size(); ++i) EXPECT_EQ(two[i], exploration_->run(tasks[i]));
}

TEST_F(ExplorationTest, StopsWhereItIsTold) {
  ExplorationSearchOptions o = options();
  o.deadline = Deadline(0.0);
  const Explored none = explore_grid(*exploration_, o);
  EXPECT_TRUE(none.points.empty());
  EXPECT_EQ(none.end, solve::Nsga2End::Stopped);
}

TEST_F(ExplorationTest, LeakageAndAreaAreShiftedAsIfRunAgain) {
  const Task task{{1, 0, 1, 1}, {0, 1}};
  const TaskResult as_it_is = exploration_->run(task);
  const hardware::Hardware chip = *family_.member(exploration_->point(task.candidate)).hardware;
  const std::vector<hardware::Constant> constants = hardware::uncertain_constants(chip);
  const std::vector<hardware::ConstantPart> parts = hardware::parts_of(chip, constants);
  std::size_t leaks = 0, areas = 0;
  for (std::size_t k = 0; k < constants.size(); ++k) {
    const TaskResult changed = exploration_->run(Task{task.candidate, task.workloads, {constants[k].name, 1.3}});
    for (std::size_t w = 0; w < 2; ++w) {
      const double watts = 0.3 * parts[k].leakage_w;
      EXPECT_EQ(changed[w].latency_s, as_it_is[w].latency_s) << constants[k].name;
      EXPECT_NEAR(changed[w].energy_pj, as_it_is[w].energy_pj + watts * as_it_is[w].latency_s * 1e12,
                  1e-9 * changed[w].energy_pj)
          << constants[k].name;
      EXPECT_NEAR(changed[w].area_mm2, as_it_is[w].area_mm2 + 0.3 * parts[k].area_mm2, 1e-9) << constants[k].name;
      EXPECT_NEAR(changed[w].tdp_w, as_it_is[w].tdp_w + 0.3 * parts[k].tdp_w, 1e-9) << constants[k].name;
    }
    leaks += parts[k].leakage_w > 0 ? 1 : 0;
    areas += parts[k].area_mm2 > 0 ? 1 : 0;
  }
  EXPECT_GE(leaks, 3u);
  EXPECT_GE(areas, 5u);
}

TEST_F(ExplorationTest, ConclusionsThatHangOnAConstantAreFound) {
  const Explored all = explore_grid(*exploration_, options());
  const ExplorationGoal goal;
  const Sensitivity little = sensitivity(*exploration_, all, goal, 1e-9, options().run, {});
  for (const SensitivityCase& c : little.cases)
    for (std::size_t w = 0; w < 2; ++w) {
      EXPECT_EQ(c.outcomes[w].best, little.as_it_is[w]) << c.constant.name;
      EXPECT_EQ(c.outcomes[w].kept, all.fronts[w].size());
      EXPECT_NEAR(c.outcomes[w].hold.value(), 1, 1e-6);
    }
  // With area as a goal, an area that is nearly nothing makes larger chips as good as smaller ones.
  ExplorationGoal by_area{.objectives = {ChipObjective::Area}};
  ExplorationSearchOptions o = options();
  o.goal = by_area;
  const Explored areas = explore_grid(*exploration_, o);
  bool is_moved = false;
  for (const SensitivityCase& c : sensitivity(*exploration_, areas, by_area, 0.999, options().run, {}).cases)
    is_moved = is_moved || c.outcomes[0].hold.value() < 1 || c.outcomes[0].entered > 0 || c.outcomes[0].kept < 1;
  EXPECT_FALSE(is_moved) << "the smallest in everything stays the smallest";
}

// Latency and energy of two workloads; no latency: not possible.
ExploredPoint with_figures(double latency, double energy, double other_latency, double other_energy) {
  const auto figures = [](double s, double pj) {
    return s > 0 ? ChipFigures{.latency_s = s, .energy_pj = pj} : ChipFigures{.reason = "no"};
  };
  return {.figures = {figures(latency, energy), figures(other_latency, other_energy)}};
}

TEST(Regret, OfChipsThatAreEquallyGoodTheBetterOneIsChosen) {
  // For the first workload all but one take as long; three of them have the same energy, too.
  Explored found{.points = {with_figures(1, 5, 2, 1), with_figures(1, 4, 9, 1), with_figures(1, 4, 6, 1),
                            with_figures(3, 4, 1, 1), with_figures(1, 4, 8, 1)},
                 .fronts = {{}, {}}};
  for (const bool is_reversed : {false, true}) {
    if (is_reversed) std::reverse(found.points.begin(), found.points.end());
    const std::vector<std::uint32_t> best = best_of(found, {}, 0, ChosenBy::Latency);
    EXPECT_EQ(best, (is_reversed ? std::vector<std::uint32_t>{0, 2, 3} : std::vector<std::uint32_t>{1, 2, 4}));
    const std::vector<Regret> regrets = regrets_of(found, {});
    ASSERT_EQ(regrets.size(), 6u);
    EXPECT_EQ(regrets[0].chosen_for, 0u);
    EXPECT_EQ(regrets[0].by, ChosenBy::Latency);
    EXPECT_EQ(regrets[0].point, 2u) << "of the three, the one that is best for the other workload";
    EXPECT_EQ(regrets[0].ratio, 6);
    EXPECT_EQ(regrets[2].by, ChosenBy::Energy);
    EXPECT_EQ(regrets[2].ratio, 1);
    EXPECT_EQ(regrets[4].ratio, 6) << "by the product";
  }
}

TEST(Regret, AChipOnWhichTheOtherIsNotPossibleIsStillTheBest) {
  Explored found{.points = {with_figures(1, 1, 0, 0), with_figures(2, 2, 4, 4)}, .fronts = {{}, {}}};
  for (const Regret& r : regrets_of(found, {})) {
    EXPECT_EQ(r.best, r.used_for == 0 ? 0u : 1u);
    EXPECT_EQ(r.point, r.chosen_for == 0 ? 0u : 1u);
    EXPECT_EQ(r.ratio.has_value(), r.chosen_for == 1);
  }
  // Of chips that are as good, one on which it is possible.
  found.points.push_back(with_figures(1, 1, 8, 8));
  EXPECT_EQ(regrets_of(found, {})[0].point, 2u);
  EXPECT_EQ(regrets_of(found, {})[0].ratio, 2);
  found.points = {with_figures(1, 1, 0, 0)};
  for (const Regret& r : regrets_of(found, {})) {
    EXPECT_FALSE(r.ratio);
    EXPECT_EQ(r.point.has_value(), r.chosen_for == 0);
  }
}

// Limits that lie among the chips of the space, judged by running every point with every changed constant.
TEST_F(ExplorationTest, LimitsAreJudgedWithTheChangedConstant) {
  const Explored all = explore_grid(*exploration_, options());
  std::vector<double> areas, powers;
  std::vector<Task> tasks;
  for (const ExploredPoint& p : all.points) {
    tasks.push_back({p.candidate, {0, 1}});
    if (!p.figures[0].is_possible()) continue;
    areas.push_back(p.figures[0].area_mm2);
    powers.push_back(p.figures[0].tdp_w);
  }
  std::sort(areas.begin(), areas.end());
  std::sort(powers.begin(), powers.end());
  // The constants of these chips have a large share of area and a small one of power: a chip just below, or above.
  const double power = powers[powers.size() / 2];
  struct Limit {
    bool is_area;
    double most;
  };
  const ExplorationGoal goal;
  std::map<std::string, std::vector<TaskResult>> known;  // by constant and factor: without limits
  std::array<std::size_t, 2> opened{}, closed{};         // by power, by area
  std::size_t cut_short = 0;
  for (const auto& [is_area, most] :
       {Limit{true, areas[areas.size() / 2] * 1.001}, Limit{false, power - 1e-5}, Limit{false, power + 1e-5}}) {
    const std::string limit = fmt::format("{} <= {}", is_area ? "area_mm2" : "tdp_w", most);
    const hardware::Family family(hardware::parse_space(fmt::format("{}  - {}\n", kSpace, limit), "limited.yaml"));
    const Exploration limited(family, workloads(), {}, cache_, {.threads = 2});
    ExplorationSearchOptions o;
    o.run = [&](std::span<const Task> some) { return limited.run(some, {}); };
    const Explored found = explore_grid(limited, o);
    const Sensitivity all_cases = sensitivity(limited, found, goal, 0.3, o.run, {});
    EXPECT_TRUE(all_cases.is_complete());
    // Told to stop where something must be run, it says nothing of that constant and of those behind it.
    const Sensitivity cut = sensitivity(
        limited, found, goal, 0.3, [](std::span<const Task> some) { return std::vector<TaskResult>(some.size()); }, {});
    std::size_t judged = 0;
    while (judged < all_cases.cases.size() && all_cases.cases[judged].run_again == 0) ++judged;
    EXPECT_EQ(cut.cases.size(), judged);
    EXPECT_EQ(cut.is_complete(), judged == all_cases.cases.size());
    cut_short += cut.is_complete() ? 0 : 1;
    for (const SensitivityCase& c : all_cases.cases) {
      const std::string name = fmt::format("{} x {}", c.constant.name, c.factor);
      SCOPED_TRACE(limit + ": " + name);
      if (is_area != (c.constant.kind == hardware::ConstantKind::Area)) {
        EXPECT_EQ(c.opened + c.closed, 0u) << "the limit does not hang on it";
        continue;
      }
      std::vector<TaskResult>& results = known[name];
      if (results.empty()) {
        std::vector<Task> changed_tasks = tasks;
        for (Task& task : changed_tasks) task.changed = {c.constant.name, c.factor};
        results = exploration_->run(changed_tasks, {});
      }
      Explored changed = found;
      std::size_t opens = 0, closes = 0;
      for (std::size_t i = 0; i < results.size(); ++i) {
        changed.points[i].figures = results[i];
        if ((is_area ? results[i][0].area_mm2 : results[i][0].tdp_w) > most)
          for (ChipFigures& f : changed.points[i].figures) f = {.reason = limit};
        const bool was = found.points[i].figures[0].is_possible(), is = changed.points[i].figures[0].is_possible();
        opens += !was && is ? 1 : 0;
        closes += was && !is ? 1 : 0;
      }
      EXPECT_EQ(c.opened, opens);
      EXPECT_EQ(c.closed, closes);
      opened[is_area ? 1 : 0] += opens;
      closed[is_area ? 1 : 0] += closes;
      for (std::size_t w = 0; w < 2; ++w) {
        EXPECT_EQ(c.outcomes[w].best, best_points(changed, goal, w));
        std::size_t on_front = 0;
        for (const std::uint32_t i : solve::front_of(objectives_of(changed, goal, w)))
          on_front += changed.points[i].figures[w].is_possible() ? 1 : 0;
        EXPECT_EQ(c.outcomes[w].kept + c.outcomes[w].entered, on_front);
      }
    }
  }
  EXPECT_GT(cut_short, 0u);
  for (const std::size_t kind : {0u, 1u}) {
    EXPECT_GT(opened[kind], 0u);
    EXPECT_GT(closed[kind], 0u);
  }
}

// Sides of a mesh make the same chip as when they are exchanged.
TEST(AlikeTasks, AreRunOnceAndTold) {
  const hardware::Family family(hardware::parse_space(R"(monet: space
name: mirrored
chip: edge_tpu_hda
variables:
  x_pes: [1, 2, 4]
  y_pes: [1, 2, 4]
constraints:
  - 10 * x_pes + y_pes != 42
)",
                                                      "mirrored.yaml"));
  cost::Cache cache;
  const Graph forward = build_model("mlp:in=32,hidden=48,layers=1,classes=8", 4);
  std::vector<Workload> workloads;
  workloads.push_back({.name = "inference"});
  workloads.back().variants.push_back(std::make_unique<Subject>(decompose(forward, {})));
  workloads.back().samples = {4};
  const Exploration exploration(family, std::move(workloads), {}, cache, {.threads = 2});
  std::vector<Task> tasks;
  for (std::uint16_t y = 0; y < 3; ++y)
    for (std::uint16_t x = 0; x < 3; ++x) tasks.push_back({.candidate = {x, y}, .workloads = {0}});
  const std::vector<TaskResult> alone = exploration.run(tasks, {});
  AlikeTasks alike(exploration);
  std::vector<TaskResult> told(tasks.size());
  std::size_t worked_on = 0;
  const AlikeTasks::Work work = [&](std::span<const Task> some, const Claim& claim, const AlikeTasks::Done& done) {
    for (const TaskResult& result : exploration.run(some, {}, done, claim)) worked_on += result.empty() ? 0 : 1;
  };
  const auto note = [&](std::size_t i, const TaskResult& result) { told[i] = result; };
  // 1 x 2 is 2 x 1, 1 x 4 is 4 x 1; 4 x 2 is not valid, and 2 x 4 has nobody.
  EXPECT_EQ(alike.run(tasks, work, note), 2u);
  EXPECT_EQ(worked_on, 7u);
  EXPECT_EQ(told, alone);
  EXPECT_FALSE(told[5][0].is_possible());
  EXPECT_EQ(told[1], told[3]);
  // What was worked out is known; what has no chip is asked again.
  told.assign(tasks.size(), {});
  EXPECT_EQ(alike.run(tasks, work, note), 8u);
  EXPECT_EQ(worked_on, 8u);
  EXPECT_EQ(told, alone);
  // Those that wait for one that time was too short for have no result, and somebody may try again.
  AlikeTasks other(exploration);
  told.assign(tasks.size(), {});
  std::size_t claimed = 0;
  const AlikeTasks::Work none = [&](std::span<const Task> some, const Claim& claim, const AlikeTasks::Done&) {
    for (std::size_t i = 0; i < some.size(); ++i) claimed += claim(i) ? 1 : 0;
  };
  EXPECT_EQ(other.run(tasks, none, note), 0u);
  EXPECT_EQ(claimed, 7u);
  EXPECT_EQ(told, std::vector<TaskResult>(tasks.size()));
  EXPECT_EQ(other.run(tasks, work, note), 2u);
  EXPECT_EQ(told, alone);
  // Another constant makes other chips; other workloads are other tasks.
  Task changed = tasks[1];
  changed.changed = {hardware::uncertain_constants(*family.member({1, 0}).hardware).front().name, 1.3};
  EXPECT_NE(exploration.signature(changed), exploration.signature(tasks[1]));
  EXPECT_EQ(exploration.signature(tasks[3]), exploration.signature(tasks[1]));
  Task fewer = tasks[1];
  fewer.workloads = {};
  EXPECT_NE(exploration.signature(fewer), exploration.signature(tasks[1]));
}

}  // namespace
}  // namespace monet::search
