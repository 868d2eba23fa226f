#include <array>
#include <cstdlib>
#include <filesystem>

#include "monet/graph/verify.h"
#include "unit/onnx/import_model.h"

// Real files. They are not part of the repository: without them these tests are skipped by name.

namespace monet::test {
namespace {

namespace fs = std::filesystem;

fs::path shared_model(const std::string& name) {
  const char* given = std::getenv("MONET_SHARED");
  const fs::path shared = given ? fs::path(given) : fs::path(MONET_TEST_DATA).parent_path().parent_path() / "../shared";
  return shared / "models" / name;
}

std::array<std::size_t, kPhases> count_phases(const Graph& graph) {
  std::array<std::size_t, kPhases> count{};
  for (const Node& node : graph.nodes) ++count[static_cast<std::size_t>(node.phase)];
  return count;
}

std::size_t count_fallbacks(const Graph& graph) {
  std::size_t count = 0;
  for (const Node& node : graph.nodes) count += std::holds_alternative<Fallback>(node.op) ? 1u : 0u;
  return count;
}

#define NEED_MODEL(path) \
  if (!fs::exists(path)) GTEST_SKIP() << (path) << " is not there"

// Node counts, phases and trained parameters as published with the graph.
TEST(ImportModels, ResNet18Training) {
  const fs::path path = shared_model("resnet18_full_training.onnx");
  NEED_MODEL(path);
  const Import result = import_onnx(path.string());
  EXPECT_EQ(result.graph.nodes.size(), 615u);
  EXPECT_EQ(count_phases(result.graph), (std::array<std::size_t, kPhases>{49, 0, 251, 315, 0}));
  EXPECT_EQ(result.trained_parameters, 11'164'352);
  EXPECT_EQ(count_fallbacks(result.graph), 0u);
  EXPECT_TRUE(faults(result.graph).empty());
  EXPECT_EQ(tensor_of(result.graph, "conv1.weight_optimizer_end").overwrites,
            tensor_named(result.graph, "conv1.weight"));
}

TEST(ImportModels, Gpt2LikeTraining) {
  const fs::path path = shared_model("gpt2like_training.onnx");
  NEED_MODEL(path);
  const Import result = import_onnx(path.string());
  EXPECT_EQ(result.graph.nodes.size(), 442u);
  EXPECT_EQ(count_phases(result.graph), (std::array<std::size_t, kPhases>{139, 0, 213, 90, 0}));
  EXPECT_EQ(result.trained_parameters, 4'636'672);
  EXPECT_EQ(count_fallbacks(result.graph), 0u);
  EXPECT_TRUE(faults(result.graph).empty());
}

struct Expected {
  std::string file;
  std::size_t nodes, fallbacks;
  Shape output;
};
void PrintTo(const Expected& expected, std::ostream* os) { *os << expected.file; }

class ImportEveryModel : public testing::TestWithParam<Expected> {};

TEST_P(ImportEveryModel, HasTheExpectedSize) {
  const fs::path path = shared_model(GetParam().file);
  NEED_MODEL(path);
  ImportOptions options;
  options.batch = 2;
  if (GetParam().file.rfind("gpt_dynamic", 0) == 0) options.dims["time"] = 16;
  const Import result = import_onnx(path.string(), options);
  EXPECT_EQ(result.graph.nodes.size(), GetParam().nodes);
  EXPECT_EQ(count_fallbacks(result.graph), GetParam().fallbacks);
  EXPECT_EQ(result.graph[result.graph.outputs.at(0)].shape, GetParam().output);
  EXPECT_TRUE(faults(result.graph).empty());
}

// Nodes: those of the file without Constant, folded shape arithmetic and aliases. Outputs: the files' own, with the
// batch set to 2.
INSTANTIATE_TEST_SUITE_P(
    Shared, ImportEveryModel,
    testing::Values(Expected{"alexnet.onnx", 24, 0, {2, 1000}}, Expected{"fsrcnn.onnx", 8, 0, {2, 16, 540, 960}},
                    Expected{"gpt_dynamic.eval.onnx", 107, 0, {2, 16, 500}},
                    Expected{"lstm.eval.onnx", 9, 2, {2, 20, 1000}},
                    Expected{"mobilenet_v3_small.eval.onnx", 122, 0, {2, 1000}},
                    Expected{"mobilenetv2.onnx", 100, 0, {2, 1000}}, Expected{"resnet18.onnx", 49, 0, {2, 1000}},
                    Expected{"resnet50.training.onnx", 175, 0, {2, 1000}}, Expected{"swiglu.onnx", 6, 0, {2, 4096}},
                    Expected{"unet.training.onnx", 44, 0, {2, 2, 32, 32}}),
    [](const auto& instance) { return instance.param.file.substr(0, instance.param.file.find('.')); });

}  // namespace
}  // namespace monet::test
