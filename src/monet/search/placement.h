#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "monet/search/subject.h"
#include "monet/solve/genomes.h"

namespace monet::search {

// Which cores run what, for groups that are decided: placement_search.h decides it.

// What is placed as one, as in Stream: a loop nest and the element-wise nodes of its group that work on what it makes.
// What a group does before its first loop nest is a layer, too, and so is a group without any.
struct Layer {
  std::vector<NodeId> nodes{};         // the first one is placed; by default the others stay where their data is made
  std::vector<std::uint32_t> cores{};  // of Chip::cores: that may run the first one
  // Cores of the first node and its parts on them. The first one is what is done by default, without cores where that
  // hangs on other layers. The rest: all sets of cores where they are few; else each core, and runs of 2, 4, 8, …
  // neighbours.
  std::vector<plan::NodeChoice> allocations{};
};

struct LayerEdge {
  std::uint32_t from = 0, to = 0;  // from < to
  double bytes = 0;                // of what one makes and the other reads
};

class Placement {
 public:
  // Nodes that the plan has entries for stay as they are. What the setting refers to and the subject must stay alive.
  // Throws InputError where the plan is not legal, or the chip has more than 64 cores.
  Placement(const Setting& setting, const Subject& subject, plan::Plan plan);
  Placement(const Placement&) = delete;
  Placement& operator=(const Placement&) = delete;

  const Setting& setting() const { return setting_; }
  const Subject& subject() const { return subject_; }
  const plan::Decided& by_default() const { return by_default_; }
  const std::vector<Layer>& layers() const { return layers_; }  // in the order in which they run
  const std::vector<LayerEdge>& edges() const { return edges_; }

  // A decision has one number for each layer: of its allocations.
  std::vector<std::uint16_t> choices() const;  // how many each has
  double decisions() const;                    // how many there are
  // Every layer on this core alone that may run on it; the others by default.
  solve::Choices all_on(std::uint32_t core) const;
  plan::Plan plan(const solve::Choices& decision) const;

  Evaluated evaluate(const solve::Choices& decision) const;
  Figures figures(const solve::Choices& decision) const;
  std::vector<Figures> figures(std::span<const solve::Choices> decisions, std::size_t threads) const;

 private:
  void find_layers();
  void find_allocations(Layer& layer) const;

  Setting setting_;
  const Subject& subject_;
  plan::Plan plan_;
  plan::Decided by_default_;
  std::vector<Layer> layers_;
  std::vector<LayerEdge> edges_;
  mutable schedule::PricedKinds priced_;
};

}  // namespace monet::search
