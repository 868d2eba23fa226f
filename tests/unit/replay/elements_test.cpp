#include "monet/replay/elements.h"

#include <gtest/gtest.h>

#include "monet/graph/builder.h"
#include "monet/interpret/run.h"

namespace monet::replay {
namespace {

// If every element of x is its own position, every element of a view is the position it lies at.
TEST(Elements, AViewShowsTheElementsThatTheInterpreterShows) {
  Builder b("views");
  Dense positions;
  for (int i = 0; i < 2 * 6 * 4; ++i) positions.values.push_back(i);
  const TensorId x = b.source("x", {2, 6, 4}, Format{}, Category::Input, positions);
  const TensorId view = b.view(x, {2, 3, 2, 1, 4}, "view");
  const TensorId turned = b.one(Transpose{{3, 0, 1, 2, 4}}, {view}, "turned");
  const TensorId wide = b.one(Expand{{5, 2, 3, 2, 4}}, {turned}, "wide");
  const TensorId slice = b.one(Slice{{1, 4, 0}, {1, 2, 4}, {1, -2, 1}}, {x}, "slice");
  const auto halves = b.add(Split{1, {4, 2}}, {x}, "split", 2);
  const TensorId deeper = b.view(halves[1], {2, 8}, "deeper");
  b.graph().outputs = {wide, slice, halves[0], deeper};
  const Graph graph = std::move(b).finish();
  const std::vector<bool> is_view(graph.nodes.size(), true);
  const Elements elements(graph, is_view);
  const Values<double> shown = run<double>(graph, initial_values<double>(graph, 1));
  for (const TensorId t : graph.outputs) {
    EXPECT_EQ(elements.shown(t), x);
    EXPECT_FALSE(elements.is_direct(t));
    Region part = whole(graph[t].shape);
    for (Range& axis : part.axes)
      if (axis.size() > 2) ++axis.begin;
    for (const Region& region : {whole(graph[t].shape), part}) {
      const Array<double>& all = shown.at(graph[t].name);
      std::vector<double> wanted(static_cast<std::size_t>(monet::elements(region)));
      copy_shared(whole(all.shape), all.data.data(), region, wanted.data());
      const std::vector<std::int64_t> got = elements.positions(t, region, true);
      ASSERT_EQ(got.size(), wanted.size());
      for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(static_cast<double>(got[i]), wanted[i]) << graph[t].name;
    }
  }
}

TEST(Elements, AValueThatTakesOverStorageLiesWhereTheOldOneLay) {
  Builder b("update");
  const TensorId w = b.source("w", {3}, Format{}, Category::Weight, Splat{1});
  const TensorId next = b.unary(UnaryKind::Neg, w, "next");
  b[next].overwrites = w;
  const TensorId seen = b.view(next, {1, 3}, "seen");
  b.graph().outputs = {next};
  const Graph graph = std::move(b).finish();
  const std::vector<bool> is_view{false, true};
  const Elements elements(graph, is_view);
  EXPECT_TRUE(elements.is_direct(next));
  EXPECT_EQ(elements.shown(seen), next);
  EXPECT_EQ(elements.positions(seen, whole({1, 3}), true), (std::vector<std::int64_t>{0, 1, 2}));
}

TEST(Elements, CopiesWhatTwoBoxesShareAndNothingElse) {
  const Region from{{{1, 3}, {0, 4}}}, to{{{0, 2}, {2, 6}}};
  const std::vector<double> source{10, 11, 12, 13, 20, 21, 22, 23};
  std::vector<double> target(8, -1);
  copy_shared(from, source.data(), to, target.data());
  EXPECT_EQ(target, (std::vector<double>{-1, -1, -1, -1, 12, 13, -1, -1}));
  const Region scalar{}, apart{{{5, 6}, {0, 4}}};
  double one = 7, other = 0;
  copy_shared(scalar, &one, scalar, &other);
  EXPECT_EQ(other, 7);
  copy_shared(apart, source.data(), to, target.data());
  EXPECT_EQ(target[0], -1);
}

}  // namespace
}  // namespace monet::replay
