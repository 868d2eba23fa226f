// The same iteration with the steps of updates as single nodes, and as one.
#include <gtest/gtest.h>

#include "monet/base/diagnostic.h"
#include "monet/report/document.h"
#include "monet/verbs/evaluate.h"

namespace monet {
namespace {

EvaluateRequest request(bool fused) {
  EvaluateRequest r;
  r.model.model = "mlp:in=2048,hidden=2048,layers=1,classes=16";
  r.model.precision = "fp32";
  r.hardware = "tpu_like_quad_core";
  r.fused_updates = fused;
  return r;
}
constexpr double kParameters = 2048 * 2048 + 2048 + 2048 * 16 + 16;

double update_bytes(const Evaluated& mode) {
  double sum = 0;
  for (std::size_t n = 0; n < mode.graph.nodes.size(); ++n)
    if (mode.graph.nodes[n].phase == Phase::Update) sum += mode.result().nodes[n].offchip_bytes;
  return sum;
}

TEST(FusedUpdates, DoTheSameWorkInFewerTiles) {
  const EvaluateRun steps = evaluate(request(false)), fused = evaluate(request(true));
  const schedule::Evaluation &a = steps.modes[0].result(), &b = fused.modes[0].result();
  EXPECT_EQ(a.macs, b.macs);
  EXPECT_EQ(a.vector_ops, b.vector_ops);
  EXPECT_LT(10 * b.tiled.tiles.size(), a.tiled.tiles.size());
  EXPECT_NEAR(a.energy.compute, b.energy.compute, 1e-9 * a.energy.compute);
  // AdamW reads a gradient, a weight and two moments and writes all but the gradient: 7 times 4 bytes. A little is
  // still on the chip.
  EXPECT_LE(update_bytes(fused.modes[0]), 28 * kParameters);
  EXPECT_GE(update_bytes(fused.modes[0]), 26 * kParameters);
  EXPECT_NEAR(update_bytes(fused.modes[0]), update_bytes(steps.modes[0]), 0.1 * kParameters);
  // Weights and states flow through the core's memory, gradients are fetched into it.
  const std::vector<schedule::Flow>& flows = b.tiled.problem.flows;
  EXPECT_FALSE(flows.empty());
  for (const schedule::Flow& flow : flows) {
    const Category category = fused.modes[0].graph[b.tiled.blocks[flow.block.index()].tensor].category;
    EXPECT_TRUE(category == Category::Weight || category == Category::OptimizerState);
    EXPECT_EQ(flow.access, schedule::Access::Update);
    EXPECT_EQ(flow.in, flow.out);
  }
  // What goes through the memory costs what transfers to it and from it do: fused or not, each byte once a way.
  const auto buffer = [](const schedule::Evaluation& e) { return e.energy.memory.at("buffer"); };
  EXPECT_NEAR(buffer(a), buffer(b), 0.01 * buffer(a));
}

TEST(FusedUpdates, AreAnOptionThatIsWrittenDown) {
  for (const bool fused : {false, true}) {
    const Document document{"evaluate", {}, options_json(request(fused)), Json::object(), 0};
    EXPECT_EQ(evaluate_request_of(dump(document), "result.json").fused_updates, fused);
  }
}

}  // namespace
}  // namespace monet
