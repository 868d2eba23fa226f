#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "monet/solve/nsga2.h"

namespace monet::solve {

// Decisions among so many choices each.
using Choices = std::vector<std::uint16_t>;

struct ChoiceOptions {
  double of_other = 0.5;  // crossover: chance that a gene is the other parent's
  double mutation = 0;    // chance that a gene changes; 0: one over the number of genes
};
// Uniform crossover; a gene that mutates becomes any other choice.
Variation<Choices> choice_variation(std::vector<std::uint16_t> choices, const ChoiceOptions& options = {});

// The next ones in counting order, the first gene fastest; false, and all of them zero, behind the last.
bool advance(Choices& at, const std::vector<std::uint16_t>& choices);

// Numbers within bounds.
using Reals = std::vector<double>;

struct RealOptions {
  double crossover_index = 15, mutation_index = 20;  // large: children near their parents
  double mutation = 0;                               // chance of each number; 0: one over how many there are
};
// Simulated binary crossover and polynomial mutation, both bounded (Deb and Agrawal 1995; Deb and Deb 2014).
Variation<Reals> real_variation(std::vector<std::pair<double, double>> bounds, const RealOptions& options = {});

}  // namespace monet::solve
