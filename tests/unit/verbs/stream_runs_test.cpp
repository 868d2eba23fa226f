// Do `validate stream` and `evaluate --quirks stream` run from the model on, and alike? Figures are those of the first
// layer of ResNet-18 in Stream's layer-by-layer run (70eb6751 with ZigZag 3.8.2): nothing before it, so it is the same
// alone.
#include "monet/verbs/stream_runs.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "monet/base/file.h"
#include "monet/graph/builder.h"
#include "monet/onnx/export.h"
#include "monet/verbs/evaluate_stream.h"
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
    Builder two("two");
    const TensorId y = two.source("y", {1, 8, 16, 16}, Format{Element::F32}, Category::Input),
                   v = two.source("v", {32, 8, 3, 3}, Format{Element::F32}, Category::Weight),
                   u = two.source("u", {16, 32, 3, 3}, Format{Element::F32}, Category::Weight);
    const Conv plain{.strides = {1, 1}, .dilations = {1, 1}, .pads_begin = {1, 1}, .pads_end = {1, 1}, .extent = {}};
    const TensorId between = two.one(plain, {y, v}, "conv");
    two.graph().outputs = {two.one(plain, {between, u}, "last")};
    write_file((folder_ / "models" / "two.onnx").string(), export_onnx(std::move(two).finish()));
  }
  ~StreamRuns() override { std::filesystem::remove_all(folder_); }

  static std::string port(const char* name, const char* type, int least, int most, const char* uses) {
    return fmt::format(
        R"({{"name": "{}", "type": "{}", "bandwidth_min": {}, "bandwidth_max": {}, "allocation": [{}]}})", name, type,
        least, most, uses);
  }
  static std::string memory(const char* name, const char* size, double read, double write, const char* operands,
                            const char* serves, const std::string& ports) {
    return fmt::format(R"("{}": {{"size": {}, "r_cost": {}, "w_cost": {}, "area": 0, "latency": 1, "operands": [{}],
                            "served_dimensions": [{}], "ports": [{}]}})",
                       name, size, read, write, operands, serves, ports);
  }

  static std::string core() {
    const char *reads = R"("I1, tl", "I2, tl", "O, tl", "O, th")", *writes = R"("I1, fh", "I2, fh", "O, fh", "O, fl")";
    return R"({"name": "tpu_like", "memories": {)" +
           memory(
               "rf_128B", "1024", 0.095, 0.095, R"("I2")", "",
               port("r_port_1", "read", 8, 8, R"("I2, tl")") + ", " + port("w_port_1", "write", 8, 8, R"("I2, fh")")) +
           ", " +
           memory("rf_2B", "16", 0.021, 0.021, R"("O")", R"("D2")",
                  port("r_port_1", "read", 16, 16, R"("O, tl")") + ", " +
                      port("r_port_2", "read", 16, 16, R"("O, th")") + ", " +
                      port("w_port_1", "write", 16, 16, R"("O, fh")") + ", " +
                      port("w_port_2", "write", 16, 16, R"("O, fl")")) +
           ", " +
           memory("sram_2MB", "16777216", 416.16, 378.4, R"("I1", "I2", "O")", R"("D1", "D2")",
                  port("r_port_1", "read", 64, 2048, reads) + ", " + port("w_port_1", "write", 64, 2048, writes)) +
           R"(}, "operational_array": {"unit_energy": 0.04, "unit_area": 1, "dimensions": ["D1", "D2"], "sizes": [32, 32]},
            "dataflows": {"D1": ["K, 32"], "D2": ["C, 32"]}})";
  }
  static std::string offchip() {
    return R"({"name": "offchip", "memories": {)" +
           memory("dram", "10000000000", 1000, 1000, R"("I1", "I2", "O")", R"("D1", "D2")",
                  port("rw_port_1", "read_write", 64, 64,
                       R"("I1, fh", "I1, tl", "I2, fh", "I2, tl", "O, fh", "O, tl", "O, fl", "O, th")")) +
           R"(}, "operational_array": {"unit_energy": 0, "unit_area": 0, "dimensions": ["D1", "D2"], "sizes": [0, 0]}})";
  }
  static std::string chip(const char* quote) {  // core ids are numbers in YAML, texts in JSON
    return fmt::format(R"({{"name": "chip", "cores": {{{0}0{0}: "core.yaml", {0}1{0}: "core.yaml", {0}2{0}: "core.yaml",
               {0}3{0}: "core.yaml"}}, "offchip_core": "offchip.yaml", "core_connectivity": ["0, 1", "1, 2", "2, 3"],
               "bandwidth": 32, "unit_energy_cost": 0}})",
                       quote);
  }
  static std::string mapping(const std::string& cores) {
    return fmt::format(R"([{{"name": "default", "core_allocation": {}, "inter_core_tiling": ["K, 4"],
               "intra_core_tiling": ["OY, all"]}}])",
                       cores);
  }

  // The run of a summary with what came out.
  ValidateResult validated(const std::string& run) const {
    const std::string path = (folder_ / "results.json").string();
    write_file(path, fmt::format(R"({{"runs": [{{"id": "first", "hardware": "chip.yaml", "mapping": "map.yaml", {}}}],
            "accelerators": {{"chip": {}}}, "cores": {{"core": {}, "offchip": {}}}, "mappings": {{"map": {}}}}})",
                                 run, chip("\""), core(), offchip(), mapping(cores_)));
    return validate({.suite = "stream", .cases = {path}});
  }

  ValidateResult run(const std::string& latency, const std::string& workload = "first.onnx",
                     const std::string& cores = "[0, 1, 2, 3]", const std::string& per_layer = "{}") {
    cores_ = cores;
    return validated(
        fmt::format(R"("workload": "{}", "mode": "lbl", "layer_stacks": null, "per_layer": {}, "n_tiles": 4,
             "n_edges": 0, "result": {{"latency": {}, "total_cn_onchip_energy": 52986577.984,
                        "total_cn_offchip_memory_energy": 176792000.0}})",
                    workload, per_layer, latency));
  }

  StreamEvaluation evaluated(const std::string& workload, const std::string& stacks) const {
    write_file((folder_ / "chip.yaml").string(), chip(""));
    write_file((folder_ / "core.yaml").string(), core());
    write_file((folder_ / "offchip.yaml").string(), offchip());
    write_file((folder_ / "map.yaml").string(), mapping(cores_));
    EvaluateRequest request{.hardware = (folder_ / "chip.yaml").string(),
                            .mode = "inference",
                            .plan = (folder_ / "map.yaml").string(),
                            .stacks = stacks};
    request.model.model = (folder_ / "models" / workload).string();
    return evaluate_stream(request);
  }

  std::string cores_ = "[0, 1, 2, 3]";
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

// Stream's own figures, from its files.
TEST_F(StreamRuns, AreTheSameEvaluated) {
  const StreamEvaluation e = evaluated("first.onnx", "[0]");
  ASSERT_TRUE(e.is_feasible()) << e.failure;
  EXPECT_EQ(e.result.latency, 633185.0);
  EXPECT_NEAR(e.result.onchip_pj, 52986577.984, 1e-3);
  EXPECT_EQ(e.result.memory_pj[0], 176792000.0);
  EXPECT_EQ(e.plan.problem.tiles.size(), 4u);
}

TEST_F(StreamRuns, OfFusedLayersAreTheSameEvaluated) {
  const StreamEvaluation alone = evaluated("two.onnx", "[0]");
  for (const auto& [stacks, list] :
       {std::pair("[(0, 1)]", "[[0, 1]]"), std::pair("", "null"), std::pair("[1, 0]", "[[1], [0]]")}) {
    const StreamEvaluation e = evaluated("two.onnx", stacks);
    ASSERT_TRUE(e.is_feasible()) << e.failure;
    EXPECT_EQ(e.result.latency == alone.result.latency, std::string(stacks) == "[1, 0]");
    const std::string run =
        fmt::format(R"("workload": "two.onnx", "mode": "fused", "layer_stacks": {}, "n_tiles": {}, "n_edges": {},
             "n_comm_events": {}, "result": {{"latency": {{0}}, "energy": {}, "total_cn_onchip_energy": {},
             "total_core_to_core_memory_energy": {}}})",
                    list, e.plan.problem.tiles.size(), e.plan.problem.edges.size(), e.result.events.size(),
                    e.result.energy_pj, e.result.onchip_pj, e.result.memory_pj[3]);
    const auto with_latency = [&](double latency) {
      std::string text = run;
      return text.replace(text.find("{0}"), 3, fmt::format("{}", latency));
    };
    const ValidateResult result = validated(with_latency(e.result.latency));
    EXPECT_TRUE(result.matches) << text(result);
    EXPECT_EQ(result.suites[0].rows.at(0).figures, 7u);
    EXPECT_FALSE(validated(with_latency(e.result.latency + 1)).matches);
  }
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
