#include "monet/plan/lanes.h"

#include <gtest/gtest.h>

#include "monet/base/diagnostic.h"
#include "monet/graph/builder.h"
#include "monet/hardware/library.h"
#include "monet/hardware/load.h"
#include "monet/schedule/evaluation.h"

namespace monet::plan {
namespace {

constexpr Format kHalf{Element::F16};

// Scores and what a row of them adds up to, on the array of FuseMax: 256 x 256 lanes with 16 words of results each.
class Lanes : public testing::Test {
 protected:
  Lanes() {
    Builder b("g");
    const TensorId q = b.source("q", {512, 64}, kHalf, Category::Input),
                   k = b.source("k", {256, 64}, kHalf, Category::Input);
    const TensorId s = b.one(MatMul{.trans_b = true}, {q, k}, "scores");
    b.graph().outputs = {b.one(Reduce{.kind = ReduceKind::Max, .axes = {1}, .keep = true}, {s}, "max")};
    graph_ = std::move(b).finish();
    facts_ = facts_of(graph_);
    hardware_ = hardware::find_hardware("fusemax").hardware;
    chip_ = chip_of(hardware_);
    plan_ = {.groups = {{.nodes = {"scores", "max"}, .order = Order::Interleaved}},
             .nodes = {{.node = "scores", .cores = {"array"}, .tiles = {{"D", 2}}, .at_lanes = true},
                       {.node = "max", .cores = {"array"}, .tiles = {{"A0", 2}}}}};
  }

  schedule::Evaluation evaluated() {
    const Decided decided = decide(graph_, facts_, chip_, plan_);
    add_lane_stores(chip_, decided);
    const Storage storage(graph_);
    auto outcome = schedule::evaluate({.graph = graph_,
                                       .storage = storage,
                                       .facts = facts_,
                                       .chip = chip_,
                                       .hardware = hardware_,
                                       .decided = decided});
    return std::move(std::get<schedule::Evaluation>(outcome));
  }
  std::string refusal() {
    try {
      decide(graph_, facts_, chip_, plan_);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  }

  Graph graph_;
  std::vector<Facts> facts_;
  hardware::Hardware hardware_;
  Chip chip_;
  Plan plan_;
};

TEST_F(Lanes, WhatStaysPassesThroughNoMemory) {
  const schedule::Evaluation kept = evaluated();
  const std::size_t stores = chip_.machine.stores.size();
  EXPECT_EQ(chip_.machine.stores.back().name, "array.lanes");
  EXPECT_EQ(chip_.machine.stores.back().bytes, 256 * 256 * 16 * 2);
  EXPECT_EQ(kept.stores.back().peak_bytes, 256 * 256 * 2);
  // 64 steps and the first operands; 65,536 comparisons on as many lanes.
  EXPECT_EQ(kept.tiled.kinds[kept.tiled.tiles[0].kind].cost.cycles, 65);
  EXPECT_EQ(kept.tiled.kinds[kept.tiled.tiles[1].kind].cost.cycles, 1);
  plan_.nodes[0].at_lanes = false;
  const schedule::Evaluation stored = evaluated();
  EXPECT_EQ(chip_.machine.stores.size(), stores);
  // A row of 256 scores a cycle into the buffer, and out of it.
  EXPECT_GE(stored.tiled.kinds[stored.tiled.tiles[0].kind].cost.cycles, 256);
  EXPECT_EQ(stored.tiled.kinds[stored.tiled.tiles[1].kind].cost.cycles, 256);
  EXPECT_EQ(kept.stores[0].bytes_out, stored.stores[0].bytes_out);
  EXPECT_LT(kept.energy.memory.at("buffer"), stored.energy.memory.at("buffer"));
}

TEST_F(Lanes, ReadersElsewhereAreRefused) {
  plan_.nodes[1].cores = {"vector"};
  EXPECT_NE(refusal().find("'max', which reads it, is not on the same core"), std::string::npos) << refusal();
}

TEST_F(Lanes, ReadersInAnotherGroupAreRefused) {
  plan_.groups = {{.nodes = {"scores"}}, {.nodes = {"max"}}};
  EXPECT_NE(refusal().find("in the same group"), std::string::npos) << refusal();
}

TEST_F(Lanes, OutputsAreRefused) {
  plan_.nodes[1].at_lanes = true;
  EXPECT_NE(refusal().find("an output of the graph"), std::string::npos) << refusal();
}

TEST_F(Lanes, CoresWithoutAnArrayAreRefused) {
  plan_.nodes = {{.node = "scores", .cores = {"array"}}, {.node = "max", .cores = {"vector"}, .at_lanes = true}};
  EXPECT_NE(refusal().find("no registers for results"), std::string::npos) << refusal();
}

TEST_F(Lanes, TilesLargerThanTheRegistersAreRefused) {
  for (hardware::Memory& memory : chip_.cores[0].core.memories)
    if (memory.name == "sums") memory.size_bits = 16;
  EXPECT_EQ(refusal(), "");
  plan_.nodes[0].tiles = {};
  plan_.nodes[0].tiles = {{"D", 1}};
  EXPECT_NE(refusal().find("262144 B > 131072 B of registers"), std::string::npos) << refusal();
}

}  // namespace
}  // namespace monet::plan
