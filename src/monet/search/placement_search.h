#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "monet/search/descend.h"
#include "monet/search/placement.h"

namespace monet::search {

// Which cores run each layer of a decided fusion. Every placement is judged by the whole scheduler, none twice; none of
// the methods ends worse than the default, which all of them begin with. They are deterministic.
//
// Local: begins with the default, all layers on one core of each kind, each layer where it is best by itself, and list
// scheduling; goes on from each of these, the best first, by moving a layer to other cores, more or fewer, or letting
// two layers change places. A guess (placement_model.h) decides in which order steps are tried, never what is taken.
//
// Genetic: Stream's. As there: one gene a layer, its number among the allocations that are valid for it; latency and
// energy as objectives; selection by NSGA-II; a child is a crossover of two (3 of 10) or one mutated (7 of 10: three in
// four times each gene becomes another with chance one over their number, else two genes change places). Not as there:
// allocations of several cores are among those to choose from; genes change places where they mean the same cores; the
// crossover has two points for any number of genes, for genes are no permutation; parents are chosen by tournament and
// as many as children survive (there: half as many, chosen at random); the first generation holds the default; a seed;
// of the front, the one best by the objective is taken (there: the last).
//
// Exact: all there are.

enum class PlaceMethod { Local, Genetic, Exact };
std::string_view name(PlaceMethod method);  // local, ga, exact

inline constexpr double kMostPlacements = 4096;  // for all of them to be tried

struct PlaceOptions {
  PlaceMethod method = PlaceMethod::Local;
  // Evaluations: Local has at least one for each kind of core, Exact as many as there are placements.
  DescentOptions search{};
  std::uint64_t seed = 1;      // of Genetic
  std::size_t population = 0;  // of Genetic; 0: an eighth of the evaluations, from 8 to 100
};

struct Placed {
  solve::Choices decision{};
  Figures figures{}, before{};  // of the decision; of the default
  std::size_t evaluations = 0, steps = 0;
  bool is_exact = false;          // no placement is better
  bool is_local_optimum = false;  // no single step is better
};

// `Exact` must not have more than kMostPlacements to try.
Placed place(const Placement& placement, const PlaceOptions& options);

}  // namespace monet::search
