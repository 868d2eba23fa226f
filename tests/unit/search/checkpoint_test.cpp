#include "monet/search/checkpoint.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "monet/graph/saved.h"
#include "monet/hardware/library.h"
#include "monet/models/catalogue.h"
#include "monet/training/train.h"

namespace monet::search {
namespace {

struct OnChip {
  explicit OnChip(const char* model, const char* chip_name, const CheckpointOptions& options = {})
      : hardware(hardware::find_hardware(chip_name).hardware), chip(plan::chip_of(hardware)) {
    Setting setting{chip, hardware, {}};
    setting.costs.cache = &cache;
    search.emplace(make_training(build_model(model, 2), {}).graph, setting, options);
  }
  hardware::Hardware hardware;
  plan::Chip chip;
  cost::Cache cache;
  std::optional<Checkpointing> search;
};

TEST(Checkpointing, DecidesOnWhatIsSavedAndCanBeRebuilt) {
  const OnChip f("mlp:in=16,hidden=8,layers=3,classes=4", "fusemax");
  for (const SavedActivation& a : f.search->activations()) EXPECT_GT(a.bytes, 0) << a.name;
  // Three hidden layers, each saved once; the input is no decision.
  EXPECT_GE(f.search->activations().size(), 3u);
  for (const SavedActivation& a : f.search->activations()) EXPECT_NE(a.name, "input");
}

TEST(Checkpointing, ForgetsWhatItIsToldTo) {
  const OnChip f("mlp:in=16,hidden=8,layers=3,classes=4", "fusemax");
  const std::size_t count = f.search->activations().size();
  const Graph kept = f.search->subject(solve::Choices(count, 0)).graph;
  const Graph rebuilt = f.search->subject(solve::Choices(count, 1)).graph;
  const auto nodes_of = [](const Graph& g, Phase phase) {
    return std::count_if(g.nodes.begin(), g.nodes.end(), [&](const Node& n) { return n.phase == phase; });
  };
  EXPECT_EQ(nodes_of(kept, Phase::Recompute), 0);
  EXPECT_GT(nodes_of(rebuilt, Phase::Recompute), 0);
  const auto saved = [](const Graph& g) {
    double sum = 0;
    for (const TensorId t : saved_activations(g)) sum += static_cast<double>(bytes(g[t]));
    return sum;
  };
  EXPECT_LT(saved(rebuilt), saved(kept));
}

TEST(Checkpointing, FusesTheUpdatesOfEveryDecision) {
  const OnChip f("mlp:in=16,hidden=8,layers=3,classes=4", "fusemax", {.decompose = {.fused_updates = true}});
  const std::size_t count = f.search->activations().size();
  const solve::Choices none(count, 0), all(count, 1);
  for (const solve::Choices& decision : {none, all}) {
    const Graph g = f.search->subject(decision).graph;
    EXPECT_EQ(std::count_if(g.nodes.begin(), g.nodes.end(),
                            [](const Node& n) { return std::holds_alternative<Steps>(n.op); }),
              8);  // four layers, each with a bias
  }
  const OnChip steps("mlp:in=16,hidden=8,layers=3,classes=4", "fusemax");
  EXPECT_LT(f.search->figures(all).tiles, steps.search->figures(all).tiles);
}

TEST(Checkpointing, GivesTheFiguresOfAPlainEvaluation) {
  const OnChip f("resnet18:image=32,classes=10,width=8", "tpu_like_quad_core");
  const std::size_t count = f.search->activations().size();
  std::vector<solve::Choices> decisions{solve::Choices(count, 0), solve::Choices(count, 1), solve::Choices(count, 0)};
  for (std::size_t i = 0; i < count; i += 3) decisions[2][i] = 1;
  const std::vector<Figures> together = f.search->figures(decisions);
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    cost::Cache fresh;
    Setting setting{f.chip, f.hardware, {}};
    setting.costs.cache = &fresh;
    const Subject subject = f.search->subject(decisions[i]);
    const Evaluated e = evaluate(setting, subject, {});
    Figures plain = figures_of(f.chip, e.decided, e.outcome);
    plain.stretch_bytes = together[i].stretch_bytes;
    EXPECT_EQ(together[i], plain);
    // The peak is in one of the stretches.
    ASSERT_EQ(plain.stretch_bytes.size(), f.search->stretches().size());
    EXPECT_EQ(*std::max_element(plain.stretch_bytes.begin(), plain.stretch_bytes.end()), plain.peak_total_bytes);
  }
  EXPECT_NE(together[0], together[1]);
  EXPECT_GT(together[1].tiles, together[0].tiles);
}

TEST(Checkpointing, LeavesSmallActivationsAlone) {
  const OnChip all("resnet18:image=32,classes=10,width=8", "fusemax");
  const OnChip large("resnet18:image=32,classes=10,width=8", "fusemax", {.least_share = 0.01});
  EXPECT_LT(large.search->activations().size(), all.search->activations().size());
  EXPECT_EQ(large.search->saved_bytes(), all.search->saved_bytes());
  for (const SavedActivation& a : large.search->activations()) EXPECT_GE(a.bytes, 0.01 * all.search->saved_bytes());
}

}  // namespace
}  // namespace monet::search
