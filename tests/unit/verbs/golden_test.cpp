// The figures the graph must reach: counts of the published training graphs, by import and by our own differentiation.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "monet/base/diagnostic.h"
#include "monet/verbs/graph.h"
#include "monet/verbs/verify.h"

namespace monet {
namespace {

struct Counts {
  std::uint64_t forward_macs, backward_macs;
  bool operator==(const Counts&) const = default;
};

Counts macs(const Summary& s) {
  return {s.macs[static_cast<std::size_t>(Phase::Forward)], s.macs[static_cast<std::size_t>(Phase::Backward)]};
}

std::uint64_t update_operations(const Summary& s) { return s.vector_ops[static_cast<std::size_t>(Phase::Update)]; }

GraphResult describe(const std::string& model, std::optional<std::int64_t> batch = {}) {
  GraphRequest request;
  request.model.model = model;
  request.model.batch = batch;
  return describe_graph(request);
}

// Source: counts over the published graphs of the MONET experiments (ResNet-18 batch 4 at 32x32; a GPT-2-like model).
constexpr Counts kResNet{2221690880, 4436303872}, kGpt{3309305856, 6618611712};

TEST(Golden, OurOwnTrainingGraphsHaveThePublishedMacs) {
  EXPECT_EQ(macs(describe("resnet18:stem=cifar,norm=folded,image=32,classes=10", 4).summary), kResNet);
  EXPECT_EQ(macs(describe("gpt2-mini").summary), kGpt);
}

TEST(Golden, WeightGradientsAsIm2colHaveTheSameMacs) {
  GraphRequest request;
  request.model.model = "resnet18:stem=cifar,norm=folded,image=32,classes=10";
  request.model.batch = 4;
  request.im2col_weight_gradient = true;
  EXPECT_EQ(macs(describe_graph(request).summary), kResNet);
}

// The published files stand beside the repository, not in it.
std::string published(const std::string& name) {
  const char* folder = std::getenv("MONET_SHARED");
  const std::filesystem::path shared = folder ? folder : std::filesystem::path(MONET_TEST_DATA) / "../../../shared";
  const std::filesystem::path file = shared / "models" / name;
  return std::filesystem::exists(file) ? file.string() : "";
}

TEST(Golden, ThePublishedResNetTrainingGraphImports) {
  const std::string file = published("resnet18_full_training.onnx");
  if (file.empty()) GTEST_SKIP() << "resnet18_full_training.onnx is not here";
  const GraphResult r = describe(file);
  EXPECT_EQ(macs(r.summary), kResNet);
  EXPECT_EQ(update_operations(r.summary), 167465280u);
  EXPECT_EQ(r.prepared.trained_parameters, 11164352);
  EXPECT_EQ(r.prepared.graph.nodes.size(), 615u);
  EXPECT_TRUE(r.summary.fallback_operators.empty());
}

TEST(Golden, ThePublishedGptTrainingGraphImports) {
  const std::string file = published("gpt2like_training.onnx");
  if (file.empty()) GTEST_SKIP() << "gpt2like_training.onnx is not here";
  const GraphResult r = describe(file);
  EXPECT_EQ(macs(r.summary), kGpt);
  EXPECT_EQ(update_operations(r.summary), 69550080u);
  EXPECT_EQ(r.prepared.trained_parameters, 4636672);
  EXPECT_EQ(r.prepared.graph.nodes.size(), 442u);
  EXPECT_TRUE(r.summary.fallback_operators.empty());
}

TEST(Golden, TotalsAreTheSumsOfTheirParts) {
  const GraphResult r = describe("resnet18:image=32,classes=10,width=16", 2);
  std::uint64_t nodes = 0, operators = 0, saved = 0;
  for (const std::uint64_t n : r.summary.nodes) nodes += n;
  for (const auto& [name, count] : r.summary.operators) operators += count;
  for (const Summary::Saved& s : r.summary.saved) saved += s.bytes;
  EXPECT_EQ(nodes, r.prepared.graph.nodes.size());
  EXPECT_EQ(operators, nodes);
  EXPECT_EQ(saved, r.summary.saved_bytes);
}

TEST(VerifyVerb, ProvesGradientsAndFindsAWrongOne) {
  VerifyRequest request;
  request.model.model = "mlp:in=5,hidden=4,classes=3";
  request.model.batch = 2;
  const VerifyResult right = verify_gradients(request);
  EXPECT_TRUE(right.gradients_agree);
  EXPECT_LT(right.worst_error, 1e-7);
  ASSERT_EQ(right.losses.size(), 3u);
  EXPECT_LT(right.losses[2], right.losses[0]);
  request.tolerance = 1e-30;  // nothing is that good
  EXPECT_FALSE(verify_gradients(request).gradients_agree);
}

TEST(Prepare, SaysWhatIsWrong) {
  const auto message = [](auto change) {
    ModelRequest r;
    r.model = "mlp";
    change(r);
    try {
      prepare(r);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_NE(message([](ModelRequest& r) {
              r.batch = 3, r.microbatches = 2;
            }).find("2 microbatches do not divide a batch of 3"),
            std::string::npos);
  EXPECT_NE(message([](ModelRequest& r) { r.precision = "fp17"; }).find("did you mean 'fp16'?"), std::string::npos);
  EXPECT_NE(message([](ModelRequest& r) { r.save = "leen"; }).find("did you mean 'lean'?"), std::string::npos);
  EXPECT_NE(message([](ModelRequest& r) { r.recompute = "nothing like it"; }).find("matches no saved activation"),
            std::string::npos);
  EXPECT_NE(message([](ModelRequest& r) { r.model = "missing.onnx"; }).find("missing.onnx"), std::string::npos);
  EXPECT_NE(message([](ModelRequest& r) { r.clip_norm = -1; }).find("--clip"), std::string::npos);
  EXPECT_NE(message([](ModelRequest& r) { r.dims["x"] = 2; }).find("built-in models have no symbolic dimensions"),
            std::string::npos);
}

}  // namespace
}  // namespace monet
