// What must hold of the default model's costs on any nest. MONET_NESTS says how many are drawn.
#include <gtest/gtest.h>

#include "monet/cost/optimum.h"
#include "support/random_nest.h"

namespace monet::test {
namespace {

std::optional<double> best_latency(const SimulatedNest& nest, const hardware::Core& core) {
  const cost::Problem p = cost::make_problem(nest.layer, core, nest.spatial, cost::Quirks{});
  const cost::Optimum optimum = cost::find_optimum(p, {.criterion = cost::Criterion::Latency});
  if (!optimum.best) return std::nullopt;
  return optimum.best->costs.latency;
}

TEST(CostProperties, PartsSumToTotals) {
  for (std::uint64_t i = 0; i < 5 * nests(200, 10); ++i) {
    const SimulatedNest nest = random_nest(11, i, {}).nest;
    const cost::Problem p = cost::make_problem(nest.layer, nest.core, nest.spatial, cost::Quirks{}, 1e9);
    cost::Evaluation e;
    e.cuts = nest.cuts;
    e.doubled = nest.doubled;
    cost::evaluate(p, nest.order, e);
    double memories = 0;
    for (std::size_t o = 0; o < p.operands.size(); ++o)
      for (std::size_t m = 0; m < p.operands[o].memories; ++m) {
        const cost::MemoryProblem& memory = p.memories[p.operands[o].memory[m]];
        double level = 0;
        for (const hardware::Direction d : hardware::kDirections)
          level += e.levels[o][m].flows[static_cast<std::size_t>(d)].words *
                   (hardware::is_read(d) ? memory.read_pj : memory.write_pj);
        EXPECT_NEAR(e.levels[o][m].energy_pj, level, 1e-9 * level);
        memories += level;
      }
    EXPECT_NEAR(e.memory_energy_pj, memories, 1e-9 * memories);
    EXPECT_NEAR(e.energy_pj, e.mac_energy_pj + e.memory_energy_pj + e.static_energy_pj, 1e-9 * e.energy_pj);
    EXPECT_NEAR(e.latency, e.temporal_cycles + e.stall + e.onload + e.offload, 1e-6);
  }
}

TEST(CostProperties, NothingIsFasterThanItsRoof) {
  for (std::uint64_t i = 0; i < 5 * nests(200, 10); ++i) {
    const SimulatedNest nest = random_nest(12, i, {}).nest;
    const cost::Problem p = cost::make_problem(nest.layer, nest.core, nest.spatial, cost::Quirks{});
    cost::Evaluation e;
    e.cuts = nest.cuts;
    e.doubled = nest.doubled;
    cost::evaluate(p, nest.order, e);
    EXPECT_GE(e.latency, e.temporal_cycles);
    EXPECT_GE(e.temporal_cycles, e.ideal_cycles - 1e-9);
    // No port carries more than its width: all bits of all its flows, one instance's share.
    for (std::size_t i_port = 0; i_port < p.ports.size(); ++i_port) {
      double words = 0;
      for (const cost::PortUser& user : p.ports[i_port].users) {
        const cost::OperandProblem& o = p.operands[user.operand];
        const cost::Flow& f = e.levels[user.operand][user.level].flows[user.direction];
        words += f.moved * f.bits / p.ports[i_port].max_bits / o.integer.instances[user.level + 1];
      }
      EXPECT_GE(e.latency + 1e-6, words) << "nest " << i << "\n" << describe(nest);
    }
    EXPECT_GE(e.onload, 0);
    EXPECT_GE(e.offload, 0);
    EXPECT_GE(e.stall, 0);
  }
}

TEST(CostProperties, MoreBandwidthNeverMakesTheBestMappingSlower) {
  for (std::uint64_t i = 0; i < nests(200, 10); ++i) {
    const SimulatedNest nest = random_nest(13, i, {.iterations = 128}).nest;
    const std::optional<double> before = best_latency(nest, nest.core);
    if (!before) continue;
    for (std::size_t m = 0; m < nest.core.memories.size(); ++m) {
      hardware::Core wider = nest.core;
      for (hardware::Port& port : wider.memories[m].ports) port.max_bits_per_cycle *= 2;
      const std::optional<double> after = best_latency(nest, wider);
      ASSERT_TRUE(after) << "nest " << i;
      EXPECT_LE(*after, *before) << "nest " << i << ", memory " << m << "\n" << describe(nest);
    }
  }
}

TEST(CostProperties, ALargerMemoryNeverMakesTheBestMappingSlower) {
  for (std::uint64_t i = 0; i < nests(200, 10); ++i) {
    const SimulatedNest nest = random_nest(14, i, {.iterations = 128}).nest;
    const std::optional<double> before = best_latency(nest, nest.core);
    if (!before) continue;
    for (std::size_t m = 0; m < nest.core.memories.size(); ++m)
      for (const std::int64_t factor : {2, 3}) {
        hardware::Core larger = nest.core;
        larger.memories[m].size_bits *= factor;
        const std::optional<double> after = best_latency(nest, larger);
        ASSERT_TRUE(after) << "nest " << i;
        EXPECT_LE(*after, *before) << "nest " << i << ", memory " << m << "\n" << describe(nest);
      }
  }
}

}  // namespace
}  // namespace monet::test
