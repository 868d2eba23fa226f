// Does `validate stream` run summaries from the model on? Figures are those of the first layer of ResNet-18 in Stream's
// layer-by-layer run (70eb6751 with ZigZag 3.8.2): nothing before it, so it is the same alone.
#include "monet/verbs/stream_runs.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "monet/base/file.h"
#include "monet/graph/builder.h"
#include "monet/onnx/export.h"
#include "monet/verbs/validate.h"

namespace monet {
namespace {

class StreamRuns : public testing::Test {
 protected:
  StreamRuns() : folder_(std::filesystem::temp_directory_path() / fmt::format("monet_stream_runs_{}", ::getpid())) {
    std::filesystem::create_directories(folder_ / "models");
    Builder b("first");
    const TensorId x = b.source("x", {1, 3, 224, 224}, Format{Element::F32}, Category::Input),
                   w = b.source("w", {64, 3, 7, 7}, Format{Element::F32}, Category::Weight);
    const Conv conv{.strides = {2, 2}, .dilations = {1, 1}, .pads_begin = {3, 3}, .pads_end = {3, 3}, .extent = {}};
    b.graph().outputs = {b.one(conv, {x, w}, "conv")};
    write_file((folder_ / "models" / "first.onnx").string(), export_onnx(std::move(b).finish()));
  }
  ~StreamRuns() override { std::filesystem::remove_all(folder_); }

  ValidateResult run(const std::string& latency, const std::string& workload = "first.onnx",
                     const std::string& cores = "[0, 1, 2, 3]", const std::string& per_layer = "{}") const {
    const auto port = [](const char* name, const char* type, int least, int most, const char* uses) {
      return fmt::format(
          R"({{"name": "{}", "type": "{}", "bandwidth_min": {}, "bandwidth_max": {}, "allocation": [{}]}})", name, type,
          least, most, uses);
    };
    const auto memory = [](const char* name, const char* size, double read, double write, const char* operands,
                           const char* serves, const std::string& ports) {
      return fmt::format(R"("{}": {{"size": {}, "r_cost": {}, "w_cost": {}, "area": 0, "latency": 1, "operands": [{}],
                            "served_dimensions": [{}], "ports": [{}]}})",
                         name, size, read, write, operands, serves, ports);
    };
    const char *reads = R"("I1, tl", "I2, tl", "O, tl", "O, th")", *writes = R"("I1, fh", "I2, fh", "O, fh", "O, fl")";
    const std::string core =
        R"({"name": "tpu_like", "memories": {)" +
        memory("rf_128B", "1024", 0.095, 0.095, R"("I2")", "",
               port("r_port_1", "read", 8, 8, R"("I2, tl")") + ", " + port("w_port_1", "write", 8, 8, R"("I2, fh")")) +
        ", " +
        memory("rf_2B", "16", 0.021, 0.021, R"("O")", R"("D2")",
               port("r_port_1", "read", 16, 16, R"("O, tl")") + ", " + port("r_port_2", "read", 16, 16, R"("O, th")") +
                   ", " + port("w_port_1", "write", 16, 16, R"("O, fh")") + ", " +
                   port("w_port_2", "write", 16, 16, R"("O, fl")")) +
        ", " +
        memory("sram_2MB", "16777216", 416.16, 378.4, R"("I1", "I2", "O")", R"("D1", "D2")",
               port("r_port_1", "read", 64, 2048, reads) + ", " + port("w_port_1", "write", 64, 2048, writes)) +
        R"(}, "operational_array": {"unit_energy": 0.04, "unit_area": 1, "dimensions": ["D1", "D2"], "sizes": [32, 32]},
            "dataflows": {"D1": ["K, 32"], "D2": ["C, 32"]}})";
    const std::string offchip =
        R"({"name": "offchip", "memories": {)" +
        memory("dram", "10000000000", 1000, 1000, R"("I1", "I2", "O")", R"("D1", "D2")",
               port("rw_port_1", "read_write", 64, 64,
                    R"("I1, fh", "I1, tl", "I2, fh", "I2, tl", "O, fh", "O, tl", "O, fl", "O, th")")) +
        R"(}, "operational_array": {"unit_energy": 0, "unit_area": 0, "dimensions": ["D1", "D2"], "sizes": [0, 0]}})";
    const std::string text = fmt::format(
        R"({{"runs": [{{"id": "first", "hardware": "chip.yaml", "workload": "{}", "mapping": "map.yaml", "mode": "lbl",
             "layer_stacks": null, "per_layer": {}, "n_tiles": 4, "n_edges": 0,
             "result": {{"latency": {}, "total_cn_onchip_energy": 52986577.984,
                        "total_cn_offchip_memory_energy": 176792000.0}}}}],
            "accelerators": {{"chip": {{"name": "chip", "cores": {{"0": "core.yaml", "1": "core.yaml", "2": "core.yaml",
               "3": "core.yaml"}}, "offchip_core": "offchip.yaml", "core_connectivity": ["0, 1", "1, 2", "2, 3"],
               "bandwidth": 32, "unit_energy_cost": 0}}}},
            "cores": {{"core": {}, "offchip": {}}},
            "mappings": {{"map": [{{"name": "default", "core_allocation": {}, "inter_core_tiling": ["K, 4"],
               "intra_core_tiling": ["OY, all"]}}]}}}})",
        workload, per_layer, latency, core, offchip, cores);
    const std::string path = (folder_ / "results.json").string();
    write_file(path, text);
    return validate({.suite = "stream", .cases = {path}});
  }

  std::filesystem::path folder_;
};

TEST_F(StreamRuns, AgreeFromTheModelOn) {
  const ValidateResult result = run("633185.0");
  ASSERT_EQ(result.suites.size(), 1u);
  ASSERT_EQ(result.suites[0].rows.size(), 1u) << text(result);
  EXPECT_TRUE(result.matches) << text(result);
  EXPECT_EQ(result.suites[0].rows[0].figures, 5u);
}

TEST_F(StreamRuns, ShowAFigureThatIsOff) {
  const ValidateResult result = run("633186.0");
  EXPECT_FALSE(result.matches);
  EXPECT_EQ(result.suites[0].rows[0].figure, "latency");
}

TEST_F(StreamRuns, AreNotRunWithoutTheModelOrTheCores) {
  const ValidateResult missing = run("633185.0", "second.onnx");
  ASSERT_EQ(missing.suites[0].skipped.size(), 1u);
  EXPECT_EQ(missing.suites[0].skipped[0].reason, "no file 'second.onnx'");
  EXPECT_FALSE(missing.matches);  // nothing was compared
  const ValidateResult open = run("633185.0", "first.onnx", "[0, 1]");
  EXPECT_NE(open.suites[0].skipped.at(0).reason.find("genetic"), std::string::npos);
  EXPECT_FALSE(open.matches);
}

// Shapes that the file leaves out are inferred, symbolic ones are of size 1.
TEST_F(StreamRuns, InferShapesThatTheModelDoesNotState) {
  const schedule::StreamModel model = stream_model((folder_ / "models" / "first.onnx").string());
  ASSERT_EQ(model.operators.size(), 1u);
  EXPECT_EQ(model.shapes.at(model.operators[0].outputs[0]), (std::vector<std::int64_t>{1, 64, 112, 112}));
  EXPECT_EQ(model.shapes.at("w"), (std::vector<std::int64_t>{64, 3, 7, 7}));
}

}  // namespace
}  // namespace monet
