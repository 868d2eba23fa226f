#include "monet/search/placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>

#include "monet/hardware/library.h"
#include "monet/models/catalogue.h"
#include "monet/rewrite/decompose.h"
#include "monet/search/placement_model.h"
#include "monet/search/placement_search.h"
#include "monet/training/train.h"

namespace monet::search {
namespace {

double latency(const Figures& f) { return f.latency_cycles; }
double energy(const Figures& f) { return f.energy_pj; }
double edp(const Figures& f) { return f.latency_cycles * f.energy_pj; }

// A model on a chip of the library, its groups by default.
class Case {
 public:
  Case(const char* chip, const char* model, bool is_training, plan::Plan plan = {})
      : hardware_(hardware::find_hardware(chip).hardware),
        chip_(plan::chip_of(hardware_)),
        subject_(decompose(is_training
                               ? make_training(build_model(model, 1), {.optimizer = parse_optimizer("sgd")}).graph
                               : build_model(model, 1))),
        placement_({chip_, hardware_, {.cache = &cache_}}, subject_, std::move(plan)) {}

  const plan::Chip& chip() const { return chip_; }
  const Subject& subject() const { return subject_; }
  const Placement& placement() const { return placement_; }
  Placed place(PlaceMethod method, double (*value)(const Figures&) = latency, std::size_t evaluations = 200,
               std::size_t threads = 1) const {
    return search::place(
        placement_, {.method = method, .search = {.value = value, .evaluations = evaluations, .threads = threads}});
  }

 private:
  hardware::Hardware hardware_;
  plan::Chip chip_;
  cost::Cache cache_;
  Subject subject_;
  Placement placement_;
};

constexpr const char* kSmall = "mlp:in=64,hidden=128,layers=1,classes=32";
// The larger cases take too long with sanitizers; test-all runs them without.
#ifdef __SANITIZE_ADDRESS__
constexpr double kMostTried = 300;
#else
constexpr double kMostTried = kMostPlacements;
#endif
constexpr PlaceMethod kSearches[] = {PlaceMethod::Local, PlaceMethod::Genetic};

TEST(Placement, LayersHoldEveryNodeOnceAndFollowTheData) {
  const Case c("hetero_quad_core", "resnet18:image=32,width=8,classes=10", true);
  std::vector<bool> is_placed(c.subject().graph.nodes.size(), false);
  for (const Layer& layer : c.placement().layers()) {
    ASSERT_FALSE(layer.nodes.empty());
    for (const NodeId n : layer.nodes) {
      EXPECT_FALSE(is_placed[n.index()]);
      is_placed[n.index()] = true;
      EXPECT_TRUE(n == layer.nodes.front() || !c.subject().facts[n.index()].is_nest);
    }
  }
  for (std::size_t n = 0; n < is_placed.size(); ++n) EXPECT_NE(is_placed[n], c.subject().facts[n].is_view);
  for (const LayerEdge& edge : c.placement().edges()) {
    EXPECT_LT(edge.from, edge.to);
    EXPECT_GT(edge.bytes, 0);
  }
}

TEST(Placement, AllocationsAreSetsOfCoresThatTakeTheWork) {
  const Case c("hetero_quad_core", kSmall, false);
  for (const Layer& layer : c.placement().layers()) {
    const plan::Facts& facts = c.subject().facts[layer.nodes.front().index()];
    std::set<std::vector<std::uint32_t>> sets;
    for (const plan::NodeChoice& a : layer.allocations) {
      EXPECT_TRUE(sets.insert(a.cores).second);
      for (const std::uint32_t core : a.cores) EXPECT_TRUE(plan::takes(c.chip().cores[core], facts));
    }
    EXPECT_TRUE(!facts.is_nest || sets.size() == 15u);  // of four arrays
  }
}

TEST(Placement, PlansAreDecidedAsTheySay) {
  const Case c("hetero_quad_core", "mlp:in=64,hidden=128,layers=2,classes=32", true);
  solve::Random random(1, 0, 0);
  const solve::Choices decision = solve::choice_variation(c.placement().choices()).sample(random);
  const Evaluated e = c.placement().evaluate(decision);
  for (std::size_t l = 0; l < decision.size(); ++l) {
    const Layer& layer = c.placement().layers()[l];
    const plan::NodeChoice& chosen = layer.allocations[decision[l]];
    if (chosen.cores.empty()) continue;
    EXPECT_EQ(e.decided.nodes[layer.nodes.front().index()].cores, chosen.cores);
  }
}

TEST(Placement, WhatThePlanSaysStays) {
  const Case open("hetero_quad_core", kSmall, false);
  const auto is_open = [](const Layer& layer) { return layer.allocations.size() > 1; };
  const std::vector<Layer>& layers = open.placement().layers();
  const auto first = std::find_if(layers.begin(), layers.end(), is_open);
  ASSERT_NE(first, layers.end());
  const std::string node = open.subject().graph[first->nodes.front()].name;
  const Case given("hetero_quad_core", kSmall, false, {.nodes = {{.node = node, .cores = {"tpu_2"}}}});
  const Layer& same = given.placement().layers()[static_cast<std::size_t>(first - layers.begin())];
  ASSERT_EQ(same.allocations.size(), 1u);
  EXPECT_EQ(given.placement().by_default().nodes[same.nodes.front().index()].cores.size(), 1u);
}

// Both searches against all placements there are, with a part of the evaluations.
TEST(Placement, SearchesReachTheOptimumOfSmallCases) {
  const struct {
    const char *chip, *model;
  } cases[] = {{"hetero_quad_core", kSmall},
               {"tpu_like_quad_core", kSmall},
               {"eyeriss_like_quad_core", kSmall},
               {"hetero_quad_core", "mlp:in=512,hidden=512,layers=1,classes=64"},
               {"hetero_quad_core", "mlp:in=256,hidden=256,layers=2,classes=64"},
               {"tpu_like_quad_core", "mlp:in=256,hidden=256,layers=2,classes=64"},
               {"meta_prototype_dual_core", "mlp:in=128,hidden=256,layers=5,classes=64"}};
  for (const auto& [chip, model] : cases) {
    const Case c(chip, model, false);
    ASSERT_LE(c.placement().decisions(), kMostPlacements) << chip << " " << model;
    ASSERT_GT(c.placement().decisions(), 1) << chip << " " << model;
    if (c.placement().decisions() > kMostTried) continue;
    for (const auto value : {latency, energy, edp}) {
      const Placed exact = c.place(PlaceMethod::Exact, value);
      EXPECT_EQ(exact.evaluations, static_cast<std::size_t>(c.placement().decisions()));
      EXPECT_TRUE(exact.is_exact);
      EXPECT_EQ(value(c.place(PlaceMethod::Local, value, 100).figures), value(exact.figures)) << chip << " " << model;
      EXPECT_EQ(value(c.place(PlaceMethod::Genetic, value, 200).figures), value(exact.figures)) << chip << " " << model;
    }
  }
}

TEST(Placement, IsNeverWorseThanTheDefault) {
  for (const char* chip : {"hetero_quad_core", "tpu_like_quad_core", "fusemax", "edge_tpu_hda"}) {
    const Case c(chip, "mlp:in=64,hidden=128,layers=3,classes=32", true);
    const Figures usual = c.placement().figures(solve::Choices(c.placement().layers().size(), 0));
    for (const PlaceMethod method : kSearches)
      for (const auto value : {latency, energy}) {
        const Placed found = c.place(method, value, 40);
        EXPECT_EQ(found.before, usual);
        EXPECT_LE(value(found.figures), value(usual));
        EXPECT_LE(found.evaluations, 40u);
        EXPECT_EQ(c.placement().figures(found.decision), found.figures);
      }
  }
}

TEST(Placement, IsTheSameOnAnyNumberOfThreads) {
  const Case c("hetero_quad_core", "mlp:in=64,hidden=128,layers=3,classes=32", true);
  for (const PlaceMethod method : kSearches) {
    const Placed one = c.place(method, edp, 60, 1);
    for (const std::size_t threads : {2, 4}) {
      const Placed more = c.place(method, edp, 60, threads);
      EXPECT_EQ(one.decision, more.decision);
      EXPECT_EQ(one.figures, more.figures);
      EXPECT_EQ(one.evaluations, more.evaluations);
      EXPECT_EQ(one.steps, more.steps);
    }
  }
}

TEST(Placement, WhenTimeIsOverTheDefaultIsThere) {
  const Case c("hetero_quad_core", kSmall, true);
  for (const PlaceMethod method : {PlaceMethod::Local, PlaceMethod::Genetic}) {
    const Placed found =
        place(c.placement(), {.method = method, .search = {.value = latency, .threads = 1, .deadline = Deadline(0.0)}});
    EXPECT_TRUE(found.figures.is_possible);
    EXPECT_LE(found.figures.latency_cycles, found.before.latency_cycles);
    EXPECT_FALSE(found.is_local_optimum);
  }
}

// A local optimum is one: no step from it is better.
TEST(Placement, NoSingleMoveFromALocalOptimumIsBetter) {
  const Case c("hetero_quad_core", kSmall, false);
  const Placed found = c.place(PlaceMethod::Local, latency, 100'000);
  ASSERT_TRUE(found.is_local_optimum);
  const std::vector<std::uint16_t> choices = c.placement().choices();
  for (std::size_t l = 0; l < choices.size(); ++l)
    for (std::uint16_t a = 0; a < choices[l]; ++a) {
      solve::Choices step = found.decision;
      step[l] = a;
      EXPECT_GE(c.placement().figures(step).latency_cycles, found.figures.latency_cycles);
    }
}

TEST(PlacementModel, SchedulesIndependentWorkOnDifferentCores) {
  const Case c("tpu_like_quad_core", "resnet18:image=32,width=8,classes=10", false);
  const PlacementModel model(c.placement(), 1);
  const solve::Choices apart = model.scheduled(1);
  EXPECT_LE(model.guess(apart).latency_cycles, model.guess(c.placement().all_on(0)).latency_cycles);
  for (std::size_t l = 0; l < apart.size(); ++l) {
    const Layer& layer = c.placement().layers()[l];
    EXPECT_TRUE(layer.allocations.size() == 1 || layer.allocations[apart[l]].cores.size() <= 1);
  }
}

}  // namespace
}  // namespace monet::search
