// The default cost model against an independent simulation of the same machine, on random small nests of every kind
// (docs/simulator.md). MONET_NESTS says how many.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "support/random_nest.h"

namespace monet::test {
namespace {

std::uint64_t nests() {
  const char* given = std::getenv("MONET_NESTS");
  return given == nullptr ? 500 : std::strtoull(given, nullptr, 10);
}

cost::Evaluation evaluated(const SimulatedNest& nest) {
  const cost::Problem problem = cost::make_problem(nest.layer, nest.core, nest.spatial, cost::Quirks{});
  cost::Evaluation e;
  e.cuts = nest.cuts;
  e.doubled = nest.doubled;
  cost::evaluate(problem, nest.order, e);
  return e;
}

// Sums are read back by element where the output's windows overlap: the model shares out the words of a tile that is
// part old and part new, and leaves out that one instance may find what another has stored.
bool is_shared_out(const RandomNest& random, std::size_t operand, hardware::Direction direction) {
  return random.scatters && operand == 0 &&
         (direction == hardware::Direction::ReadToLow || direction == hardware::Direction::WriteFromHigh);
}

// Lanes along a dimension of the output's windows, with instances of their own.
bool windows_are_spread(const SimulatedNest& nest, std::size_t memory) {
  std::size_t level = 0;
  std::vector<bool> below(nest.spatial.size(), false);
  for (const hardware::Memory& m : nest.core.memories) {
    bool holds = false;
    for (const hardware::Slot slot : m.slots) holds = holds || slot == hardware::Slot::Output;
    if (!holds || level++ > memory) continue;
    for (const std::size_t a : m.served_dimensions) below[a] = true;
  }
  for (std::size_t a = 0; a < nest.spatial.size(); ++a)
    for (const cost::SpatialLoop& loop : nest.spatial[a])
      for (const work::Axis& axis : nest.layer.operands[0].axes)
        for (const work::Term& term : axis.terms)
          if (!below[a] && axis.terms.size() > 1 && term.dimension == loop.dimension) return true;
  return false;
}

TEST(NestSimulator, EveryFlowMovesAsManyElementsAndWordsAsTheModelSays) {
  std::uint64_t flows = 0, read_back = 0;
  for (std::uint64_t i = 0; i < nests(); ++i) {
    const RandomNest random = random_nest(1, i, {});
    const cost::Evaluation e = evaluated(random.nest);
    const Counts counts = count_traffic(random.nest);
    for (std::size_t o = 0; o < counts.size(); ++o)
      for (std::size_t m = 0; m < counts[o].size(); ++m)
        for (const hardware::Direction d : hardware::kDirections) {
          const cost::Flow& flow = e.levels[o][m].flows[static_cast<std::size_t>(d)];
          const Traffic& traffic = counts[o][m][static_cast<std::size_t>(d)];
          flows += traffic.moved > 0;
          read_back += traffic.moved > 0 && o == 0 && d == hardware::Direction::ReadToLow;
          const bool shared_out = is_shared_out(random, o, d);
          if (shared_out && windows_are_spread(random.nest, m)) continue;
          const std::string where =
              fmt::format("nest {} operand {} memory {} {}\n{}", i, o, m, hardware::name(d), describe(random.nest));
          ASSERT_EQ(flow.moved, traffic.moved) << where;
          if (!shared_out) {
            ASSERT_NEAR(flow.words, traffic.words, 1e-9 * (1 + traffic.words)) << where;
          }
        }
  }
  // The nests are worth their name: they have flows to count, and sums that are read back.
  EXPECT_GT(flows, 5 * nests());
  EXPECT_GT(read_back, nests() / 4);
}

}  // namespace
}  // namespace monet::test
