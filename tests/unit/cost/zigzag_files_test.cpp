#include "monet/cost/zigzag_files.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

namespace monet::cost {
namespace {

using hardware::Slot;
using hardware::Unrolling;

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  return at == std::string::npos ? "nothing to replace: " + from : text.replace(at, from.size(), to);
}
std::string mapping_faults(const std::string& text) {
  try {
    std::string out;
    for (const Diagnostic& d : parse_mapping(text, "m.yaml").warnings) out += to_string(d) + "\n";
    return out;
  } catch (const InputError& error) {
    return error.what();
  }
}
std::string workload_faults(const std::string& text) {
  try {
    std::string out;
    for (const Diagnostic& d : parse_workload(text, "w.yaml").warnings) out += to_string(d) + "\n";
    return out;
  } catch (const InputError& error) {
    return error.what();
  }
}
bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

const std::string kMapping = R"(- name: default
  spatial_mapping:
    D1:
      - K, 32
    D2:
      - C, 2
      - FX, 3
  spatial_mapping_hint:
    D2: [C, FX]
  temporal_ordering:
    - [OX, 112]
    - ["*", "*"]
    - [K, "*"]
  memory_operand_links: {O: O, W: I2, I: I1}
- name: Add
  spatial_mapping: null
)";

TEST(ZigzagMapping, ReadsEveryKey) {
  const MappingFile file = parse_mapping(kMapping, "m.yaml").file;
  ASSERT_EQ(file.requests.size(), 2u);
  const MappingRequest& r = file.requests[0];
  EXPECT_EQ(r.name, "default");
  EXPECT_EQ(r.spatial, (Named<std::vector<Unrolling>>{{"D1", {{"K", 32}}}, {"D2", {{"C", 2}, {"FX", 3}}}}));
  EXPECT_EQ(r.hints, (Named<std::vector<std::string>>{{"D2", {"C", "FX"}}}));
  EXPECT_EQ(r.ordering, (std::vector<LoopPattern>{{"OX", 112}, {std::nullopt, std::nullopt}, {"K", std::nullopt}}));
  EXPECT_EQ(r.slots, (Named<Slot>{{"O", Slot::Output}, {"W", Slot::Weight}, {"I", Slot::Input}}));
  EXPECT_EQ(file.requests[1], MappingRequest{.name = "Add"});
  EXPECT_TRUE(file.allocations.empty());
}

TEST(ZigzagMapping, IsFoundByNameTypeOrDefault) {
  const std::vector<MappingRequest> requests{{.name = "default"}, {.name = "Conv"}, {.name = "first"}};
  EXPECT_EQ(find_request(requests, {.name = "first", .operator_type = "Conv"})->name, "first");
  EXPECT_EQ(find_request(requests, {.name = "second", .operator_type = "Conv"})->name, "Conv");
  EXPECT_EQ(find_request(requests, {.name = "second", .operator_type = "Gemm"})->name, "default");
  EXPECT_EQ(find_request({}, {.name = "second"}), nullptr);
}

TEST(StreamMapping, ListsOf2025) {
  const MappingFile file = parse_mapping(
                               "- name: default\n  core_allocation: [0, 1]\n  core_allocation_is_fixed: true\n  "
                               "intra_core_tiling:\n    - OY, all\n  inter_core_tiling:\n    - K, *\n    - C, 4\n",
                               "m.yaml")
                               .file;
  EXPECT_EQ(
      file.allocations,
      (std::vector<Allocation>{{"default", {{0, 1}}, true, {{"K", std::nullopt}, {"C", 4}}, {{"OY", std::nullopt}}}}));
}

TEST(StreamMapping, LayersAndFusedGroupsOf2026) {
  const MappingFile file = parse_mapping(R"(layers:
- name: Conv
  core_allocation:
  - [0, 1, 2, 3]
  - [4]
  inter_core_tiling:
  - - {dim: D6, split: 4}
  kernel: {name: conv}
fused_groups:
- name: Group
  layers: [Conv, Relu]
  intra_core_tiling:
  - {dim: /maxpool/MaxPool.D2, tile: 1}
runtime_args: {}
)",
                                         "m.yaml")
                               .file;
  EXPECT_EQ(file.allocations, (std::vector<Allocation>{{"Conv", {{0, 1, 2, 3}, {4}}, false, {{"D6", 4}}, {}}}));
  EXPECT_EQ(file.groups, (std::vector<FusedGroup>{{"Group", {"Conv", "Relu"}, {{"/maxpool/MaxPool.D2", 1}}}}));
}

TEST(ZigzagMapping, SaysWhatIsWrong) {
  EXPECT_TRUE(has(mapping_faults(replaced(kMapping, "K, 32", "K 32")),
                  "m.yaml:4:9: error: 'K 32' is no loop (a dimension and a factor, as in 'K, 32')"));
  EXPECT_TRUE(has(mapping_faults(replaced(kMapping, "K, 32", "K, 0")), "'K, 0' is no loop"));
  EXPECT_TRUE(has(mapping_faults(replaced(kMapping, "[OX, 112]", "[OX]")), "must be [dimension, factor]"));
  EXPECT_TRUE(has(mapping_faults(replaced(kMapping, "112", "-2")), "'factor' must be positive, not '-2'"));
  EXPECT_TRUE(
      has(mapping_faults(replaced(kMapping, "W: I2", "W: I3")), "unknown memory operand 'I3' (known: I1, I2, O)"));
  EXPECT_TRUE(
      has(mapping_faults(replaced(kMapping, "spatial_mapping_hint", "spatial_maping_hint")),
          "m.yaml:8:3: error: unknown key 'spatial_maping_hint' in a mapping (did you mean 'spatial_mapping_hint'?)"));
  EXPECT_TRUE(
      has(mapping_faults(replaced(kMapping, "name: default", "name: Conv")), "there is no mapping called 'default'"));
  EXPECT_TRUE(
      has(mapping_faults(replaced(kMapping, "name: Add", "name: default")), "a second mapping is called 'default'"));
  EXPECT_TRUE(has(mapping_faults("a: 1"), "not a mapping file"));
}

const std::string kLayer = R"(- id: 3
  operator_type: Conv
  equation: O[b][k][oy][ox]+=W[k][c][fy][fx]*I[b][c][iy][ix]
  dimension_relations: [ix=2*ox+1*fx, iy=oy + fy]
  loop_dims: [B, K, C, OY, OX, FY, FX]
  loop_sizes: [1, 64, 3, 8, 10, 5, 3]
  operand_precision: {W: 8, I: 8, O: 16, O_final: 8}
  operand_source: {I: 0, W: 3}
  pr_loop_dims: [IX, IY]
  padding: [[1, 0], [2, 2]]
)";

TEST(ZigzagWorkload, ReadsALayer) {
  const Layer layer = parse_workload(kLayer, "w.yaml").layers[0];
  EXPECT_EQ(layer.name, "layer_3");
  EXPECT_EQ(layer.operator_type, "Conv");
  ASSERT_EQ(layer.dimensions.size(), 7u);
  EXPECT_EQ(layer.dimensions[1], (work::Dimension{"K", 64}));
  ASSERT_EQ(layer.operands.size(), 3u);
  EXPECT_EQ(layer.operands[0].name, "O");
  EXPECT_EQ(layer.operands[0].slot, Slot::Output);
  EXPECT_EQ(layer.operands[0].bits, 8);
  EXPECT_EQ(layer.operands[0].partial_bits, 16);
  EXPECT_EQ(layer.operands[1].slot, Slot::Weight);
  const Operand& input = layer.operands[2];
  EXPECT_EQ(input.slot, Slot::Input);
  EXPECT_EQ(input.partial_bits, 8);
  EXPECT_EQ(input.axes[1], (work::Axis{3, 0, {{2, 1}}}));
  EXPECT_EQ(input.axes[2], (work::Axis{8 + 5 - 1 - 4, -2, {{3, 1}, {5, 1}}}));
  EXPECT_EQ(input.axes[3], (work::Axis{2 * 9 + 2 + 1 - 1, -1, {{4, 2}, {6, 1}}}));
}

// The closed form for distinct indices against counting them. Where the first loop is too short for indices to be met
// twice, ZigZag's form counts holes as well.
TEST(ZigzagWorkload, ExtentsAreDistinctIndices) {
  for (int sa = 1; sa <= 3; ++sa)
    for (int sb = 1; sb <= 3; ++sb)
      for (int a = 1; a <= 6; ++a)
        for (int b = 1; b <= 6; ++b) {
          std::set<int> indices;
          for (int i = 0; i < a; ++i)
            for (int k = 0; k < b; ++k) indices.insert(sa * i + sb * k);
          const std::string text =
              "- {id: 0, operator_type: Conv, equation: 'O[ox]+=W[fx]*I[ix]', dimension_relations: [ix=" +
              std::to_string(sa) + "*ox+" + std::to_string(sb) + "*fx], loop_dims: [OX, FX], loop_sizes: [" +
              std::to_string(a) + ", " + std::to_string(b) + "], operand_precision: {W: 8, I: 8, O: 8}}";
          const std::int64_t extent = parse_workload(text, "w.yaml").layers[0].operands[2].axes[0].extent;
          const int g = std::gcd(sa, sb);
          if (a < sb / g && b > sa / g) {
            EXPECT_GT(extent, static_cast<std::int64_t>(indices.size())) << text;
            continue;
          }
          EXPECT_EQ(extent, static_cast<std::int64_t>(indices.size())) << text;
        }
}

TEST(ZigzagWorkload, OtherEquations) {
  const auto first = [](const std::string& equation, const std::string& precision) {
    return parse_workload("- {id: 0, name: n, operator_type: Add, equation: '" + equation +
                              "', loop_dims: [B, G], loop_sizes: [2, 3], operand_precision: " + precision + "}",
                          "w.yaml")
        .layers[0];
  };
  EXPECT_EQ(first("O[b][g]=W[b][g]+I[b][g]", "{W: 8, I: 8, O: 8}").operands.size(), 3u);
  const Layer scalar = first("O[b][g]+=I[b][g]*W[]", "{W: 0, I: 8, O: 8}");
  EXPECT_EQ(scalar.operands[1].name, "I");
  EXPECT_TRUE(scalar.operands[2].axes.empty());
  EXPECT_EQ(scalar.operands[2].bits, 0);
  EXPECT_EQ(scalar.name, "n");
  const Layer others = first("O[b]+=A[b][g]*X[g]", "{A: 8, X: 4, O: 8}");
  EXPECT_EQ(others.operands[1].slot, Slot::Weight);
  EXPECT_EQ(others.operands[2].slot, Slot::Input);
}

TEST(ZigzagWorkload, LinksChooseTheSlot) {
  const config::Tree tree = config::parse_yaml(
      "{id: 0, operator_type: Gemm, equation: 'O[b]+=W[b]*I[b]', loop_dims: [B], loop_sizes: [2], operand_precision: "
      "{W: 8, I: 8, O: 8}}",
      "w");
  config::Findings findings;
  const Layer layer = read_zigzag_layer(tree.root(), {{"W", Slot::Input}, {"I", Slot::Weight}}, findings);
  EXPECT_TRUE(findings.list().empty());
  EXPECT_EQ(layer.operands[1].slot, Slot::Input);
  EXPECT_EQ(layer.operands[2].slot, Slot::Weight);
  read_zigzag_layer(tree.root(), {{"W", Slot::Input}, {"I", Slot::Input}}, findings);
  EXPECT_TRUE(findings.failed());
}

TEST(ZigzagWorkload, SaysWhatIsWrong) {
  EXPECT_TRUE(has(workload_faults(replaced(kLayer, "O[b][k]", "O[b][q]")),
                  "w.yaml:3:13: error: 'Q' is neither a loop dimension nor defined by a relation"));
  EXPECT_TRUE(
      has(workload_faults(replaced(kLayer, "*I[b]", "?I[b]")), "is no equation of one output and one or two inputs"));
  EXPECT_TRUE(has(workload_faults(replaced(kLayer, "ix=2*ox+1*fx", "ix=ox-fx")),
                  "'ix=ox-fx' is no relation of dimensions (such as ix=2*ox+1*fx)"));
  EXPECT_TRUE(has(workload_faults(replaced(kLayer, "[1, 64,", "[64,")), "7 loop dimensions but 6 sizes"));
  EXPECT_TRUE(has(workload_faults(replaced(kLayer, "[1, 64,", "[0, 64,")), "'loop_sizes' must be positive, not '0'"));
  EXPECT_TRUE(has(workload_faults(replaced(kLayer, "[1, 64, 3, 8,", "[1000000000000, 1000000000, 3, 8,")),
                  "iterations are more than"));
  EXPECT_TRUE(has(workload_faults(replaced(kLayer, "[B, K, C,", "[B, K, K,")), "loop dimension 'K' is given twice"));
  EXPECT_TRUE(
      has(workload_faults(replaced(kLayer, "{W: 8, I: 8,", "{W: 8,")), "'operand_precision' says nothing of 'I'"));
  EXPECT_TRUE(
      has(workload_faults(replaced(kLayer, "[1, 0]", "[30, 0]")), "padding of 30 leaves nothing of 21 indices"));
  EXPECT_TRUE(
      has(workload_faults(replaced(kLayer, "[IX, IY]", "[IX, IZ]")), "no relation defines 'IZ' (did you mean 'IX'?)"));
  EXPECT_TRUE(has(workload_faults(replaced(kLayer, "loop_sizes", "loop_size")), "did you mean 'loop_sizes'?"));
  EXPECT_TRUE(has(workload_faults("- name: x"), "not a workload file"));
}

}  // namespace
}  // namespace monet::cost
