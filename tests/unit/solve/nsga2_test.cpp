#include "monet/solve/nsga2.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <set>

#include "monet/solve/genomes.h"

namespace monet::solve {
namespace {

std::vector<Score> scored(std::span<const Reals> batch, const std::function<Objectives(const Reals&)>& f) {
  std::vector<Score> scores;
  for (const Reals& x : batch) scores.push_back({f(x)});
  return scores;
}

double part_of_best(const Archive<Reals>& archive, double best) {
  std::vector<Objectives> points;
  for (const std::uint32_t i : archive.front) points.push_back(archive.scores[i].objectives);
  return hypervolume(points, Objectives(points.front().size(), 1.1)) / best;
}

TEST(Nsga2, ComesNearTheKnownFrontOfZdt1) {
  Nsga2Problem<Reals> problem{.variation = real_variation(std::vector(30, std::pair(0.0, 1.0)))};
  problem.evaluate = [](std::span<const Reals> batch) {
    return scored(batch, [](const Reals& x) {
      double g = 0;
      for (std::size_t i = 1; i < x.size(); ++i) g += x[i];
      g = 1 + 9 * g / static_cast<double>(x.size() - 1);
      return Objectives{x[0], g * (1 - std::sqrt(x[0] / g))};
    });
  };
  Nsga2<Reals> search(problem, {.population = 100, .evaluations = 25'000});
  EXPECT_EQ(search.run(), Nsga2End::Evaluations);
  EXPECT_EQ(search.archive().genomes.size(), 25'000u);
  // Of f2 = 1 - sqrt(f1), to (1.1, 1.1): 1.1² - 1/3.
  EXPECT_GT(part_of_best(search.archive(), 1.21 - 1.0 / 3), 0.995);
}

TEST(Nsga2, SpreadsOverTheSphereOfDtlz2) {
  Nsga2Problem<Reals> problem{.variation = real_variation(std::vector(7, std::pair(0.0, 1.0)))};
  problem.evaluate = [](std::span<const Reals> batch) {
    return scored(batch, [](const Reals& x) {
      double g = 0;
      for (std::size_t i = 2; i < x.size(); ++i) g += (x[i] - 0.5) * (x[i] - 0.5);
      const double a = x[0] * std::numbers::pi / 2, b = x[1] * std::numbers::pi / 2;
      return Objectives{(1 + g) * std::cos(a) * std::cos(b), (1 + g) * std::cos(a) * std::sin(b),
                        (1 + g) * std::sin(a)};
    });
  };
  Nsga2<Reals> search(problem, {.population = 92, .evaluations = 6'000});
  search.run();
  // Of the sphere, to (1.1, 1.1, 1.1): 1.1³ - π/6. What is kept of it is the whole archive, not a population.
  EXPECT_GT(part_of_best(search.archive(), 1.331 - std::numbers::pi / 6), 0.93);
}

// Ones in the left half and in the right one, of which only so many are allowed.
Nsga2Problem<Choices> bits_problem(std::size_t genes, std::size_t most) {
  Nsga2Problem<Choices> problem{.variation = choice_variation(std::vector<std::uint16_t>(genes, 2))};
  problem.evaluate = [most](std::span<const Choices> batch) {
    std::vector<Score> scores;
    for (const Choices& genome : batch) {
      double left = 0, right = 0;
      for (std::size_t i = 0; i < genome.size(); ++i) (i < genome.size() / 2 ? left : right) += genome[i];
      const double over = left + right - static_cast<double>(most);
      scores.push_back(over > 0 ? Score{{}, over} : Score{{-left, -right}});
    }
    return scores;
  };
  return problem;
}

TEST(Nsga2, KeepsWhatIsPossibleBeforeWhatIsNot) {
  Nsga2Problem<Choices> problem = bits_problem(20, 6);
  Nsga2<Choices> search(problem, {.population = 40, .evaluations = 4'000});
  search.run();
  std::set<Objectives> found;
  for (const std::uint32_t i : search.archive().front) {
    EXPECT_EQ(search.archive().scores[i].violation, 0);
    found.insert(search.archive().scores[i].objectives);
  }
  std::set<Objectives> expected;
  for (int left = 0; left <= 6; ++left) expected.insert({-1.0 * left, -1.0 * (6 - left)});
  EXPECT_EQ(found, expected);
}

TEST(Nsga2, AsksForNoGenomeTwiceAndEndsWhenItFindsNoneThatIsNew) {
  Nsga2Problem<Choices> problem = bits_problem(6, 6);
  Nsga2<Choices> search(problem, {.population = 10, .evaluations = 1'000});
  EXPECT_EQ(search.run(), Nsga2End::Exhausted);
  const std::set<Choices> all(search.archive().genomes.begin(), search.archive().genomes.end());
  EXPECT_EQ(all.size(), search.archive().genomes.size());
  EXPECT_GE(all.size(), 60u);  // of 64: it gives up where chance finds nothing new
}

TEST(Nsga2, BeginsWithTheSeedsAndTakesProposals) {
  Nsga2Problem<Choices> problem = bits_problem(16, 16);
  problem.seeds = {Choices(16, 1), Choices(16, 0)};
  Choices proposed(16, 0);
  proposed[3] = 1;
  problem.propose = [&](const Archive<Choices>&, std::size_t, Random&) { return std::vector<Choices>{proposed}; };
  Nsga2<Choices> search(problem, {.population = 8, .evaluations = 20, .seed = 3});
  search.run();
  EXPECT_EQ(search.archive().genomes[0], problem.seeds[0]);
  EXPECT_EQ(search.archive().genomes[1], problem.seeds[1]);
  const auto& genomes = search.archive().genomes;
  EXPECT_NE(std::find(genomes.begin(), genomes.end(), proposed), genomes.end());
}

TEST(Nsga2, GivesTheSameForTheSameSeedAndEndsWhenNothingChanges) {
  Nsga2Problem<Choices> problem = bits_problem(12, 5);
  const Nsga2Options options{.population = 20, .evaluations = 4'000, .stagnation = 5};
  Nsga2<Choices> a(problem, options), b(problem, options);
  EXPECT_EQ(a.run(), Nsga2End::Stagnation);
  b.run();
  EXPECT_EQ(a.archive().genomes, b.archive().genomes);
  Nsga2Options other = options;
  other.seed = 2;
  Nsga2<Choices> c(problem, other);
  c.run();
  EXPECT_NE(a.archive().genomes, c.archive().genomes);
}

TEST(Nsga2, EvaluatesNoMoreThanItMay) {
  Nsga2Problem<Reals> problem{.variation = real_variation(std::vector(3, std::pair(0.0, 1.0)))};
  problem.evaluate = [](std::span<const Reals> batch) {
    return scored(batch, [](const Reals& x) { return Objectives{x[0], 1 - x[0]}; });
  };
  Nsga2<Reals> search(problem, {.population = 20, .evaluations = 7});
  EXPECT_EQ(search.run(), Nsga2End::Evaluations);
  EXPECT_EQ(search.archive().genomes.size(), 7u);
}

TEST(Nsga2, StopsInTheMiddleOfABatchWithWhatItHas) {
  Nsga2Problem<Choices> problem = bits_problem(12, 12);
  const auto all = problem.evaluate;
  std::size_t left = 25;
  problem.evaluate = [&](std::span<const Choices> batch) {
    const std::size_t now = std::min(left, batch.size());
    left -= now;
    return all(batch.first(now));
  };
  Nsga2<Choices> search(problem, {.population = 20, .evaluations = 100});
  EXPECT_EQ(search.run(), Nsga2End::Stopped);
  EXPECT_EQ(search.archive().genomes.size(), 25u);
  EXPECT_EQ(search.archive().scores.size(), 25u);
}

TEST(Fronts, AreEmptyWhereNothingIsPossible) {
  const std::vector<Score> scores{{{}, 1}, {{}, 2}};
  EXPECT_TRUE(front_with({}, scores, 0).empty());
}

TEST(Survivors, AreByRankThenRoom) {
  const std::vector<Score> scores{{{0, 4}}, {{1, 3}}, {{1.2, 2.8}}, {{4, 0}}, {{5, 5}}, {{}, 2}, {{}, 1}};
  const std::vector<Survivor> all = survivors_of(scores, 7);
  std::vector<std::uint32_t> order;
  for (const Survivor& s : all) order.push_back(s.index);
  EXPECT_EQ(order, (std::vector<std::uint32_t>{0, 3, 2, 1, 4, 6, 5}));
  EXPECT_EQ(survivors_of(scores, 2).size(), 2u);
}

TEST(RealVariation, StaysWithinBounds) {
  const Variation<Reals> v = real_variation({{-1, 2}, {5, 5}, {0, 1e-9}});
  for (std::uint64_t i = 0; i < 2'000; ++i) {
    Random random(9, 1, i);
    const Reals a = v.sample(random), b = v.sample(random);
    Reals child = v.cross(a, b, random);
    v.mutate(child, random);
    EXPECT_TRUE(child[0] >= -1 && child[0] <= 2) << child[0];
    EXPECT_EQ(child[1], 5);
    EXPECT_TRUE(child[2] >= 0 && child[2] <= 1e-9);
  }
}

TEST(ChoiceVariation, MutatesToAnotherChoiceOnly) {
  const Variation<Choices> v = choice_variation({3, 1, 5}, {.mutation = 1});
  for (std::uint64_t i = 0; i < 500; ++i) {
    Random random(4, 2, i);
    const Choices before = v.sample(random);
    Choices after = before;
    v.mutate(after, random);
    EXPECT_NE(after[0], before[0]);
    EXPECT_LT(after[0], 3);
    EXPECT_EQ(after[1], 0);
    EXPECT_NE(after[2], before[2]);
    EXPECT_LT(after[2], 5);
  }
}

}  // namespace
}  // namespace monet::solve
