#include "monet/search/chain_checkpoints.h"

#include <gtest/gtest.h>

#include "unit/search/linear_judge.h"

namespace monet::search {
namespace {

using Sequence = std::vector<std::uint32_t>;

void expect_sound(const LinearProblem& p, const LinearResult& r) {
  ASSERT_TRUE(r.is_possible);
  const Judged judged = judge(p, r.events);
  EXPECT_EQ(judged.fault, "");
  EXPECT_EQ(judged.cycles, r.figures.cycles);
  EXPECT_EQ(judged.peak_bytes, r.figures.peak_bytes);
  EXPECT_EQ(judged.decision, r.figures.decision);
  EXPECT_EQ(r.objective, r.figures.cycles);
  EXPECT_GE(r.objective, r.bound);
}

LinearProblem even_chain(std::uint32_t forward) {
  LinearProblem p = random_problem(0, forward, false);
  p.fixed_bytes = 0;
  for (LinearStep& step : p.steps) step.cycles = step.bytes = 1;
  return p;
}

// All persistent schedules of the stages first to last of a chain of n.
std::vector<Sequence> persistent(std::uint32_t n, std::uint32_t first, std::uint32_t last) {
  const auto join = [](Sequence a, const Sequence& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  };
  const auto backward = [&](std::uint32_t stage) { return 2 * n - 1 - stage; };
  if (first == last) return {{first, backward(first)}};
  std::vector<Sequence> out;
  for (const Sequence& rest : persistent(n, first + 1, last))
    out.push_back(join(join({first}, rest), {backward(first)}));
  Sequence passing;
  for (std::uint32_t cut = first; cut < last; ++cut) {
    passing.push_back(cut);
    const std::vector<Sequence> left = persistent(n, first, cut);
    for (const Sequence& right : persistent(n, cut + 1, last))
      for (const Sequence& again : left) out.push_back(join(join(passing, right), again));
  }
  return out;
}

TEST(CutPoints, AreAllOfAChainAndWhereNothingPasses) {
  EXPECT_EQ(cut_points(random_problem(1, 5, false)), (Sequence{0, 1, 2, 3}));
  LinearProblem p = random_problem(1, 5, false);
  p.steps[3].inputs = {1, 2};  // over 2
  EXPECT_EQ(cut_points(p), (Sequence{0, 1, 3}));
  p.steps[1].bytes = 0;
  EXPECT_EQ(cut_points(p), (Sequence{0, 1, 2, 3}));
  p.steps[9].inputs = {0, 3};  // the gradient of 0 reads what 3 makes
  EXPECT_EQ(cut_points(p), (Sequence{3}));
}

TEST(Chen, SquareRootKeepsEveryFourthOfSixteen) {
  const LinearProblem p = even_chain(17);  // 16 cut points
  const LinearResult r = chen_sqrt(p);
  expect_sound(p, r);
  Sequence kept;
  for (std::uint32_t a = 0; a < 12; ++a)
    if (r.figures.decision[a] == Fate::Keep) kept.push_back(a);
  EXPECT_EQ(kept, (Sequence{3, 7, 11}));
  EXPECT_LE(r.figures.cycles, 2 * 17 + 17);  // at most one forward pass more
  EXPECT_LT(r.figures.peak_bytes, all_kept_peak(p) / 2 + 2);
}

TEST(Chen, FamilyIsSoundAndBeginsWithEverythingKept) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const LinearProblem p = random_problem(seed, 12, seed % 2 == 1);
    const std::vector<LinearResult> family = chen_family(p);
    for (const LinearResult& r : family) expect_sound(p, r);
    EXPECT_EQ(family.front().figures.peak_bytes, all_kept_peak(p));
    EXPECT_TRUE(family.front().is_proven);
  }
}

TEST(Chen, BudgetEndsASegmentWhenItIsOver) {
  const LinearProblem p = even_chain(9);
  const LinearResult r = chen_budget(p, 2);
  expect_sound(p, r);
  for (std::uint32_t a = 0; a < 8; ++a) EXPECT_EQ(r.figures.decision[a] == Fate::Keep, a == 2 || a >= 5) << a;
}

TEST(Greedy, DropsTheMostBytesPerCycleEachTime) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const LinearProblem p = random_problem(seed, 7, seed % 2 == 1);
    const std::vector<LinearResult> family = greedy_family(p);
    ASSERT_EQ(family.size(), p.step_of.size() + 1);
    std::vector<bool> is_kept(p.steps.size(), true);
    const auto cycles = [&](const std::vector<bool>& kept) {
      return judge(p, rebuilding_result(p, kept).events).cycles;
    };
    for (std::size_t k = 1; k < family.size(); ++k) {
      expect_sound(p, family[k]);
      std::size_t best = 0;
      double best_rate = -1;
      for (std::size_t s = 0; s < 7; ++s) {
        if (!is_kept[s]) continue;
        std::vector<bool> fewer = is_kept;
        fewer[s] = false;
        if (const double rate = p.steps[s].bytes / (cycles(fewer) - cycles(is_kept)); rate > best_rate)
          best = s, best_rate = rate;
      }
      is_kept[best] = false;
      EXPECT_EQ(family[k].objective, cycles(is_kept));
    }
  }
}

TEST(Rotor, IsTheBestOfAllPersistentSchedules) {
  const std::uint32_t n = 5;
  const std::vector<Sequence> schedules = persistent(n, 0, n - 1);
  for (std::uint64_t seed = 0; seed < 32; ++seed) {
    LinearProblem p = random_problem(seed, n, false);
    const std::uint32_t fixed = 2;  // a step whose value is always there, in some
    if (seed % 4 == 1) p.steps[fixed].bytes = 0;
    // In others, a large gradient waits while large values before it are rebuilt.
    for (std::uint32_t f = 0; seed % 4 == 2 && f < n; ++f) {
      p.steps[f].bytes = f < 2 ? 9 : 1;
      p.steps[2 * n - 1 - f].bytes = f == 3 ? 20 : 1;
    }
    std::vector<std::pair<double, double>> points;  // peak, cycles
    for (Sequence computes : schedules) {
      if (seed % 4 == 1)
        computes.erase(std::remove(std::find(computes.begin(), computes.end(), fixed) + 1, computes.end(), fixed),
                       computes.end());
      double cycles = 0;
      for (const std::uint32_t s : computes) cycles += p.steps[s].cycles;
      points.emplace_back(least_peak(p, computes), cycles);
    }
    for (double budget = largest_working_set(p) - 1; budget <= all_kept_peak(p) + 1; ++budget) {
      double best = std::numeric_limits<double>::infinity();
      for (const auto& [peak, cycles] : points)
        if (peak <= budget) best = std::min(best, cycles);
      const LinearResult r = rotor(p, budget);
      EXPECT_TRUE(r.is_proven);
      ASSERT_EQ(r.is_possible, best < std::numeric_limits<double>::infinity()) << seed << " " << budget;
      if (!r.is_possible) continue;
      expect_sound(p, r);
      EXPECT_EQ(r.objective, best) << seed << " " << budget;
      EXPECT_LE(r.figures.peak_bytes, budget);
    }
  }
}

TEST(Rotor, IsMonotoneInTheBudgetAndSoundOffChains) {
  for (std::uint64_t seed = 0; seed < 16; ++seed) {
    LinearProblem p = random_problem(seed, 10, true);
    if (seed % 4 == 3) p.steps[3].bytes = p.steps[6].bytes = 0;
    double before = std::numeric_limits<double>::infinity(), once = 0, all = p.fixed_bytes;
    for (const LinearStep& step : p.steps) once += step.cycles, all += step.bytes;
    EXPECT_FALSE(rotor(p, largest_working_set(p) - 1).is_possible);
    for (double budget = largest_working_set(p); budget <= all; budget += 3) {
      const LinearResult r = rotor(p, budget);
      if (!r.is_possible) {
        EXPECT_EQ(before, std::numeric_limits<double>::infinity());
        continue;
      }
      expect_sound(p, r);
      EXPECT_LE(r.figures.peak_bytes, budget);
      EXPECT_LE(r.objective, before);
      before = r.objective;
      // Coarser memory can only cost more.
      const LinearResult coarse = rotor(p, budget, {.slots = 20});
      if (coarse.is_possible) {
        EXPECT_GE(coarse.objective, r.objective);
        EXPECT_LE(coarse.figures.peak_bytes, budget);
      }
    }
    EXPECT_EQ(rotor(p, all).objective, once);
  }
}

}  // namespace
}  // namespace monet::search
