// Are links and ways those of Stream? The ways of the quad core are those its schedules state (70eb6751).
#include "monet/schedule/stream_network.h"

#include <gtest/gtest.h>

#include "support/stream_chip.h"

namespace monet::schedule {
namespace {

using hardware::CoreId;

TEST(StreamNetwork, TakesTheFirstOfTheShortestWays) {
  StreamProblem p;
  ASSERT_EQ(add_stream_network(tpu_quad(), p), "");
  const auto joined = [&](std::size_t a, std::size_t via, std::size_t b) {
    std::vector<std::uint32_t> links = p.paths[a][via];
    links.insert(links.end(), p.paths[via][b].begin(), p.paths[via][b].end());
    return links;
  };
  EXPECT_EQ(p.paths[0][2], joined(0, 1, 2));
  EXPECT_EQ(p.paths[1][3], joined(1, 0, 3));
  EXPECT_EQ(p.paths[2][0], joined(2, 1, 0));
  EXPECT_EQ(p.paths[3][1], joined(3, 2, 1));
  EXPECT_EQ(p.paths[4][5], joined(4, 0, 5));
  EXPECT_TRUE(p.paths[2][2].empty());
  // One link for all of the off-chip memory's traffic, two between any two cores.
  EXPECT_EQ(p.links.size(), 2u * 12 + 1);
  EXPECT_EQ(p.paths[0][6], p.paths[6][3]);
  EXPECT_NE(p.paths[0][1], p.paths[1][0]);
  EXPECT_EQ(p.links[p.paths[0][6][0]].bandwidth, 64);
  EXPECT_EQ(p.links[p.paths[0][1][0]].bandwidth, 32);
}

TEST(StreamNetwork, ReadsAndWritesOverTwoLinksIfTheMemoryHasTwoPorts) {
  hardware::Hardware chip = tpu_quad();
  hardware::Memory& dram = chip.cores[6].memories[0];
  dram.ports = {stream_port("w", hardware::PortKind::Write, 8, 16, {}),
                stream_port("r", hardware::PortKind::Read, 8, 128, {})};
  chip.links.back().energy_pj_per_bit.value = 0.5;  // of 64 bits
  StreamProblem p;
  ASSERT_EQ(add_stream_network(chip, p), "");
  EXPECT_EQ(p.links[p.paths[1][6][0]].bandwidth, 16);
  EXPECT_EQ(p.links[p.paths[6][1][0]].bandwidth, 128);
  EXPECT_EQ(p.links[p.paths[6][1][0]].unit_pj, 32);
}

TEST(StreamNetwork, GivesABusOneLinkAndGoesThroughTheOffChipMemoryIfThatIsShortest) {
  hardware::Hardware chip = tpu_quad();
  chip.links = {{.cores = {CoreId{0}, CoreId{1}, CoreId{2}}, .is_bus = true, .bits_per_cycle = 8}};
  StreamProblem p;
  ASSERT_EQ(add_stream_network(chip, p), "");
  EXPECT_EQ(p.paths[0][2], p.paths[2][1]);
  EXPECT_EQ(p.paths[0][2].size(), 1u);
  EXPECT_EQ(p.paths[0][3].size(), 2u);
  EXPECT_EQ(p.paths[0][3][0], p.paths[0][6][0]);
}

TEST(StreamNetwork, TakesTheHighestMemoryOfEachOperandAndSharesIt) {
  hardware::Hardware chip = tpu_quad();
  chip.shared_memories = {{CoreId{1}, CoreId{3}}};
  chip.cores[0].memories[2].slots = {hardware::Slot::Input, hardware::Slot::Output};
  StreamProblem p;
  ASSERT_EQ(add_stream_network(chip, p), "");
  EXPECT_EQ(p.cores[1].memories, p.cores[3].memories);
  EXPECT_NE(p.cores[1].memories, p.cores[2].memories);
  ASSERT_EQ(p.cores[0].memories.size(), 2u);
  EXPECT_EQ(p.memories[p.cores[0].memories[0]].name, "rf_128B");  // now the highest that holds weights
  EXPECT_EQ(p.memories[p.cores[2].memories[0]].size, 16777216);
  EXPECT_EQ(p.memories[p.cores[2].memories[0]].min_bits, 64);
}

TEST(StreamNetwork, SaysWhatIsMissing) {
  hardware::Hardware chip = tpu_quad();
  chip.offchip.reset();
  StreamProblem p;
  EXPECT_NE(add_stream_network(chip, p), "");
  chip = tpu_quad();
  chip.cores[6].memories[0].slots = {hardware::Slot::Input};
  StreamProblem q;
  EXPECT_NE(add_stream_network(chip, q), "");
}

}  // namespace
}  // namespace monet::schedule
