// The default cost model against an independent simulation of the same machine, on random small nests of every kind
// (docs/simulator.md). MONET_NESTS says how many.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support/random_nest.h"

namespace monet::test {
namespace {

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

// No lane is ever idle, and nothing is padding.
bool is_even(const SimulatedNest& nest) {
  std::vector<std::int64_t> covered(nest.layer.dimensions.size(), 1);
  for (const auto& loops : nest.spatial)
    for (const cost::SpatialLoop& loop : loops) covered[loop.dimension] *= loop.factor;
  for (const cost::TemporalLoop& loop : nest.order) covered[loop.dimension] *= static_cast<std::int64_t>(loop.factor);
  for (std::size_t d = 0; d < covered.size(); ++d)
    if (covered[d] != nest.layer.dimensions[d].size) return false;
  for (const cost::Operand& operand : nest.layer.operands)
    for (const work::Axis& axis : operand.axes) {
      std::int64_t last = axis.offset;
      for (const work::Term& term : axis.terms)
        last += term.coefficient * (nest.layer.dimensions[term.dimension].size - 1);
      if (axis.offset < 0 || last >= axis.extent) return false;
    }
  return true;
}

TEST(NestSimulator, EveryFlowMovesAsManyElementsAndWordsAsTheModelSays) {
  std::uint64_t flows = 0, read_back = 0;
  for (std::uint64_t i = 0; i < nests(500); ++i) {
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
  EXPECT_GT(flows, 5 * nests(500));
  EXPECT_GT(read_back, nests(500) / 4);
}

// How far the model's latency is from the simulated cycles, as a part of them.
struct Differences {
  std::vector<double> all{};
  double within(double part) const {
    double count = 0;
    for (const double x : all) count += std::abs(x) <= part;
    return count / static_cast<double>(all.size());
  }
  double above(double part) const {
    double count = 0;
    for (const double x : all) count += x > part;
    return count / static_cast<double>(all.size());
  }
  std::string print() const {
    return fmt::format(
        "{} nests: {:.1f} % within 1 %, {:.1f} % within 5 %, {:.1f} % within 10 %, {:.1f} % within 20 %; "
        "{:.1f} % more than 5 % above; {:+.0f} % to {:+.0f} %",
        all.size(), 100 * within(0.01), 100 * within(0.05), 100 * within(0.1), 100 * within(0.2), 100 * above(0.05),
        100 * *std::min_element(all.begin(), all.end()), 100 * *std::max_element(all.begin(), all.end()));
  }
};

// The bars are what the model reaches (docs/simulator.md has the reasons for the rest), not what one would wish.
TEST(NestSimulator, LatencyIsMostlyWithinFivePercentOfSimulatedCycles) {
  Differences small, middle, large, even;
  for (std::uint64_t i = 0; i < nests(500); ++i) {
    const RandomNest random =
        random_nest(1, i, {.iterations = 1024, .lanes = 12, .replicates = i % 2 == 0, .deep_padding = false});
    const cost::Evaluation e = evaluated(random.nest);
    const auto cycles = static_cast<double>(count_cycles(random.nest));
    ASSERT_GE(cycles, e.temporal_cycles) << describe(random.nest);
    ASSERT_EQ(e.latency, std::floor(e.latency)) << describe(random.nest);
    const double difference = e.latency / cycles - 1;
    (cycles < 50 ? small : cycles < 200 ? middle : large).all.push_back(difference);
    if (cycles >= 200 && is_even(random.nest) && !random.scatters) even.all.push_back(difference);
  }
  fmt::print("under 50 cycles:  {}\n50 to 199 cycles: {}\nfrom 200 cycles:  {}\n  of them even:   {}\n", small.print(),
             middle.print(), large.print(), even.print());
  EXPECT_GE(large.within(0.05), 0.79);
  EXPECT_GE(large.within(0.10), 0.87);
  EXPECT_GE(large.within(0.20), 0.92);
  EXPECT_LE(large.above(0.05), 0.02);
  EXPECT_GE(even.within(0.05), 0.80);
  EXPECT_GE(middle.within(0.05), 0.77);
  EXPECT_GE(small.within(0.05), 0.62);
  EXPECT_GE(small.within(0.20), 0.93);
}

// With one word for every tile and second buffers everywhere there is nothing to wait for.
TEST(NestSimulator, WithoutStallsTheTwoAgreeToTheCycle) {
  SimulatedNest nest;
  nest.layer.dimensions = {{"K", 8}, {"C", 6}};
  const auto axis = [](std::size_t d, std::int64_t extent) {
    return work::Axis{.extent = extent, .offset = 0, .terms = {{d, 1}}};
  };
  nest.layer.operands = {{"O", hardware::Slot::Output, 8, 16, {axis(0, 8)}},
                         {"W", hardware::Slot::Weight, 8, 8, {axis(0, 8), axis(1, 6)}},
                         {"I", hardware::Slot::Input, 8, 8, {axis(1, 6)}}};
  nest.core.array.emplace().dimensions = {{"D1", 1}};
  for (const char* name : {"low", "high"}) {
    hardware::Memory memory{.name = name, .size_bits = 1 << 20};
    memory.slots = {hardware::Slot::Weight, hardware::Slot::Input, hardware::Slot::Output};
    memory.served_dimensions = {0};
    for (const hardware::Slot slot : memory.slots)
      for (const hardware::Direction d : hardware::kDirections)
        memory.ports.push_back({.name = fmt::format("{}{}", hardware::name(slot), hardware::name(d)),
                                .min_bits_per_cycle = 1024,
                                .max_bits_per_cycle = 1024,
                                .uses = {{slot, d}}});
    nest.core.memories.push_back(std::move(memory));
  }
  nest.spatial.resize(1);
  nest.order = {{1, 6}, {0, 8}};
  for (std::size_t o = 0; o < 3; ++o) {
    nest.cuts[o] = {1, 2};
    nest.doubled[o] = {true, true};
  }
  const cost::Evaluation e = evaluated(nest);
  // One cycle for the first words to come down, 48 to compute, one for the last sum to go up.
  EXPECT_EQ(count_cycles(nest), 50u);
  EXPECT_EQ(e.latency, 50);
  // At 2 bits a cycle the weights of six steps take 24 cycles, and all 48 of them 192; then the last six steps follow.
  for (hardware::Port& port : nest.core.memories[1].ports)
    if (port.uses[0].slot == hardware::Slot::Weight) port.min_bits_per_cycle = port.max_bits_per_cycle = 2;
  EXPECT_GE(count_cycles(nest), 192u);
  EXPECT_NEAR(evaluated(nest).latency, static_cast<double>(count_cycles(nest)), 5);
}

}  // namespace
}  // namespace monet::test
