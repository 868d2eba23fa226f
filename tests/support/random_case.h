#pragma once
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "monet/cost/cache.h"
#include "monet/graph/storage.h"
#include "monet/hardware/hardware.h"
#include "monet/plan/decide.h"
#include "monet/schedule/evaluation.h"
#include "support/tiling.h"

namespace monet::test {

// A network, small, with what an iteration of it can have: optimizers, recomputation, microbatches, formats.
struct Network {
  Graph graph{};                         // single works
  std::vector<std::string> gradients{};  // by name
  std::string words{};                   // how it was made
  bool recomputes = false, has_microbatches = false, fuses_updates = false;
};
Network random_network(Draw& draw);
// A model of the catalogue, trained with AdamW in half precision, as `monet` does it by default.
Network trained_model(const std::string& model, std::int64_t batch, bool fuses_updates = false);

// A chip of the library with memories of other sizes, or one made up.
struct RandomChip {
  hardware::Hardware hardware{};
  std::string words{};
};
RandomChip random_chip(Draw& draw);

// Fused groups, cores, cuts of any loop. `is_legal`: it must be taken; else there is something wrong with it.
struct RandomPlan {
  plan::Plan plan{};
  bool is_legal = true;
};
RandomPlan random_plan(const Graph& graph, const std::vector<plan::Facts>& facts, const plan::Chip& chip, Draw& draw);

// A graph on a chip under a plan, decided.
struct Case {
  Network network{};
  RandomChip chip_file{};
  plan::Chip chip{};
  std::vector<plan::Facts> facts{};
  plan::Plan plan{};
  plan::Decided decided{};
  std::string words() const { return network.words + " on " + chip_file.words; }
  bool splits_reductions() const, shares_reductions() const;
  schedule::TilingInput input(const Storage& storage, std::size_t threads = 1) const;
};
// Throws what is wrong with the plan's legality check as std::logic_error; counts plans that were rightly refused.
Case random_case(std::uint64_t number, std::size_t& refused);
// The default plan.
Case default_case(Network network, const std::string& chip);

}  // namespace monet::test
