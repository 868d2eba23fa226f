// The proven optimum against all mappings there are, on random small nests. MONET_NESTS says how many.
#include "monet/cost/optimum.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <optional>

#include "monet/cost/loops.h"
#include "support/random_nest.h"

namespace monet::test {
namespace {

using cost::Costs;
using cost::Criterion;

bool fits(const cost::Problem& p, const cost::Evaluation& e) {
  for (const cost::MemoryProblem& memory : p.memories) {
    double bits = 0;
    for (std::size_t i = 0; i < memory.operands.size(); ++i) {
      const cost::MemoryLevel& level = e.levels[memory.operands[i]][memory.level[i]];
      bits += level.tile_bits * (level.is_double_buffered ? 2 : 1);
    }
    if (bits > memory.size_bits) return false;
  }
  return true;
}

// All ways to cut an ordering and to give second buffers: one digit per memory below the top.
struct Choices {
  struct Digit {
    std::size_t operand, level;
  };
  std::vector<Digit> digits;
  std::size_t values;  // per digit: a cut with or without a second buffer

  Choices(const cost::Problem& p, std::size_t loops) : values(2 * (loops + 1)) {
    for (std::size_t o = 0; o < p.operands.size(); ++o)
      for (std::size_t m = 0; m + 1 < p.operands[o].memories; ++m) digits.push_back({o, m});
  }
  double count() const {
    double n = 1;
    for (std::size_t i = 0; i < digits.size(); ++i) n *= static_cast<double>(values);
    return n;
  }
};

// Sets cuts and buffers from `number`; false where an operand's cuts are not in order.
bool choose(const cost::Problem& p, const Choices& choices, std::size_t loops, std::uint64_t number,
            cost::Evaluation& e) {
  for (std::size_t o = 0; o < p.operands.size(); ++o) {
    e.doubled[o].fill(false);
    e.cuts[o].fill(static_cast<std::uint8_t>(loops));
  }
  for (const Choices::Digit& digit : choices.digits) {
    const std::uint64_t value = number % choices.values;
    number /= choices.values;
    e.cuts[digit.operand][digit.level] = static_cast<std::uint8_t>(value / 2);
    e.doubled[digit.operand][digit.level] = value % 2 == 1;
    if (digit.level > 0 && e.cuts[digit.operand][digit.level] < e.cuts[digit.operand][digit.level - 1]) return false;
  }
  return true;
}

// The best of all mappings for each criterion, or none if none fits.
std::array<std::optional<Costs>, 3> best_of_all(const cost::Problem& p, const std::vector<cost::TemporalLoop>& loops) {
  std::array<std::optional<Costs>, 3> best;
  const Choices choices(p, loops.size());
  cost::Orderings orderings(p, loops);
  while (orderings.next())
    for (std::uint64_t number = 0; number < static_cast<std::uint64_t>(choices.count()); ++number) {
      cost::Evaluation e;
      if (!choose(p, choices, loops.size(), number, e)) continue;
      const Costs costs = cost::evaluate(p, orderings.current(), e);
      if (!fits(p, e)) continue;
      for (const Criterion criterion : {Criterion::Latency, Criterion::Energy, Criterion::Edp}) {
        std::optional<Costs>& so_far = best[static_cast<std::size_t>(criterion)];
        if (!so_far || cost::is_better(criterion, costs, *so_far)) so_far = costs;
      }
    }
  return best;
}

void expect_same(Criterion criterion, const Costs& found, const Costs& best) {
  switch (criterion) {
    case Criterion::Latency:
      EXPECT_DOUBLE_EQ(found.latency, best.latency);
      EXPECT_NEAR(found.energy_pj, best.energy_pj, 1e-9 * best.energy_pj);
      break;
    case Criterion::Energy: EXPECT_NEAR(found.energy_pj, best.energy_pj, 1e-9 * best.energy_pj); break;
    case Criterion::Edp:
      EXPECT_NEAR(found.energy_pj * found.latency, best.energy_pj * best.latency, 1e-9 * best.energy_pj * best.latency);
      break;
  }
}

TEST(Optimum, EqualsTheBestOfAllMappings) {
  std::uint64_t compared = 0, infeasible = 0;
  for (std::uint64_t i = 0; compared < nests(300, 10); ++i) {
    ASSERT_LT(i, 100 * nests(300, 10)) << "too few nests are small enough";
    const RandomNest random = random_nest(7, i, {.iterations = 64});
    const cost::Problem p =
        cost::make_problem(random.nest.layer, random.nest.core, random.nest.spatial, cost::Quirks{});
    const std::vector<cost::TemporalLoop> loops = cost::temporal_loops(p);
    if (cost::orderings_of(loops) * Choices(p, loops.size()).count() > 20'000) continue;
    ++compared;
    const auto best = best_of_all(p, loops);
    for (const Criterion criterion : {Criterion::Latency, Criterion::Energy, Criterion::Edp}) {
      const cost::Optimum optimum = cost::find_optimum(p, {.criterion = criterion});
      const std::optional<Costs>& wanted = best[static_cast<std::size_t>(criterion)];
      ASSERT_TRUE(optimum.is_proven || !wanted) << i;
      ASSERT_EQ(optimum.best.has_value(), wanted.has_value()) << "nest " << i << "\n" << describe(random.nest);
      if (!wanted) {
        infeasible += criterion == Criterion::Latency ? 1 : 0;
        continue;
      }
      SCOPED_TRACE(fmt::format("nest {}, criterion {}\n{}", i, static_cast<int>(criterion), describe(random.nest)));
      expect_same(criterion, optimum.best->costs, *wanted);
      // The mapping given is the mapping costed.
      cost::Evaluation e;
      e.cuts = optimum.best->cuts;
      e.doubled = optimum.best->doubled;
      const Costs again = cost::evaluate(p, optimum.best->order, e);
      EXPECT_DOUBLE_EQ(again.latency, optimum.best->costs.latency);
      EXPECT_NEAR(again.energy_pj, optimum.best->costs.energy_pj, 1e-9 * again.energy_pj);
      EXPECT_TRUE(fits(p, e));
      if (HasFailure()) return;
    }
  }
  RecordProperty("infeasible", static_cast<int>(infeasible));
}

// Stopped at any point, the search gives a mapping that is one, and a bound: the best lies between.
TEST(Optimum, StoppedEarlyTheBestLiesBetweenTheBoundAndWhatWasFound) {
  std::uint64_t compared = 0, missed = 0, equal = 0;
  for (std::uint64_t i = 0; i < nests(300, 10); ++i) {
    const RandomNest random = random_nest(9, i, {.iterations = 512});
    const cost::Problem p =
        cost::make_problem(random.nest.layer, random.nest.core, random.nest.spatial, cost::Quirks{});
    for (const Criterion criterion : {Criterion::Latency, Criterion::Energy, Criterion::Edp}) {
      const cost::Optimum best = cost::find_optimum(p, {.criterion = criterion});
      ASSERT_TRUE(best.is_proven);
      const std::uint64_t most = best.labels * (i % 10) / 10;
      const cost::Optimum stopped = cost::find_optimum(p, {.criterion = criterion, .most_labels = most});
      if (!best.best) {
        ASSERT_FALSE(stopped.best);
        continue;
      }
      if (stopped.is_proven) continue;
      ++compared;
      SCOPED_TRACE(fmt::format("nest {}, criterion {}\n{}", i, static_cast<int>(criterion), describe(random.nest)));
      const auto value = [&](const Costs& c) {
        return criterion == Criterion::Latency  ? c.latency
               : criterion == Criterion::Energy ? c.energy_pj
                                                : c.latency * c.energy_pj;
      };
      const double truth = value(best.best->costs);
      ASSERT_LE(value(stopped.bound), truth * (1 + 1e-9));
      missed += stopped.best ? 0 : 1;
      if (!stopped.best) continue;
      cost::Evaluation e;
      e.cuts = stopped.best->cuts;
      e.doubled = stopped.best->doubled;
      const Costs again = cost::evaluate(p, stopped.best->order, e);
      ASSERT_DOUBLE_EQ(again.latency, stopped.best->costs.latency);
      ASSERT_NEAR(again.energy_pj, stopped.best->costs.energy_pj, 1e-9 * again.energy_pj);
      ASSERT_TRUE(fits(p, e));
      ASSERT_GE(value(again), truth * (1 - 1e-9));
      equal += value(again) <= truth * (1 + 1e-9) ? 1 : 0;
    }
  }
  fmt::print("{} searches stopped: {} found nothing, {} the best all the same\n", compared, missed, equal);
  EXPECT_GT(compared, nests(300, 10));
  EXPECT_LE(missed, compared / 100);
  EXPECT_GE(equal, compared / 2);
}

}  // namespace
}  // namespace monet::test
