#include "monet/plan/default_groups.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <stdexcept>
#include <string>

#include "monet/graph/builder.h"
#include "monet/graph/order.h"
#include "monet/graph/storage.h"
#include "monet/hardware/library.h"
#include "monet/models/catalogue.h"
#include "monet/rewrite/decompose.h"
#include "monet/rewrite/precision.h"
#include "monet/training/train.h"

namespace monet::plan {
namespace {

Graph training(const std::string& model, std::int64_t batch) {
  return decompose(make_training(build_model(model, batch), {}).graph);
}

std::map<std::string, std::size_t> group_by_name(const Graph& graph, std::vector<ChosenGroup>* out = nullptr) {
  const Storage storage(graph);
  const std::vector<ChosenGroup> groups = default_groups(graph, facts_of(graph), predecessors(graph, storage));
  std::map<std::string, std::size_t> by_name;
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (const NodeId n : groups[g].nodes) by_name[graph[n].name] = g;
  if (out != nullptr) *out = groups;
  return by_name;
}

TEST(DefaultGroups, WhatWaitsForStatisticsOfABatchGoesWithTheNextConvolution) {
  std::vector<ChosenGroup> groups;
  const auto group = group_by_name(training("resnet18:image=32", 4), &groups);
  EXPECT_EQ(group.at("conv1"), group.at("bn1.statistics"));
  EXPECT_NE(group.at("conv1"), group.at("bn1.apply"));
  EXPECT_EQ(group.at("bn1.apply"), group.at("layer1.0.conv1"));
  EXPECT_EQ(group.at("layer1.0.bn1.act"), group.at("layer1.0.conv2"));
  EXPECT_EQ(groups[group.at("layer1.0.conv2")].order, Order::Overlapped);
  // Backwards: sums over the batch with what makes their input, the gradient that needs them with the next product.
  EXPECT_EQ(group.at("layer1.0.bn1.gradient.parameter_sums"), group.at("layer1.0.conv2.data_gradient"));
  EXPECT_EQ(group.at("layer1.0.bn1.gradient.input_gradient"), group.at("layer1.0.conv1.data_gradient"));
}

TEST(DefaultGroups, StatisticsOfOneImageAreNoBarrier) {
  const auto group = group_by_name(training("resnet18:image=32", 1));
  EXPECT_EQ(group.at("conv1"), group.at("bn1.apply"));
  EXPECT_NE(group.at("conv1"), group.at("layer1.0.conv1"));
}

TEST(DefaultGroups, SumsOfARowAreNoBarrier) {
  const Graph graph = training("gpt2-mini", 2);
  std::vector<ChosenGroup> groups;
  group_by_name(graph, &groups);
  const std::vector<Facts> facts = facts_of(graph);
  // A softmax is with the scores it is of: maximum, difference, exponential, sum and quotient.
  std::size_t whole = 0;
  for (const ChosenGroup& group : groups) {
    std::size_t reductions = 0, nests = 0;
    for (const NodeId n : group.nodes) {
      reductions +=
          facts[n.index()].kind == hardware::WorkClass::Reduction && graph[n].name.find("softmax") != std::string::npos
              ? 1
              : 0;
      nests += facts[n.index()].is_nest ? 1 : 0;
    }
    EXPECT_LE(nests, 1u);
    whole += reductions >= 2 && nests == 1 ? 1 : 0;
  }
  EXPECT_GT(whole, 0u);
}

TEST(DefaultGroups, FusedUpdatesShareNoGroupForTheNumbersTheyShare) {
  const Graph graph = decompose(make_training(build_model("mlp", 1), {.clip_norm = 1}).graph, {.fused_updates = true});
  std::vector<ChosenGroup> groups;
  const auto group = group_by_name(graph, &groups);
  EXPECT_EQ(groups[group.at("layers.1.weight.update")].nodes.size(), 1u);
  EXPECT_NE(group.at("layers.0.weight.update"), group.at("layers.2.weight.update"));
}

TEST(DefaultGroups, AStepMayHaveNoFirstOutput) {
  Builder b("mask");
  const TensorId x = b.source("x", {8, 16}, Format{}, Category::Input);
  const TensorId w = b.source("w", {16, 16}, Format{}, Category::Weight);
  const TensorId y = b.one(MatMul{}, {x, w}, "y");
  b.phase = Phase::Update;
  b.graph().outputs = b.add_wanted(Unary{UnaryKind::Relu}, {y}, "mask", {false, true});
  b.graph().outputs.erase(b.graph().outputs.begin());
  EXPECT_EQ(group_by_name(b.graph()).size(), 2u);
}

// Weights and states flow through the store: only the gradient, in f16, takes room. Half of 128 KiB holds not quite
// 2^15 elements of it beside the numbers that all updates share, so that 2^20 are cut into 2^6 parts.
TEST(DefaultCuts, GradientsOfFusedUpdatesFillHalfOfTheStore) {
  const Graph forward = set_precision(build_model("mlp:in=1024,hidden=1024,layers=1", 1), Element::F16);
  const Graph graph = decompose(make_training(forward, {}).graph, {.fused_updates = true});
  const Chip chip = chip_of(hardware::find_hardware("edge_tpu_hda").hardware);
  const Decided decided = decide(graph, facts_of(graph), chip, {});
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (graph.nodes[n].name != "layers.0.weight.update") continue;
    std::int64_t tiles = 1;
    for (const LoopSplit& split : decided.nodes[n].tiles) tiles *= split.parts;
    EXPECT_EQ(tiles, 64);
  }
}

TEST(DefaultGroups, EveryNodeOnceAndAfterWhatItWaitsFor) {
  for (const char* model : {"resnet18:image=32", "mobilenet_v2:image=32", "gpt2-mini", "mlp"}) {
    const Graph graph = training(model, 2);
    std::vector<ChosenGroup> groups;
    const auto group = group_by_name(graph, &groups);
    std::size_t nodes = 0;
    for (const ChosenGroup& g : groups) nodes += g.nodes.size();
    EXPECT_EQ(nodes, graph.nodes.size());
    EXPECT_EQ(group.size(), graph.nodes.size());
    const Storage storage(graph);
    const auto before = predecessors(graph, storage);
    for (std::size_t n = 0; n < graph.nodes.size(); ++n)
      for (const NodeId p : before[n]) EXPECT_LE(group.at(graph[p].name), group.at(graph.nodes[n].name));
  }
}

// Forward and backward cut an activation along the same axes: else it is in as many blocks as both together.
TEST(Defaults, ReadersOfATensorCutItInTheSamePlaces) {
  const Graph graph = training("resnet18", 8);
  const std::vector<Facts> facts = facts_of(graph);
  const Chip chip = chip_of(hardware::find_hardware("tpu_like_quad_core").hardware);
  const Decided decided = decide(graph, facts, chip, {});
  std::map<TensorId, std::vector<std::set<std::int64_t>>> cuts;
  double tiles = 0;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    double parts_of_node = 1;
    std::map<std::uint32_t, std::int64_t> parts;
    for (const auto* splits : {&decided.nodes[n].across, &decided.nodes[n].tiles})
      for (const LoopSplit& s : *splits) {
        parts.emplace(s.loop, 1).first->second *= s.parts;
        parts_of_node *= static_cast<double>(s.parts);
      }
    if (!decided.nodes[n].cores.empty()) tiles += parts_of_node;
    const auto add = [&](const std::vector<TensorId>& tensors, const std::vector<OperandFacts>& operands) {
      for (std::size_t i = 0; i < tensors.size(); ++i) {
        if (tensors[i] == kNoTensor) continue;
        const Shape& shape = graph[tensors[i]].shape;
        auto& planes = cuts[tensors[i]];
        planes.resize(shape.size());
        for (const auto& [loop, count] : parts)
          if (const int axis = operands[i].axes[loop]; axis >= 0)
            for (std::int64_t k = 1; k < count; ++k)
              planes[static_cast<std::size_t>(axis)].insert(
                  part_of({0, shape[static_cast<std::size_t>(axis)]}, count, k).begin);
      }
    };
    add(graph.nodes[n].inputs, facts[n].inputs);
    add(graph.nodes[n].outputs, facts[n].outputs);
  }
  double blocks = 0;
  for (const auto& [tensor, planes] : cuts) {
    double cells = 1;
    for (const auto& axis : planes) cells *= static_cast<double>(axis.size() + 1);
    blocks += cells;
  }
  EXPECT_LT(blocks, 3 * tiles);
}

struct Decisions {
  Graph graph;
  std::vector<Facts> facts = facts_of(graph);
  Chip chip;
  Decided decided = decide(graph, facts, chip, {});
  std::size_t at(const std::string& name) const {
    for (std::size_t n = 0; n < graph.nodes.size(); ++n)
      if (graph.nodes[n].name == name) return n;
    throw std::out_of_range(name);
  }
  std::int64_t parts(const std::string& name, const std::string& loop) const {
    const std::size_t n = at(name);
    std::size_t l = 0;
    while (facts[n].loops.at(l).name != loop) ++l;
    return parts_of(decided.nodes[n].across, l) * parts_of(decided.nodes[n].tiles, l);
  }
};

// Where others do the vector work that comes next, work on many cores is in parts as it is, if it does not take long.
TEST(Defaults, ManyCoresHaveFewTilesEach) {
  struct Case {
    const char *chip, *x_pes;
    std::int64_t batch, tiles;
  };
  // 115,605,504 multiply-adds a sample; edge_tpu_hda has x_pes times 4 cores of 256 lanes. Cores of ascend_910 have
  // vector units of their own.
  for (const Case& c :
       {Case{"edge_tpu_hda", "1", 1, 4}, Case{"edge_tpu_hda", "2", 1, 2}, Case{"edge_tpu_hda", "4", 1, 1},
        Case{"edge_tpu_hda", "4", 2, 1}, Case{"edge_tpu_hda", "4", 8, 4}, Case{"ascend_910", "", 32, 4}}) {
    SCOPED_TRACE(std::string(c.chip) + " " + c.x_pes + " " + std::to_string(c.batch));
    hardware::LoadOptions options;
    if (*c.x_pes != 0) options.parameters = {{"x_pes", c.x_pes}};
    const Decisions d{.graph = training("resnet18", c.batch),
                      .chip = chip_of(hardware::find_hardware(c.chip, options).hardware)};
    std::int64_t count = 1;
    for (const LoopSplit& split : d.decided.nodes[d.at("layer3.0.conv2")].tiles) count *= split.parts;
    EXPECT_EQ(count, c.tiles);
  }
}

// A table is neither fetched for a few of its rows nor is its gradient cut into columns, and what updates it goes along
// with the gradient.
TEST(Defaults, EmbeddingsAreCutIntoRows) {
  const Decisions d{.graph = training("gpt2:seq=32", 1),
                    .chip = chip_of(hardware::find_hardware("ascend_910").hardware)};
  const std::size_t lookup = d.at("transformer.wte");
  EXPECT_TRUE(d.facts[lookup].inputs[0].is_looked_up);
  EXPECT_FALSE(d.facts[lookup].inputs[1].is_looked_up);
  EXPECT_EQ(d.parts("transformer.wte.gradient", "A1"), 1);
  EXPECT_GT(d.parts("transformer.wte.gradient", "A0"), 1);
  const NodeChoice& with_gradient = d.decided.nodes[d.at("transformer.wte.weight.update.m_add")];
  for (const char* state : {"m_old", "v_old", "weight"})
    EXPECT_EQ(d.decided.nodes[d.at(std::string("transformer.wte.weight.update.") + state)], with_gradient) << state;
}

// 768 columns are 12 heads of 64 on the other side of a view: a part of 24 of them would cut each head into blocks
// of 8.
TEST(Defaults, HeadsAreCutWhereTheyBegin) {
  const Decisions d{.graph = training("bert-base:seq=128", 128),
                    .chip = chip_of(hardware::find_hardware("ascend_910").hardware)};
  for (const char* which : {"query", "key", "value"}) {
    const std::string name = std::string("encoder.layer.3.attention.self.") + which;
    const std::int64_t columns = 768 / d.parts(name + ".c_gradient", "A0");
    EXPECT_TRUE(columns % 64 == 0 || 64 % columns == 0) << columns;
    const std::int64_t rows = 768 / d.parts(name + ".b_gradient", "D");
    EXPECT_TRUE(rows % 64 == 0 || 64 % rows == 0) << rows;
  }
}

}  // namespace
}  // namespace monet::plan
