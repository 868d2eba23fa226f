// The interpreter runs every case here; tests/oracle/export_vs_interpreter.py compares onnxruntime with what it found.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "monet/interpret/run.h"
#include "monet/onnx/export.h"
#include "unit/onnx/export_cases.h"

namespace monet::test {
namespace {

void write_doubles(const std::filesystem::path& path, const std::vector<double>& values) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(values.data()),
             static_cast<std::streamsize>(values.size() * sizeof(double)));
  if (!file) throw std::runtime_error("cannot write " + path.string());
}

TEST(ExportNumeric, CasesUseEveryOperatorAndKind) {
  std::set<std::string> used;
  for (const ExportCase& c : export_cases())
    for (const Node& node : c.graph.nodes) used.insert(std::string(operator_name(node.op)));
  for (const Op& op : operator_prototypes()) {
    const std::string name(operator_name(op));
    EXPECT_TRUE(used.contains(name) || std::holds_alternative<Fallback>(op)) << name;
  }
}

TEST(ExportNumeric, CaseNamesAreDistinct) {
  std::set<std::string> names;
  for (const ExportCase& c : export_cases()) EXPECT_TRUE(names.insert(c.name).second) << c.name;
}

// With MONET_EXPORT_DIR: one folder per case with model.onnx, tolerance.txt and, as raw doubles in the order of the
// file's inputs and outputs, input_<i>.f64 and output_<i>.f64.
TEST(ExportNumeric, EveryCaseRunsAndExports) {
  const char* folder = std::getenv("MONET_EXPORT_DIR");
  const char* opset = std::getenv("MONET_EXPORT_OPSET");
  for (const ExportCase& c : export_cases()) {
    SCOPED_TRACE(c.name);
    const ExportOptions options{.opset = opset ? std::atoi(opset) : 17, .weights = c.weights};
    const std::string bytes = export_onnx(c.graph, options, &c.sources);
    const Values<double> results = run<double>(c.graph, c.sources);
    EXPECT_EQ(bytes, export_onnx(c.graph, options, &c.sources)) << "the same graph must give the same bytes";
    for (const TensorId t : c.graph.outputs) {
      ASSERT_TRUE(results.contains(c.graph[t].name)) << c.graph[t].name;
      EXPECT_EQ(results.at(c.graph[t].name).shape, c.graph[t].shape);
    }
    if (!folder) continue;
    const std::filesystem::path place = std::filesystem::path(folder) / c.name;
    std::filesystem::create_directories(place);
    std::ofstream(place / "model.onnx", std::ios::binary) << bytes;
    std::ofstream(place / "tolerance.txt") << c.tolerance << '\n';
    std::size_t input = 0, output = 0;
    const Uses use = uses(c.graph);
    for (std::uint32_t t = 0; t < c.graph.tensors.size(); ++t)
      if (use.producer[t] == kNoNode && c.graph.tensors[t].category != Category::Constant)
        write_doubles(place / ("input_" + std::to_string(input++) + ".f64"),
                      c.sources.at(c.graph.tensors[t].name).data);
    for (const TensorId t : c.graph.outputs)
      write_doubles(place / ("output_" + std::to_string(output++) + ".f64"), results.at(c.graph[t].name).data);
  }
}

}  // namespace
}  // namespace monet::test
