#include "monet/plan/facts.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "monet/graph/saved.h"
#include "monet/hardware/library.h"
#include "monet/models/catalogue.h"
#include "monet/plan/decide.h"
#include "monet/rewrite/decompose.h"
#include "monet/rewrite/recompute.h"
#include "monet/training/train.h"

namespace monet::plan {
namespace {

Graph training() { return make_training(build_model("resnet18:image=32", 2), {}).graph; }

// All saved activations that a node makes are rebuilt, or wait in a narrower format.
Graph rewritten(const Graph& graph, bool narrows) {
  const Uses u = uses(graph);
  std::vector<Dropped> dropped;
  for (const TensorId t : saved_activations(graph))
    if (u.producer[t.index()] != kNoNode && graph[t].format.element == Element::F32)
      dropped.push_back({.tensor = t, .narrow = narrows ? std::optional(Element::F16) : std::nullopt});
  return recompute(graph, dropped);
}

void expect_same(const Facts& a, const Facts& b, const std::string& node) {
  EXPECT_EQ(a.loops, b.loops) << node;
  EXPECT_EQ(a.kind, b.kind) << node;
  EXPECT_EQ(a.is_nest, b.is_nest) << node;
  EXPECT_EQ(a.is_view, b.is_view) << node;
  EXPECT_EQ(a.operations, b.operations) << node;
  EXPECT_EQ(a.moved_bits, b.moved_bits) << node;
  for (const auto operands : {&Facts::inputs, &Facts::outputs}) {
    ASSERT_EQ((a.*operands).size(), (b.*operands).size()) << node;
    for (std::size_t i = 0; i < (a.*operands).size(); ++i) {
      const OperandFacts &x = (a.*operands)[i], &y = (b.*operands)[i];
      EXPECT_EQ(x.is_there, y.is_there) << node;
      EXPECT_EQ(x.is_read, y.is_read) << node;
      EXPECT_EQ(x.is_looked_up, y.is_looked_up) << node;
      EXPECT_EQ(x.slot, y.slot) << node;
      EXPECT_EQ(x.bits, y.bits) << node;
      EXPECT_EQ(x.sum_bits, y.sum_bits) << node;
      EXPECT_EQ(x.moves_with, y.moves_with) << node;
      EXPECT_EQ(x.axes, y.axes) << node;
    }
  }
}

TEST(Facts, ThoseFoundAmongKnownOnesAreThoseOfTheNodeAlone) {
  const Graph graph = training();
  const KnownFacts known(decompose(graph));
  for (const bool narrows : {false, true}) {
    const Graph other = decompose(rewritten(graph, narrows));
    ASSERT_GT(other.nodes.size(), known.size());
    const std::vector<Facts> facts = facts_of(other, known);
    ASSERT_EQ(facts.size(), other.nodes.size());
    std::size_t casts = 0;
    for (std::size_t n = 0; n < facts.size(); ++n) {
      expect_same(facts[n], facts_of(other, other.nodes[n]), other.nodes[n].name);
      if (known.like(other, other.nodes[n]) != kNoNode) continue;
      // What rebuilds is like what it repeats, but that running statistics are left alone; what narrows is new.
      if (narrows && other.nodes[n].name.find(".statistics") == std::string::npos)
        ++casts;
      else
        EXPECT_NE(other.nodes[n].name.find(".recompute.statistics"), std::string::npos) << other.nodes[n].name;
    }
    EXPECT_EQ(casts > 0, narrows);
  }
}

TEST(Facts, TheFirstNodeAlikeStandsNoLaterAndHasTheSameFacts) {
  const Graph graph = decompose(training());
  const std::vector<Facts> facts = facts_of(graph), again = facts_of(graph, KnownFacts(graph));
  std::size_t repeated = 0;
  for (std::uint32_t n = 0; n < facts.size(); ++n) {
    const NodeId first = facts[n].first_alike;
    ASSERT_LE(first, NodeId{n});
    EXPECT_EQ(facts[first.index()].first_alike, first);
    EXPECT_EQ(again[n].first_alike, first);
    EXPECT_EQ(graph[first].op, graph.nodes[n].op);
    expect_same(facts[n], facts[first.index()], graph.nodes[n].name);
    repeated += first == NodeId{n} ? 0u : 1u;
  }
  EXPECT_GT(repeated, facts.size() / 2);  // updates of weights of one shape, blocks of one stage
}

// What nodes that are alike share while they are decided changes no decision.
TEST(Facts, DecisionsDoNotHangOnWhoIsAlike) {
  for (const char* name : {"fusemax", "tpu_like_quad_core"}) {
    const Chip chip = chip_of(hardware::find_hardware(name).hardware);
    for (const bool fused : {false, true}) {
      const Graph graph = decompose(rewritten(training(), false), {.fused_updates = fused});
      std::vector<Facts> facts = facts_of(graph);
      const Decided shared = decide(graph, facts, chip, {});
      for (Facts& f : facts) f.first_alike = kNoNode;
      const Decided alone = decide(graph, facts, chip, {});
      EXPECT_EQ(shared.groups, alone.groups) << name;
      for (std::size_t n = 0; n < graph.nodes.size(); ++n)
        EXPECT_EQ(shared.nodes[n], alone.nodes[n]) << name << ": " << graph.nodes[n].name;
    }
  }
}

// As equal as they can be, the first as long as any; of twice as many parts every second one begins where these do.
TEST(PartOf, CutsEquallyAndWhereDivisorsDo) {
  for (std::int64_t size = 1; size <= 40; ++size)
    for (std::int64_t parts = 1; parts <= 40; ++parts) {
      const Range whole{7, 7 + size};
      std::int64_t at = whole.begin, least = size, most = 0;
      for (std::int64_t i = 0; i < parts; ++i) {
        const Range part = part_of(whole, parts, i);
        ASSERT_EQ(part.begin, at) << size << " in " << parts;
        at = part.end;
        least = std::min(least, part.size());
        most = std::max(most, part.size());
        for (const std::int64_t finer : {2, 3})
          ASSERT_EQ(part_of(whole, finer * parts, finer * i).begin, part.begin) << size << " in " << parts;
      }
      ASSERT_EQ(at, whole.end);
      ASSERT_LE(most - least, 1);
      ASSERT_EQ(part_of(whole, parts, 0).size(), most);
    }
}

}  // namespace
}  // namespace monet::plan
