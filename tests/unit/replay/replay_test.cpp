#include "monet/replay/replay.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "monet/hardware/load.h"
#include "monet/interpret/run.h"
#include "monet/models/layers.h"
#include "monet/plan/decide.h"
#include "monet/rewrite/decompose.h"
#include "monet/training/train.h"

namespace monet::replay {
namespace {

using namespace schedule;

// Two cores whose buffers hold about a third of the activations.
constexpr const char* kChip = R"(
monet: hardware
name: two_cores
node: 28 nm
clock: 100 MHz
cores:
  core:
    count: 2
    array: {dimensions: {D1: 4, D2: 4}, mac_energy: 0.5 pJ}
    vector: {lanes: 4, functions: {any: {cycles: 1, energy: 0.3 pJ}}}
    memories:
      registers: {kind: register, size_bits: 32, holds: [weight], serves: [], bits_per_cycle: 32, read_energy: 0.1 pJ, write_energy: 0.1 pJ}
      buffer: {kind: sram, size: 3 KiB, holds: all, bits_per_cycle: 64, read_energy: 1.5 pJ, write_energy: 2 pJ}
  dram:
    memories:
      dram: {kind: dram, size: 1 MiB, holds: all, bits_per_cycle: 64, read_energy: 50 pJ, write_energy: 60 pJ}
offchip: dram
links:
  - {bus: all, bits_per_cycle: 64, energy: 0.1 pJ/bit}
)";

Graph two_convolutions(bool fuses_updates) {
  Builder b("two");
  const TensorId x = b.source("x", {2, 3, 9, 8}, Format{}, Category::Input);
  const TensorId first = models::conv(b, "first", x, {.channels = 4, .kernel = 3});
  const TensorId positive = b.unary(UnaryKind::Relu, first, "positive");
  const TensorId second = models::conv(b, "second", positive, {.channels = 3, .kernel = 3, .stride = 2});
  const TensorId mean = models::spatial_mean(b, second, "mean");
  b.graph().outputs = {models::linear(b, "classes", mean, 3)};
  TrainingOptions options;
  options.optimizer = parse_optimizer("momentum");
  return decompose(make_training(std::move(b).finish(), options).graph, {.fused_updates = fuses_updates});
}

// Rows with halos on two cores, a sum over samples shared by both, another one in parts.
plan::Plan a_plan() {
  return {.groups = {{.nodes = {"first", "positive", "second"}}},
          .nodes = {{.node = "first", .cores = {"core_0", "core_1"}, .across = {{"OY", 2}}, .tiles = {{"OY", 2}}},
                    {.node = "positive", .cores = {"core_0"}, .tiles = {{"A2", 3}}},
                    {.node = "second", .cores = {"core_1", "core_0"}, .across = {{"OY", 2}}, .tiles = {{"C", 2}}},
                    {.node = "first.weight_gradient", .cores = {"core_0", "core_1"}, .across = {{"B", 2}}},
                    {.node = "second.weight_gradient", .cores = {"core_1"}, .tiles = {{"B", 2}}}}};
}

class ReplayTest : public testing::Test {
 protected:
  explicit ReplayTest(bool fuses_updates = false)
      : graph_(two_convolutions(fuses_updates)),
        storage_(graph_),
        facts_(plan::facts_of(graph_)),
        hardware_(hardware::parse_hardware(kChip, "two_cores.yaml").hardware),
        chip_(plan::chip_of(hardware_)),
        decided_(decide(graph_, facts_, chip_, a_plan())),
        sources_(initial_values<double>(graph_, 1)),
        wanted_(run<double>(graph_, sources_)) {
    tiled_ = std::get<Tiled>(tile({.graph = graph_,
                                   .storage = storage_,
                                   .facts = facts_,
                                   .chip = chip_,
                                   .hardware = hardware_,
                                   .decided = decided_}));
    timeline_ = std::get<Timeline>(schedule::schedule(tiled_.problem));
  }

  Replayed carry_out() const { return replay(graph_, storage_, facts_, tiled_, timeline_, sources_); }

  // Whether something is found to be wrong with the schedule as it is now.
  bool is_caught() const {
    const Replayed got = carry_out();
    return !got.faults.empty() || !agrees(got);
  }
  bool agrees(const Replayed& got) const {
    for (const auto& [name, value] : wanted_) {
      const auto at = got.values.find(name);
      if (at == got.values.end()) return false;
      for (std::size_t i = 0; i < value.data.size(); ++i)
        if (!(std::abs(at->second.data[i] - value.data[i]) <= 1e-9)) return false;
    }
    return true;
  }
  std::int64_t bytes(const Stay& s) const { return tiled_.problem.blocks[s.block.index()].bytes; }
  bool is_on_chip(const Stay& s) const { return s.store != tiled_.problem.machine.home; }
  bool overlap(const Stay& a, const Stay& b) const {
    return a.store == b.store && a.from < b.to && b.from < a.to && a.address < b.address + bytes(b) &&
           b.address < a.address + bytes(a);
  }

  Graph graph_;
  Storage storage_;
  std::vector<plan::Facts> facts_;
  hardware::Hardware hardware_;
  plan::Chip chip_;
  plan::Decided decided_;
  Values<double> sources_, wanted_;
  Tiled tiled_;
  Timeline timeline_;
};

TEST_F(ReplayTest, ComputesWhatTheInterpreterComputes) {
  const Replayed got = carry_out();
  for (const Fault& fault : got.faults) ADD_FAILURE() << fault.time << ": " << fault.what;
  EXPECT_TRUE(agrees(got));
  EXPECT_EQ(got.tiles, tiled_.tiles.size());
  EXPECT_EQ(got.transfers, timeline_.transfers.size());
  // What the tests below rely on.
  EXPECT_TRUE(std::any_of(timeline_.transfers.begin(), timeline_.transfers.end(),
                          [](const Transfer& x) { return x.purpose == Purpose::Spill; }));
  EXPECT_TRUE(
      std::any_of(tiled_.tiles.begin(), tiled_.tiles.end(), [](const TileInfo& t) { return t.is_combination; }));
  EXPECT_TRUE(std::any_of(tiled_.tiles.begin(), tiled_.tiles.end(), [](const TileInfo& t) { return !t.is_first; }));
}

class FusedUpdates : public ReplayTest {
 protected:
  FusedUpdates() : ReplayTest(true) {}
};

TEST_F(FusedUpdates, ComputeWhatTheInterpreterComputesWhileStatesFlow) {
  const Replayed got = carry_out();
  for (const Fault& fault : got.faults) ADD_FAILURE() << fault.time << ": " << fault.what;
  EXPECT_TRUE(agrees(got));
  std::vector<bool> flows(graph_.tensors.size(), false);
  for (const Flow& flow : tiled_.problem.flows) flows[tiled_.blocks[flow.block.index()].tensor.index()] = true;
  std::size_t states = 0;
  for (const Node& node : graph_.nodes)
    if (std::holds_alternative<Steps>(node.op))
      for (const TensorId t : node.outputs) {
        EXPECT_TRUE(flows[storage_.root(t).index()]) << graph_[t].name;
        ++states;
      }
  EXPECT_GE(states, 8u);  // two convolutions, a layer and its bias, each with a state
}

TEST_F(ReplayTest, KeepsWhatTilesMakeIfAsked) {
  const TensorId gradient = tensor_named(graph_, "first.weight_gradient");
  const TensorId inner = tensor_named(graph_, "positive");
  ASSERT_NE(gradient, kNoTensor);
  ASSERT_NE(inner, kNoTensor);
  const Replayed got = replay(graph_, storage_, facts_, tiled_, timeline_, sources_, {.keep = {gradient, inner}});
  const Values<double> all = run<double>(graph_, sources_, {.step = 0, .keep = {gradient, inner}});
  EXPECT_EQ(got.values.at("positive"), all.at("positive"));
  const Array<double>&a = got.values.at("first.weight_gradient"), &b = all.at("first.weight_gradient");
  ASSERT_EQ(a.shape, b.shape);
  for (std::size_t i = 0; i < a.data.size(); ++i) EXPECT_NEAR(a.data[i], b.data[i], 1e-12);
}

TEST_F(ReplayTest, FindsEveryPlaceThatReachesIntoAnother) {
  std::size_t tried = 0;
  for (std::size_t i = 0; i < timeline_.stays.size() && tried < 150; ++i) {
    Stay& stay = timeline_.stays[i];
    const Stay right = stay;
    stay.address += stay.address > 0 ? -1 : 1;
    const bool clashes = std::any_of(timeline_.stays.begin(), timeline_.stays.end(),
                                     [&](const Stay& other) { return &other != &stay && overlap(stay, other); });
    if (is_on_chip(stay) && clashes) {
      ++tried;
      EXPECT_TRUE(is_caught()) << "place " << i;
    }
    stay = right;
  }
  EXPECT_GT(tried, 20u);
}

TEST_F(ReplayTest, FindsPlacesOutsideOfTheirStore) {
  Stay& stay = timeline_.stays[timeline_.use_stays[0]];
  const Stay right = stay;
  stay.address = -1;
  EXPECT_TRUE(is_caught());
  stay.address = tiled_.problem.machine.stores[right.store.index()].bytes - bytes(right) + 1;
  EXPECT_TRUE(is_caught());
}

TEST_F(ReplayTest, FindsEveryPlaceThatIsLeftTooEarlyOrTakenTooLate) {
  std::size_t tried = 0;
  for (std::size_t i = 0; i < timeline_.stays.size() && tried < 150; ++i) {
    Stay& stay = timeline_.stays[i];
    if (!is_on_chip(stay) || stay.to <= stay.from) continue;
    const Stay right = stay;
    ++tried;
    stay.to = std::max(right.from, right.to - 1);
    EXPECT_TRUE(is_caught()) << "place " << i << " left early";
    stay = right;
    stay.from = std::min(right.to, right.from + 1);
    EXPECT_TRUE(is_caught()) << "place " << i << " taken late";
    stay = right;
  }
  EXPECT_GT(tried, 20u);
}

TEST_F(ReplayTest, FindsEveryTransferThatIsLeftOut) {
  const Timeline right = timeline_;
  std::size_t tried = 0;
  for (std::size_t i = 0; i < right.transfers.size() && tried < 150; ++i, ++tried) {
    timeline_.transfers.erase(timeline_.transfers.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_TRUE(is_caught()) << "transfer " << i << " of '"
                             << graph_[tiled_.blocks[right.transfers[i].block.index()].tensor].name << "'";
    timeline_ = right;
  }
  EXPECT_GT(tried, 20u);
}

// The tile before, on which it waits, and the tile itself change places in time.
TEST_F(ReplayTest, FindsEveryTileThatRunsBeforeItsInputsAreThere) {
  const Problem& p = tiled_.problem;
  std::vector<std::uint32_t> writer(p.blocks.size(), 0xffffffff);
  std::size_t tried = 0;
  for (std::uint32_t i = 0; i < p.tiles.size() && tried < 100; ++i) {
    for (std::uint32_t k = p.tiles[i].first_use; k < p.tiles[i].first_use + p.tiles[i].uses; ++k) {
      const Use& use = p.uses[k];
      const std::uint32_t before = writer[use.block.index()];
      if (use.access != Access::Write && before != 0xffffffff && before != i) {
        ++tried;
        std::swap(timeline_.tiles[before], timeline_.tiles[i]);
        EXPECT_TRUE(is_caught()) << "tiles " << before << " and " << i;
        std::swap(timeline_.tiles[before], timeline_.tiles[i]);
      }
      if (use.access != Access::Read) writer[use.block.index()] = i;
    }
  }
  EXPECT_GT(tried, 20u);
}

// Two tiles of a node that do each other's work.
TEST_F(ReplayTest, FindsTilesOfOtherBoxes) {
  std::size_t tried = 0;
  for (std::size_t i = 0; i + 1 < tiled_.tiles.size(); ++i) {
    TileInfo &a = tiled_.tiles[i], &b = tiled_.tiles[i + 1];
    if (a.node != b.node || a.is_combination || b.is_combination) continue;
    ++tried;
    std::swap(a.first_range, b.first_range);
    EXPECT_TRUE(is_caught()) << "tiles " << i << " and " << i + 1 << " of " << graph_[a.node].name;
    std::swap(a.first_range, b.first_range);
  }
  EXPECT_GT(tried, 5u);
}

// A block that a tile reads, such as a halo, is not among those it has.
TEST_F(ReplayTest, FindsEveryBlockThatATileLacks) {
  Problem& p = tiled_.problem;
  std::size_t tried = 0;
  for (const Tile& tile : p.tiles)
    for (std::uint32_t k = tile.first_use; k < tile.first_use + tile.uses && tried < 200; ++k) {
      if (p.uses[k].access != Access::Read || tile.uses < 2) continue;
      const std::uint32_t other = k == tile.first_use ? k + 1 : tile.first_use;
      const Use right = p.uses[k];
      const std::uint32_t place = timeline_.use_stays[k];
      if (p.uses[other].access != Access::Read) continue;
      ++tried;
      p.uses[k] = p.uses[other];
      timeline_.use_stays[k] = timeline_.use_stays[other];
      EXPECT_TRUE(is_caught()) << "use " << k;
      p.uses[k] = right;
      timeline_.use_stays[k] = place;
    }
  EXPECT_GT(tried, 20u);
}

TEST_F(ReplayTest, FindsSumsThatAreTakenTwiceOrLeftOut) {
  Problem& p = tiled_.problem;
  std::size_t tried = 0;
  for (std::size_t i = 0; i < p.tiles.size(); ++i) {
    if (!tiled_.tiles[i].is_combination) continue;
    const std::uint32_t k = p.tiles[i].first_use;
    ASSERT_GE(p.tiles[i].uses, 3u);
    std::vector<std::uint32_t> sums;
    for (std::uint32_t u = k; u < k + p.tiles[i].uses; ++u)
      if (tiled_.blocks[p.uses[u].block.index()].is_sum) sums.push_back(u);
    ASSERT_EQ(sums.size(), 2u);
    const Use right = p.uses[sums[1]];
    const std::uint32_t place = timeline_.use_stays[sums[1]];
    p.uses[sums[1]] = p.uses[sums[0]];
    timeline_.use_stays[sums[1]] = timeline_.use_stays[sums[0]];
    EXPECT_TRUE(is_caught());
    p.uses[sums[1]] = right;
    timeline_.use_stays[sums[1]] = place;
    ++tried;
  }
  for (TileInfo& info : tiled_.tiles)
    if (!info.is_first) {
      info.is_first = true;  // forgets what was summed up
      EXPECT_TRUE(is_caught());
      info.is_first = false;
      ++tried;
    }
  EXPECT_GT(tried, 2u);
}

TEST_F(ReplayTest, SaysWhatWasWrongOnceAndNotWhatFollowsFromIt) {
  // The first transfer of the iteration brings a source.
  Transfer& first = timeline_.transfers[0];
  ASSERT_EQ(first.from, tiled_.problem.machine.home);
  const std::string tensor = graph_[tiled_.blocks[first.block.index()].tensor].name;
  timeline_.stays[first.from_stay].from = first.start + 1;
  const Replayed got = carry_out();
  ASSERT_FALSE(got.faults.empty());
  EXPECT_NE(got.faults[0].what.find("'" + tensor + "'"), std::string::npos) << got.faults[0].what;
  EXPECT_LE(got.faults.size(), 3u) << got.faults.back().what;
}

TEST_F(ReplayTest, AsksForEverySource) {
  sources_.erase("x");
  EXPECT_THROW(carry_out(), ValueError);
}

}  // namespace
}  // namespace monet::replay
