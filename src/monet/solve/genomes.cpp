#include "monet/solve/genomes.h"

#include <algorithm>
#include <cmath>

namespace monet::solve {
namespace {

double chance_of(double given, std::size_t genes) {
  return given > 0 ? given : 1 / std::max(1.0, static_cast<double>(genes));
}

// How far a child lies from the middle of its parents, over half their distance, drawn so that it stays within bounds:
// `reach` is the distance to the nearest bound by the same measure.
double spread(double reach, double index, double u) {
  const double alpha = 2 - std::pow(reach, -(index + 1));
  if (u <= 1 / alpha) return std::pow(u * alpha, 1 / (index + 1));
  return std::pow(1 / (2 - u * alpha), 1 / (index + 1));
}

double crossed(double a, double b, std::pair<double, double> bounds, double index, Random& random) {
  const double low = std::min(a, b), high = std::max(a, b), distance = high - low;
  const double u = random.uniform();
  const bool is_lower = random.chance(0.5);
  if (!(distance > 1e-14)) return a;
  const double room = is_lower ? low - bounds.first : bounds.second - high;
  const double beta = spread(1 + 2 * room / distance, index, u);
  const double child = 0.5 * (low + high + (is_lower ? -beta : beta) * distance);
  return std::clamp(child, bounds.first, bounds.second);
}

double mutated(double x, std::pair<double, double> bounds, double index, Random& random) {
  const double range = bounds.second - bounds.first, u = random.uniform(), power = 1 / (index + 1);
  if (!(range > 0)) return x;
  const bool is_down = u < 0.5;
  const double rest = 1 - (is_down ? x - bounds.first : bounds.second - x) / range;
  const double kept = std::pow(rest, index + 1);
  const double step =
      is_down ? std::pow(2 * u + (1 - 2 * u) * kept, power) - 1 : 1 - std::pow(2 * (1 - u) + (2 * u - 1) * kept, power);
  return std::clamp(x + step * range, bounds.first, bounds.second);
}

}  // namespace

Variation<Choices> choice_variation(std::vector<std::uint16_t> choices, const ChoiceOptions& options) {
  Variation<Choices> out;
  out.sample = [choices](Random& random) {
    Choices genome;
    for (const std::uint16_t count : choices) genome.push_back(static_cast<std::uint16_t>(random.below(count)));
    return genome;
  };
  out.cross = [options](const Choices& a, const Choices& b, Random& random) {
    Choices child = a;
    for (std::size_t i = 0; i < child.size(); ++i)
      if (random.chance(options.of_other)) child[i] = b[i];
    return child;
  };
  out.mutate = [choices, options](Choices& genome, Random& random) {
    const double chance = chance_of(options.mutation, genome.size());
    for (std::size_t i = 0; i < genome.size(); ++i) {
      if (choices[i] < 2 || !random.chance(chance)) continue;
      const auto other = static_cast<std::uint16_t>(random.below(choices[i] - 1u));
      genome[i] = static_cast<std::uint16_t>(other < genome[i] ? other : other + 1);
    }
  };
  return out;
}

bool advance(Choices& at, const std::vector<std::uint16_t>& choices) {
  std::size_t d = 0;
  while (d < at.size() && ++at[d] >= choices[d]) at[d++] = 0;
  return d < at.size();
}

Variation<Reals> real_variation(std::vector<std::pair<double, double>> bounds, const RealOptions& options) {
  Variation<Reals> out;
  out.sample = [bounds](Random& random) {
    Reals genome;
    for (const auto& [low, high] : bounds) genome.push_back(low + (high - low) * random.uniform());
    return genome;
  };
  out.cross = [bounds, options](const Reals& a, const Reals& b, Random& random) {
    Reals child = a;
    for (std::size_t i = 0; i < child.size(); ++i)
      if (random.chance(0.5)) child[i] = crossed(a[i], b[i], bounds[i], options.crossover_index, random);
    return child;
  };
  out.mutate = [bounds, options](Reals& genome, Random& random) {
    const double chance = chance_of(options.mutation, genome.size());
    for (std::size_t i = 0; i < genome.size(); ++i)
      if (random.chance(chance)) genome[i] = mutated(genome[i], bounds[i], options.mutation_index, random);
  };
  return out;
}

}  // namespace monet::solve
