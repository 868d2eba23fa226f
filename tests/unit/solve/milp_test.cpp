#include "monet/solve/milp.h"

#include <gtest/gtest.h>

#include <cmath>

#include "monet/solve/random.h"

namespace monet::solve {
namespace {

TEST(Milp, FillsAKnapsackBest) {
  // 10·a + 13·b + 7·c + 8·d with 3·a + 4·b + 2·c + 3·d <= 7: b and d, or a and b: 23.
  Milp problem;
  for (const double value : {10.0, 13.0, 7.0, 8.0}) problem.columns.push_back({.cost = -value});
  problem.rows.push_back({.upper = 7, .terms = {{0, 3}, {1, 4}, {2, 2}, {3, 3}}});
  const MilpResult result = solve(problem);
  EXPECT_EQ(result.end, MilpEnd::Optimal);
  EXPECT_DOUBLE_EQ(result.objective, -23);
  EXPECT_EQ(result.values, (std::vector<double>{1, 1, 0, 0}));
}

TEST(Milp, LeavesNumbersBrokenWhereTheyMayBe) {
  Milp problem;
  problem.columns.push_back({.cost = -1, .upper = 10, .is_whole = false});
  problem.rows.push_back({.upper = 5, .terms = {{0, 2}}});
  EXPECT_DOUBLE_EQ(solve(problem).objective, -2.5);
  problem.columns[0].is_whole = true;
  EXPECT_DOUBLE_EQ(solve(problem).objective, -2);
}

TEST(Milp, SaysWhenNothingIsPossible) {
  Milp problem;
  problem.columns.push_back({.cost = 1});
  problem.rows.push_back({.lower = 2, .terms = {{0, 1}}});
  EXPECT_EQ(solve(problem).end, MilpEnd::Infeasible);
  EXPECT_EQ(solve(Milp{}).end, MilpEnd::Optimal);
}

TEST(Milp, TakesAStart) {
  Milp problem;
  for (int i = 0; i < 3; ++i) problem.columns.push_back({.cost = 1.0 + i});
  problem.rows.push_back({.lower = 1, .upper = 1, .terms = {{0, 1}, {1, 1}, {2, 1}}});
  const MilpResult result = solve(problem, {.start = {0, 0, 1}});
  EXPECT_EQ(result.end, MilpEnd::Optimal);
  EXPECT_DOUBLE_EQ(result.objective, 1);
}

TEST(Milp, EqualsTheBestOfAll) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed, 0, 0);
    constexpr std::uint32_t kColumns = 9;
    Milp problem;
    for (std::uint32_t c = 0; c < kColumns; ++c)
      problem.columns.push_back({.cost = static_cast<double>(random.below(21)) - 10});
    for (int r = 0; r < 4; ++r) {
      Milp::Row row;
      for (std::uint32_t c = 0; c < kColumns; ++c)
        if (random.chance(0.6)) row.terms.push_back({c, static_cast<double>(random.below(9)) - 3});
      row.upper = static_cast<double>(random.below(8));
      if (random.chance(0.3)) row.lower = row.upper - 2;
      problem.rows.push_back(row);
    }
    double best = Milp::kUnbounded;
    for (unsigned bits = 0; bits < 1u << kColumns; ++bits) {
      double cost = 0;
      bool holds = true;
      for (const Milp::Row& row : problem.rows) {
        double sum = 0;
        for (const auto& [c, factor] : row.terms) sum += factor * ((bits >> c) & 1u);
        holds = holds && sum <= row.upper && sum >= row.lower;
      }
      for (std::uint32_t c = 0; c < kColumns; ++c) cost += problem.columns[c].cost * ((bits >> c) & 1u);
      if (holds) best = std::min(best, cost);
    }
    const MilpResult result = solve(problem);
    if (std::isinf(best)) {
      EXPECT_EQ(result.end, MilpEnd::Infeasible) << seed;
    } else {
      EXPECT_EQ(result.end, MilpEnd::Optimal) << seed;
      EXPECT_DOUBLE_EQ(result.objective, best) << seed;
    }
  }
}

}  // namespace
}  // namespace monet::solve
