#include "monet/search/checkpoint_search.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "monet/hardware/library.h"
#include "monet/models/catalogue.h"
#include "monet/training/train.h"

namespace monet::search {
namespace {

// A small network whose activations, at this batch, are most of its memory.
class SearchTest : public testing::Test {
 protected:
  SearchTest() : hardware_(hardware::find_hardware("fusemax").hardware), chip_(plan::chip_of(hardware_)) {
    for (const std::size_t threads : {1, 3}) {
      Setting setting{chip_, hardware_, {}};
      setting.costs.cache = &cache_;
      problems_.push_back(
          std::make_unique<Checkpointing>(make_training(build_model("mlp:in=16,hidden=32,layers=7,classes=4", 512),
                                                        {.optimizer = parse_optimizer("sgd")})
                                              .graph,
                                          setting, CheckpointOptions{.threads = threads}));
    }
  }
  const Checkpointing& problem() const { return *problems_.front(); }

  hardware::Hardware hardware_;
  plan::Chip chip_;
  cost::Cache cache_;
  std::vector<std::unique_ptr<Checkpointing>> problems_;
};

std::set<solve::Objectives> front_points(const CheckpointFront& found) {
  const std::vector<solve::Objectives> points = objectives_of(found);
  std::set<solve::Objectives> out;
  for (const std::uint32_t i : found.front) out.insert(points[i]);
  return out;
}

TEST_F(SearchTest, FindsTheFrontOfAllDecisionsWithHalfOfThem) {
  ASSERT_GE(problem().activations().size(), 5u);
  ASSERT_LE(problem().activations().size(), 9u);
  const CheckpointFront all = all_decisions(problem(), {});
  EXPECT_EQ(all.points.size(), std::size_t{1} << problem().activations().size());
  EXPECT_GT(all.front.size(), 2u);
  const CheckpointFront found = search_decisions(problem(), {.evaluations = all.points.size() / 2});
  EXPECT_EQ(found.points.size(), all.points.size() / 2);
  EXPECT_EQ(front_points(found), front_points(all));
}

TEST_F(SearchTest, IsTheSameOnAnyNumberOfThreads) {
  const CheckpointFront one = search_decisions(*problems_[0], {.evaluations = 24});
  const CheckpointFront three = search_decisions(*problems_[1], {.evaluations = 24});
  ASSERT_EQ(one.points.size(), three.points.size());
  for (std::size_t i = 0; i < one.points.size(); ++i) {
    EXPECT_EQ(one.points[i].decision, three.points[i].decision);
    EXPECT_EQ(one.points[i].figures, three.points[i].figures);
  }
  EXPECT_EQ(one.front, three.front);
}

// A search that was cut off is run again with what it had found: the same in the end, and nothing computed twice.
TEST_F(SearchTest, GoesOnWhereItWasCutOff) {
  const CheckpointFront whole = search_decisions(problem(), {.evaluations = 30, .population = 10});
  std::map<solve::Choices, Figures> kept;
  CheckpointSearchOptions options{.evaluations = 30, .population = 10};
  options.keep = [&](std::span<const CheckpointPoint> points) {
    for (const CheckpointPoint& p : points) kept.emplace(p.decision, p.figures);
  };
  CheckpointSearchOptions part = options;
  part.evaluations = 17;
  search_decisions(problem(), part);
  EXPECT_EQ(kept.size(), 17u);
  std::size_t looked_up = 0;
  options.known = [&](const solve::Choices& c) -> std::optional<Figures> {
    const auto at = kept.find(c);
    if (at == kept.end()) return std::nullopt;
    ++looked_up;
    return at->second;
  };
  const CheckpointFront again = search_decisions(problem(), options);
  EXPECT_GE(looked_up, 10u);  // the batch that was cut may be another one than that of the whole search
  ASSERT_EQ(again.points.size(), whole.points.size());
  for (std::size_t i = 0; i < whole.points.size(); ++i) EXPECT_EQ(again.points[i].decision, whole.points[i].decision);
  EXPECT_EQ(again.front, whole.front);
}

}  // namespace
}  // namespace monet::search
