// Does the comparison with ZigZag find what is off, and nothing else? Figures: ZigZag 3.8.5.
#include "monet/verbs/validate.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "monet/base/diagnostic.h"
#include "monet/base/file.h"
#include "monet/base/gzip.h"
#include "monet/graph/builder.h"
#include "monet/verbs/comparison.h"
#include "monet/verbs/zigzag_cases.h"
#include "monet/verbs/zigzag_networks.h"

namespace monet {
namespace {

class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / ("monet_validate_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path_ / "files" / "mapping");
    std::filesystem::create_directories(path_ / "cases" / "here");
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string write(const std::string& name, const std::string& text) const {
    write_file((path_ / name).string(), text);
    return (path_ / name).string();
  }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

TEST(Validate, OwnCasesAgreeInEveryFigure) {
  const ValidateResult result = validate({});
  EXPECT_TRUE(result.matches);
  std::size_t cases = 0, figures = 0;
  for (const ValidationSuite& suite : result.suites)
    for (const ValidationRow& row : suite.rows) {
      ++cases;
      figures += row.figures;
      // ZigZag ends in "KeyError: K" for the fully connected layer on its two in-memory arrays.
      EXPECT_EQ(row.comparable, row.id.find("imc/r18_fc") == std::string::npos) << row.id;
      EXPECT_EQ(row.matches, row.comparable) << row.id << " " << row.figure;
    }
  EXPECT_EQ(cases, 50u);
  EXPECT_GT(figures, 1500u);
}

TEST(Validate, SchedulesOfStreamAreMadeAgain) {
  const ValidateResult own = validate({.suite = "stream"});
  EXPECT_TRUE(own.matches);
  ASSERT_EQ(own.suites.size(), 2u);
  // Small random problems, among them parts of tensors, sinks, evictions and operands that stream. Their schedules were
  // made by a second reading of the same rules, in Python, not by Stream.
  std::vector<std::string> cases;
  for (const auto& entry : std::filesystem::directory_iterator(MONET_TEST_DATA "/stream"))
    cases.push_back(entry.path().string());
  const ValidateResult result = validate({.suite = "stream", .cases = cases});
  EXPECT_EQ(result.suites.size(), 25u);
  EXPECT_TRUE(result.matches);
}

TEST(Validate, AScheduleThatIsOffIsFound) {
  const Folder folder;
  const std::string bytes = unpacked(read_file(MONET_TEST_DATA "/stream/case_01000.schedule.json.gz"), "case");
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = bytes;
    const std::size_t at = changed.find(from);
    EXPECT_NE(at, std::string::npos);
    return validate({.suite = "stream", .cases = {folder.write("x.json", changed.replace(at, from.size(), to))}});
  };
  EXPECT_TRUE(with("\"runtime\"", "\"runtime\"").matches);
  EXPECT_FALSE(with("\"runtime\": ", "\"runtime\": 1").matches);
  EXPECT_FALSE(with("\"latency\": ", "\"latency\": 1").matches);
  EXPECT_THROW(with("\"scheduling_order\"", "\"order\""), InputError);
  EXPECT_THROW(with("\"edges_src_dst_operand_bits\"", "\"edges\""), InputError);
}

TEST(Validate, ComparisonKeepsTheFigureThatIsFurthestOff) {
  Comparison c("case");
  c.compare("a", 100, 100);
  c.compare("b", 101, 100);
  c.compare("c", 98, 100);
  const ValidationRow row = c.finish("a");
  EXPECT_FALSE(row.matches);
  EXPECT_EQ(row.figure, "c");
  EXPECT_DOUBLE_EQ(row.error, -0.02);
}

TEST(Validate, TolerancesAreTight) {
  Comparison within("within"), beyond("beyond"), nothing("nothing");
  within.compare("e", 1 + 0.9e-9, 1, 1e-9);
  beyond.compare("e", 1 + 1.1e-9, 1, 1e-9);
  EXPECT_TRUE(within.finish("e").matches);
  EXPECT_FALSE(beyond.finish("e").matches);
  EXPECT_FALSE(nothing.finish("e").matches) << "a case in which nothing was compared does not agree";
}

constexpr const char* kWorkload = R"(
- id: 2
  operator_type: Conv
  equation: O[b][k][oy][ox]+=W[k][c][fy][fx]*I[b][c][iy][ix]
  dimension_relations: [ix=1*ox+1*fx, iy=1*oy+1*fy]
  loop_dims: [B, K, C, OY, OX, FY, FX]
  loop_sizes: [1, 64, 64, 56, 56, 3, 3]
  operand_precision: {W: 8, I: 8, O: 16, O_final: 8}
)";
constexpr const char* kMapping = R"(
- name: default
  spatial_mapping: {D1: ["K, 32"], D2: ["C, 32"]}
  memory_operand_links: {O: O, W: I2, I: I1}
)";

// The second convolution of ResNet-18 on tpu_like: 68294568.736 pJ, 113739 cycles.
std::string networks(const std::string& energy) {
  return R"({"measured": [], "expectations": [{"workload": "net.yaml", "accelerator": "hardware/tpu_like.yaml",
             "mapping": "mapping/tpu.yaml", "expected": [)" +
         energy + ", 113739]}]}";
}

TEST(Validate, NetworksAreFoundAroundTheirCasesAndSummed) {
  const Folder folder;
  folder.write("files/net.yaml", kWorkload);
  folder.write("files/mapping/tpu.yaml", kMapping);
  const std::string right = folder.write("cases/here/networks.json", networks("68294568.736"));
  const std::string wrong = folder.write("cases/here/wrong.json", networks("68294768.736"));
  EXPECT_TRUE(validate({.cases = {right}}).matches);
  const ValidateResult off = validate({.cases = {wrong}});
  ASSERT_EQ(off.suites.size(), 1u);
  ASSERT_EQ(off.suites[0].rows.size(), 1u);
  EXPECT_EQ(off.suites[0].rows[0].figure, "energy_pj");
  EXPECT_NEAR(off.suites[0].rows[0].error, -200.0 / 68294768.736, 1e-12);
}

TEST(Validate, WhatCannotBeRunIsSaidAndDoesNotAgree) {
  const Folder folder;
  const std::string cases = folder.write("networks.json", networks("68294568.736"));
  const ValidateResult result = validate({.cases = {cases}, .folders = {folder.path() + "/files"}});
  EXPECT_FALSE(result.matches);
  ASSERT_EQ(result.suites.size(), 1u);
  ASSERT_EQ(result.suites[0].skipped.size(), 1u);
  EXPECT_NE(text(result).find("not run: net.yaml"), std::string::npos);
}

TEST(Validate, AFileThatHoldsNoCasesIsRefused) {
  const Folder folder;
  EXPECT_THROW(validate({.cases = {folder.write("other.json", "{\"a\": 1}")}}), InputError);
  EXPECT_THROW(validate({.cases = {folder.write("list.json", "[1]")}}), InputError);
  EXPECT_THROW(validate({.cases = {folder.write("cases.json", "{\"cases\": 7}")}}), InputError);
  EXPECT_THROW(validate({.suite = "silicone"}), InputError);
}

TEST(Validate, StatisticsAreThoseOfTheRows) {
  ValidationSuite suite;
  for (const double error : {0.1, -0.4, 0.0}) suite.rows.push_back({.error = error, .matches = error == 0});
  EXPECT_EQ(suite.exact(), 1u);
  EXPECT_NEAR(suite.mean_abs_error(), 0.5 / 3, 1e-15);
  EXPECT_DOUBLE_EQ(suite.median_abs_error(), 0.1);
  EXPECT_DOUBLE_EQ(suite.worst_abs_error(), 0.4);
}

TEST(Validate, OnnxConvolutionsBecomeZigzagsLayers) {
  Builder b("net");
  const TensorId x = b.source("x", {1, 4, 20, 30}, {Element::F32}, Category::Input);
  const TensorId w = b.source("w", {8, 2, 5, 3}, {Element::F32}, Category::Weight);
  Conv conv;
  conv.strides = {2, 1};
  conv.dilations = {1, 1};
  conv.pads_begin = conv.pads_end = {0, 0};
  conv.groups = 2;
  b.one(conv, {x, w}, "conv");
  const std::vector<cost::Layer> layers = zigzag_layers(b.graph());
  ASSERT_EQ(layers.size(), 1u);
  // Order and names of the front end's loops; a kernel of 5 rows and 3 columns has FX 5 and FY 3 there.
  const std::vector<work::Dimension> expected{{"B", 1},  {"K", 4}, {"G", 2},  {"OX", 28},
                                              {"OY", 8}, {"C", 2}, {"FX", 5}, {"FY", 3}};
  EXPECT_EQ(layers[0].dimensions, expected);
  EXPECT_EQ(layers[0].operands[0].partial_bits, 16);
  EXPECT_EQ(layers[0].operands[2].axes[3].extent, 20);  // iy, clipped to the input
}

}  // namespace
}  // namespace monet
