#include "monet/rewrite/running_statistics.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "monet/graph/builder.h"
#include "monet/graph/verify.h"
#include "monet/models/catalogue.h"

namespace monet {
namespace {

TEST(RunningStatistics, AModelWithThemIsTheFrozenOne) {
  const Graph inference = use_running_statistics(build_model("resnet18:image=32", 2));
  const Graph frozen = build_model("resnet18:image=32,norm=frozen", 2);
  verify(inference);
  ASSERT_EQ(inference.nodes.size(), frozen.nodes.size());
  for (std::size_t n = 0; n < frozen.nodes.size(); ++n) {
    EXPECT_EQ(inference.nodes[n].name, frozen.nodes[n].name);
    EXPECT_EQ(inference.nodes[n].op, frozen.nodes[n].op);
    EXPECT_EQ(inference.nodes[n].outputs.size(), frozen.nodes[n].outputs.size());
  }
  EXPECT_EQ(inference.tensors.size(), frozen.tensors.size());
  EXPECT_EQ(inference.outputs.size(), frozen.outputs.size());
}

TEST(RunningStatistics, OtherNormalisationsStay) {
  const Graph graph = build_model("resnet18:image=32,norm=group", 2);
  const Graph after = use_running_statistics(graph);
  ASSERT_EQ(after.nodes.size(), graph.nodes.size());
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) EXPECT_EQ(after.nodes[n].op, graph.nodes[n].op);
}

}  // namespace
}  // namespace monet
