// What export_onnx writes, import_onnx reads: the same numbers, and the same roles of tensors and nodes.
#include <algorithm>
#include <cmath>

#include "monet/interpret/run.h"
#include "monet/onnx/export.h"
#include "unit/onnx/export_cases.h"
#include "unit/onnx/import_model.h"

namespace monet::test {
namespace {

Import round_trip(const ExportCase& c, std::int64_t opset) {
  const ExportOptions options{.opset = opset, .weights = c.weights};
  ImportOptions reading;
  reading.load_weights = c.weights;
  reading.strict = true;
  return import_onnx(export_onnx(c.graph, options, &c.sources), c.name + ".onnx", reading);
}

// The largest difference over the largest expected magnitude; infinite where they differ in kind.
double deviation(const std::vector<double>& found, const std::vector<double>& expected) {
  if (found.size() != expected.size()) return INFINITY;
  double difference = 0, scale = 1e-30;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (std::isfinite(expected[i]) != std::isfinite(found[i])) return INFINITY;
    if (!std::isfinite(expected[i])) continue;
    difference = std::max(difference, std::abs(found[i] - expected[i]));
    scale = std::max(scale, std::abs(expected[i]));
  }
  return difference < 1e-6 ? 0 : difference / scale;
}

TEST(ImportRoundTrip, EveryExportedCaseComputesTheSame) {
  for (const std::int64_t opset : {17, 21})
    for (const ExportCase& c : export_cases()) {
      SCOPED_TRACE(c.name);
      const Import back = round_trip(c, opset);
      Values<double> sources = c.sources;
      for (const auto& [name, array] : back.weights) sources[name] = array;
      const Values<double> found = run<double>(back.graph, sources);
      const Values<double> expected = run<double>(c.graph, c.sources);
      ASSERT_GE(back.graph.outputs.size(), c.graph.outputs.size());
      for (std::size_t i = 0; i < c.graph.outputs.size(); ++i) {
        const Tensor& was = c.graph[c.graph.outputs[i]];
        const Tensor& is = back.graph[back.graph.outputs[i]];
        EXPECT_EQ(is.name, was.name);
        EXPECT_EQ(is.shape, was.shape);
        // ONNX's indices of a max-pool count over the whole tensor: another encoding of the same thing.
        if (was.category == Category::Index) continue;
        EXPECT_LE(deviation(found.at(is.name).data, expected.at(was.name).data), c.tolerance) << was.name;
      }
    }
}

TEST(ImportRoundTrip, TrainingGraphsKeepCategoriesUpdatesAndPhases) {
  std::vector<ExportCase> cases;
  add_whole_cases(cases);
  ASSERT_FALSE(cases.empty());
  for (const ExportCase& c : cases) {
    SCOPED_TRACE(c.name);
    const Import back = round_trip(c, 17);
    std::int64_t trained = 0;
    for (const Tensor& was : c.graph.tensors) {
      if (was.overwrites != kNoTensor && c.graph[was.overwrites].category == Category::Weight)
        trained += elements(was.shape);
      const TensorId t = tensor_named(back.graph, was.name);
      if (t == kNoTensor) continue;  // a part the file has no value for
      EXPECT_EQ(name(back.graph[t].category), name(was.category)) << was.name;
      if (was.overwrites == kNoTensor) continue;
      ASSERT_NE(back.graph[t].overwrites, kNoTensor) << was.name;
      EXPECT_EQ(back.graph[back.graph[t].overwrites].name, c.graph[was.overwrites].name);
    }
    EXPECT_EQ(back.trained_parameters, trained);
    std::map<std::string, Phase> phases;
    for (const Node& node : c.graph.nodes) phases[node.name] = node.phase;
    std::size_t compared = 0;
    for (const Node& node : back.graph.nodes)
      if (const auto it = phases.find(node.name); it != phases.end()) {
        EXPECT_EQ(node.phase, it->second) << node.name;
        ++compared;
      }
    EXPECT_GT(compared, c.graph.nodes.size() / 2);
  }
}

}  // namespace
}  // namespace monet::test
