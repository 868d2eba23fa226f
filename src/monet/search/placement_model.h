#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "monet/search/placement.h"

namespace monet::search {

// What placements may come to, guessed in microseconds: it says which of them are worth an evaluation. Layers run one
// after the other on each core; what each takes was measured in evaluations with all layers on one core, and what goes
// from one to the other takes what the slowest stretch of its way takes. Full memories and busy links do not count.
class PlacementModel {
 public:
  // Evaluates the default, and all layers on one core of each kind.
  PlacementModel(const Placement& placement, std::size_t threads);

  // The placements that were evaluated for it, the default first.
  const std::vector<solve::Choices>& evaluated() const { return evaluated_; }
  const std::vector<Figures>& figures() const { return figures_; }

  // Latency and energy.
  Figures guess(const solve::Choices& decision) const;

  // List scheduling by upward rank (HEFT: Topcuoglu et al., IEEE TPDS 13(3), 2002): the layer with the longest way to
  // the end goes first, to where it ends first. `most_cores`: of a layer.
  solve::Choices scheduled(std::size_t most_cores) const;
  // Each layer where it is best by itself.
  solve::Choices each_best(const std::function<double(const Figures&)>& value) const;

 private:
  struct Way {
    double cycles_per_byte = 0, pj_per_byte = 0;
  };
  struct Taken {
    double cycles = 0, offchip_cycles = 0, energy_pj = 0;
  };
  void find_ways();
  void guess_taken();
  void measure(const Evaluated& evaluated);
  Taken taken(std::size_t layer, std::uint64_t cores) const;
  Way way(std::uint64_t from, std::uint64_t to) const;
  // The cores of an allocation, as bits; where it hangs on others, those of the layer that it reads most from.
  std::uint64_t cores_of(std::size_t layer, std::uint16_t allocation, const std::vector<std::uint64_t>& placed) const;
  std::vector<double> ranks() const;

  const Placement& placement_;
  std::vector<std::uint32_t> alike_;          // by core: the first of its kind
  std::vector<std::vector<Taken>> taken_;     // by layer and first core of a kind: on that core alone
  std::vector<std::vector<Way>> ways_;        // from core to core
  std::vector<std::vector<LayerEdge>> into_;  // by layer
  std::vector<solve::Choices> evaluated_;
  std::vector<Figures> figures_;
};

}  // namespace monet::search
