// Does the scheduler do what the rules of docs/stream.md say? Small cases worked out by hand; whole schedules that
// Stream made are compared by `monet validate stream`.
#include "monet/schedule/stream.h"

#include <gtest/gtest.h>

namespace monet::schedule {
namespace {

constexpr std::uint32_t kInput = 0, kWeight = 1, kOutput = 2;

// Two cores and an off-chip memory, 8 bits a cycle between any two; tiles of a chain of layers, each with a weight.
class StreamChain {
 public:
  explicit StreamChain(std::int64_t core_bits) {
    p.slots = {"I1", "I2", "O"};
    p.operands = {"I", "W", "O"};
    p.dimensions = {"OY"};
    p.output_slot = kOutput;
    for (std::int64_t c = 0; c < 3; ++c) {
      const bool is_dram = c == 2;
      p.memories.push_back({.name = is_dram ? "dram" : "sram",
                            .size = is_dram ? 1'000'000 : core_bits,
                            .slots = {0, 1, 2},
                            .read_pj = is_dram ? 100.0 : 1.0,
                            .write_pj = is_dram ? 200.0 : 2.0,
                            .min_bits = 8,
                            .max_bits = 8});
      p.cores.push_back({.id = c, .memories = {static_cast<std::uint32_t>(c)}});
    }
    p.offchip = 2;
    p.links = {{8, 0.5}, {8, 0.5}, {8, 0.5}};  // core 0 - core 1, core 0 - dram, core 1 - dram
    p.paths.assign(3, std::vector<std::vector<std::uint32_t>>(3));
    const auto connect = [&](std::size_t a, std::size_t b, std::uint32_t link) {
      p.paths[a][b] = p.paths[b][a] = {link};
    };
    connect(0, 1, 0);
    connect(0, 2, 1);
    connect(1, 2, 2);
  }

  // A tile that reads the last one's output, or its own input, and weights of 80 bits.
  void add(std::uint32_t core, double runtime, std::int64_t output_bits, std::int64_t weight_bits = 80) {
    const auto tile = static_cast<std::uint32_t>(p.tiles.size());
    const auto tensor = [&](std::uint32_t operand, std::int64_t bits, std::optional<std::int64_t> uses) {
      const auto index = static_cast<std::uint32_t>(p.tensors.size());
      p.tensors.push_back({.owner = tile,
                           .operand = operand,
                           .content = index,
                           .bits = bits,
                           .dimensions = {0},
                           .ranges = {{0, 4}},
                           .base_priority = uses});
      return index;
    };
    StreamTile t{.layer = tile, .core = core, .is_final = true, .runtime = runtime, .onchip_pj = 10};
    const bool is_first = tile == 0;
    const std::int64_t input_bits = is_first ? 160 : p.tensors[p.tiles.back().operands[2].tensor].bits;
    t.operands.push_back({kInput, kInput,
                          tensor(kInput, input_bits, is_first ? std::optional<std::int64_t>(1) : std::nullopt),
                          is_first});
    t.operands.push_back({kWeight, kWeight, tensor(kWeight, weight_bits, 1), true});
    t.operands.push_back({kOutput, kOutput, tensor(kOutput, output_bits, std::nullopt), false});
    if (is_first) t.constants.push_back(0);
    t.constants.push_back(1);
    t.output = 2;
    if (!is_first) p.edges.push_back({tile - 1, tile, kInput});
    p.order.push_back(tile);
    p.tiles.push_back(std::move(t));
  }

  StreamProblem p;
};

TEST(Stream, BringsWhatATileNeedsBeforeItRuns) {
  StreamChain chain(10'000);
  chain.add(0, 100, 240);
  const StreamResult r = run_stream(chain.p);
  ASSERT_EQ(r.failure, "");
  // 160 bits and 80 bits at 8 a cycle, one after the other; they may start before cycle 0, by as much as they take.
  ASSERT_EQ(r.events.size(), 3u);
  EXPECT_EQ(r.events[0].start, 0);
  EXPECT_EQ(r.events[0].end, 20);
  EXPECT_EQ(r.events[1].end, 30);
  EXPECT_EQ(r.start[0], 30);
  EXPECT_EQ(r.end[0], 130);
  // A layer nobody reads is written back: 240 bits.
  EXPECT_EQ(r.events[2].start, 130);
  EXPECT_EQ(r.latency, 160);
  EXPECT_EQ(r.onchip_pj, 10);
  // 20 + 10 words down, 30 up.
  EXPECT_DOUBLE_EQ(r.memory_pj[0], 30 * (100 + 2));
  EXPECT_DOUBLE_EQ(r.memory_pj[2], 30 * (200 + 1));
  EXPECT_DOUBLE_EQ(r.link_pj[0], 30 * 0.5);
  EXPECT_DOUBLE_EQ(r.energy_pj, 10 + 30 * 102 + 30 * 201 + 60 * 0.5);
  EXPECT_EQ(r.peak_bits[0], 160 + 80 + 240);
}

TEST(Stream, SendsOutputsFromCoreToCore) {
  StreamChain chain(10'000);
  chain.add(0, 100, 240);
  chain.add(1, 50, 80);
  const StreamResult r = run_stream(chain.p);
  ASSERT_EQ(r.failure, "");
  // The second layer begins where the first one's tiles all come before: every core waits for the latest (a barrier).
  // Its weights were on their way: 130 - (30 + 10) cycles.
  EXPECT_EQ(r.end[0], 130);
  EXPECT_EQ(r.start[1], 160);
  EXPECT_EQ(r.end[1], 210);
  EXPECT_DOUBLE_EQ(r.memory_pj[3], 30 * (1 + 2));
  double weights = 0;
  for (const StreamEvent& e : r.events)
    if (e.owner == 1 && e.operand == kWeight) weights = e.start;
  EXPECT_EQ(weights, 90);
}

TEST(Stream, EvictsWhatIsNeededLeastAndSavesItFirst) {
  StreamChain chain(700);
  chain.add(0, 10, 400);
  chain.add(1, 10, 80);
  chain.add(0, 10, 80, 500);  // its weights do not fit beside the first tile's output
  // The first output is read again by a fourth tile.
  chain.add(1, 10, 80);
  chain.p.edges.push_back({0, 3, kInput});
  const StreamResult r = run_stream(chain.p);
  ASSERT_EQ(r.failure, "");
  bool was_saved = false;
  for (const StreamEvent& e : r.events) was_saved = was_saved || (e.owner == 0 && e.operand == kOutput && e.to == 2);
  EXPECT_TRUE(was_saved);
  EXPECT_GT(r.memory_pj[1], 0);
  EXPECT_LE(r.peak_bits[0], 700);
}

TEST(Stream, SaysWhyThereIsNoSchedule) {
  StreamChain chain(300);
  chain.add(0, 100, 400);
  EXPECT_EQ(run_stream(chain.p).failure, "tensor O of tile 0 of layer 0 (400 bits) is larger than sram (300 bits)");
  StreamChain circle(10'000);
  circle.add(0, 100, 80);
  circle.add(0, 100, 80);
  circle.p.edges.push_back({1, 0, kInput});
  EXPECT_EQ(run_stream(circle.p).failure, "the tiles wait for each other in a circle");
}

}  // namespace
}  // namespace monet::schedule
