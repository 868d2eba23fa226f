// Runs our NSGA-II on problems with known fronts:  run_nsga2 PROBLEM POPULATION EVALUATIONS SEED
// Prints the objectives of the last population, a point a line. nsga2_vs_pymoo.py compares.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numbers>
#include <string>

#include "monet/solve/genomes.h"
#include "monet/solve/nsga2.h"

namespace {

using namespace monet::solve;

struct Function {
  std::vector<std::pair<double, double>> bounds{};
  std::function<Objectives(const Reals&)> value{};
};

// Zitzler, Deb and Thiele, 2000.
double mean_tail(const Reals& x) {
  double sum = 0;
  for (std::size_t i = 1; i < x.size(); ++i) sum += x[i];
  return sum / static_cast<double>(x.size() - 1);
}

Function zdt(int index) {
  const std::size_t count = index == 4 || index == 6 ? 10 : 30;
  Function f{.bounds = std::vector(count, std::pair(0.0, 1.0))};
  if (index == 4)
    for (std::size_t i = 1; i < count; ++i) f.bounds[i] = {-5, 5};
  f.value = [index](const Reals& x) {
    double g = 1 + 9 * mean_tail(x);
    if (index == 4) {
      g = 1 + 10.0 * static_cast<double>(x.size() - 1);
      for (std::size_t i = 1; i < x.size(); ++i) g += x[i] * x[i] - 10 * std::cos(4 * std::numbers::pi * x[i]);
    }
    if (index == 6) g = 1 + 9 * std::pow(mean_tail(x), 0.25);
    const double first =
        index == 6 ? 1 - std::exp(-4 * x[0]) * std::pow(std::sin(6 * std::numbers::pi * x[0]), 6) : x[0];
    const double share = first / g;
    double h = 1 - std::sqrt(share);
    if (index == 2 || index == 6) h = 1 - share * share;
    if (index == 3) h -= share * std::sin(10 * std::numbers::pi * first);
    return Objectives{first, g * h};
  };
  return f;
}

// Deb, Thiele, Laumanns and Zitzler, 2002; three objectives.
Function dtlz(int index) {
  const std::size_t tail = index == 1 ? 5 : 10;
  Function f{.bounds = std::vector(2 + tail, std::pair(0.0, 1.0))};
  f.value = [index](const Reals& x) {
    double g = 0;
    for (std::size_t i = 2; i < x.size(); ++i) {
      const double d = x[i] - 0.5;
      g += index == 2 ? d * d : 1 + d * d - std::cos(20 * std::numbers::pi * d);
    }
    if (index != 2) g *= 100;
    if (index == 1)
      return Objectives{0.5 * x[0] * x[1] * (1 + g), 0.5 * x[0] * (1 - x[1]) * (1 + g), 0.5 * (1 - x[0]) * (1 + g)};
    const double a = x[0] * std::numbers::pi / 2, b = x[1] * std::numbers::pi / 2;
    return Objectives{(1 + g) * std::cos(a) * std::cos(b), (1 + g) * std::cos(a) * std::sin(b), (1 + g) * std::sin(a)};
  };
  return f;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const std::string name = argv[1];
  const Function f = name.starts_with("zdt") ? zdt(name.back() - '0') : dtlz(name.back() - '0');
  const auto population = static_cast<std::size_t>(std::atoi(argv[2]));
  Nsga2Problem<Reals> problem{.variation = real_variation(f.bounds)};
  problem.evaluate = [&](std::span<const Reals> batch) {
    std::vector<Score> scores;
    for (const Reals& x : batch) scores.push_back({f.value(x)});
    return scores;
  };
  Nsga2<Reals> search(problem, {.population = population,
                                .evaluations = static_cast<std::size_t>(std::atoi(argv[3])),
                                .seed = static_cast<std::uint64_t>(std::atoi(argv[4]))});
  search.run();
  // A population, not the archive: what the other one has, too.
  for (const Score& score : search.population_scores()) {
    for (const double value : score.objectives) std::printf("%.17g ", value);
    std::printf("\n");
  }
  return 0;
}
