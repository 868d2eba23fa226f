// Are measured chips read as they are described, and do the effects add up? Figures of the chips: their own
// descriptions (Stream's validation branch, commit 34853444), counted by hand.
#include "monet/verbs/silicon_cases.h"

#include <gtest/gtest.h>

#include "monet/base/diagnostic.h"
#include "monet/verbs/silicon_chip.h"
#include "monet/verbs/training_cases.h"
#include "monet/verbs/validation_data.h"

namespace monet {
namespace {

std::vector<ValidationSuite> run(const std::string& text) {
  const config::Tree tree = config::parse_json(text, "case.json");
  std::vector<ValidationSuite> suites;
  run_silicon_file("case", tree.root(), suites);
  return suites;
}

double effect(const ValidationRow& row, const std::string& name) {
  for (const ValidationEffect& e : row.effects)
    if (e.name == name) return e.value;
  ADD_FAILURE() << row.id << " has no effect " << name;
  return 0;
}

TEST(Silicon, ChipsOfTheLibraryRun) {
  const auto suites = run(std::string(silicon_chips_data()));
  ASSERT_EQ(suites.size(), 1u);
  ASSERT_EQ(suites[0].rows.size(), 3u);
  const ValidationRow &depfin = suites[0].rows[0], &diana = suites[0].rows[1], &jia = suites[0].rows[2];
  // 540 rows of (800 + 448 + 4 · 864 + 384 + 4032) steps; Stream's own ideal is the same number.
  EXPECT_EQ(effect(depfin, "busiest core, lanes alone"), 4'924'800);
  // 112 rows of 7 · 4 · 147 steps.
  EXPECT_EQ(effect(diana, "busiest core, lanes alone"), 112 * 7 * 4 * 147);
  EXPECT_EQ(effect(jia, "busiest core, lanes alone"), 28 * 56);
  EXPECT_NEAR(effect(jia, "lanes alone, with dependencies"), 1'630, 1);  // Stream's
  for (const ValidationRow& row : suites[0].rows) {
    SCOPED_TRACE(row.id);
    const double ours = std::get<double>(row.ours);
    const double measured = std::get<double>(row.theirs);
    EXPECT_EQ(row.error, (ours - measured) / measured);
    EXPECT_EQ(row.matches, std::abs(row.error) <= kChipTolerance);
    EXPECT_LT(std::abs(row.error), 0.25);
    EXPECT_EQ(effect(row, "+ shared ports"), ours);
    // Each effect can only add.
    double before = effect(row, "lanes alone, with dependencies");
    for (const char* name : {"+ ports, fill and drain", "+ transfers", "+ finite memories"}) {
      EXPECT_GE(effect(row, name), before) << name;
      before = effect(row, name);
    }
    EXPECT_GE(effect(row, "+ ports, fill and drain"), effect(row, "busiest core, with ports, fill and drain"));
    EXPECT_GE(effect(row, "off-chip transfers and compute take turns"), effect(row, "+ ports, fill and drain"));
  }
}

// Two cores in a row, 4 outputs of OX side by side; the second waits for the first.
const char* const kCase = R"text({
  "chip": "small (two cores)", "measured_latency_cycles": 100,
  "scheduling": {"hint_loops": "[(\"OY\", \"all\")]"},
  "hardware": {"cores": [CORE_7, CORE_9,
    {"id": 3, "array": {"D1": 1}, "unit_energy": Infinity, "dataflows": null, "memories": [
      {"name": "dram", "size_bits": 1000000, "r_bw": 64, "w_bw": 64, "r_cost": 1, "w_cost": 1, "instance": 90,
       "operands": ["I1", "I2", "O"], "served_dimensions": ["D1"], "port_alloc": [
         {"fh": "w_port_1", "tl": "r_port_1"}, {"fh": "w_port_1", "tl": "r_port_1"},
         {"fh": "w_port_1", "tl": "r_port_1", "fl": "w_port_1", "th": "r_port_1"}]}]}],
   "links": [{"src": 7, "dst": 9, "bandwidth": 32, "unit_energy": 0, "physical": 0},
             {"src": 7, "dst": 3, "bandwidth": 64, "unit_energy": 0, "physical": 1},
             {"src": 3, "dst": 7, "bandwidth": 64, "unit_energy": 0, "physical": 1},
             {"src": 9, "dst": 3, "bandwidth": 64, "unit_energy": 0, "physical": 2},
             {"src": 3, "dst": 9, "bandwidth": 64, "unit_energy": 0, "physical": 2}],
   "offchip_core": 3},
  "mapping": {"first": {"core_allocation": [7]}, "default": {"core_allocation": [9]}},
  "workload": {
    "0": {"operator_type": "first", "dimension_relations": ["ix=1*ox+1*fx", "iy=1*oy+1*fy"],
          "loop_dim_size": {"B": 1, "K": 2, "C": 3, "OY": 6, "OX": 8, "FY": 3, "FX": 3},
          "operand_precision": {"O": 16, "O_final": 8, "W": 8, "I": 8},
          "operand_source": {"W": [], "I": []}, "padding": {"IY": [1, 1], "IX": [1, 1]}},
    "1": {"operator_type": "second",
          "loop_dim_size": {"B": 1, "K": 4, "C": 2, "OY": 6, "OX": 8},
          "operand_precision": {"O": 16, "O_final": 8, "W": 8, "I": 8},
          "operand_source": {"W": [], "I": [0]}}}})text";

const char* const kCore = R"text({"id": ID, "array": {"D1": 4}, "unit_energy": 1, "dataflows": [{"D1": ["OX", 4]}],
  "memories": [
    {"name": "rf_o", "size_bits": 16, "r_bw": 16, "w_bw": 16, "r_cost": 0, "w_cost": 0, "instance": ID1,
     "operands": ["O"], "served_dimensions": [], "port_alloc": [
       {"fh": "w_port_1", "tl": "r_port_1", "fl": "w_port_2", "th": "r_port_2"}]},
    {"name": "l1", "size_bits": 65536, "r_bw": 4096, "w_bw": 4096, "r_cost": 1, "w_cost": 1, "instance": ID2,
     "operands": ["I1", "I2", "O"], "served_dimensions": ["D1"], "port_alloc": [
       {"fh": "w_port_1", "tl": "r_port_1"}, {"fh": "w_port_2", "tl": "r_port_2"},
       {"fh": "w_port_3", "tl": "r_port_3", "fl": "w_port_4", "th": "r_port_4"}]}]})text";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  for (std::size_t i = at; i != std::string::npos; i = text.find(from, i + to.size())) text.replace(i, from.size(), to);
  return text;
}

std::string small_case() {
  const auto core = [](const std::string& id) { return replaced(replaced(kCore, "ID1", "1" + id), "ID2", "2" + id); };
  return replaced(replaced(kCase, "CORE_7", replaced(core("7"), "ID", "7")), "CORE_9", replaced(core("9"), "ID", "9"));
}

TEST(Silicon, AChipInTheFileRuns) {
  const auto suites = run(small_case());
  ASSERT_EQ(suites.size(), 1u);
  const ValidationRow& row = suites[0].rows.at(0);
  EXPECT_EQ(row.id, "small");
  ASSERT_TRUE(std::holds_alternative<double>(row.ours)) << std::get<std::string>(row.ours);
  // A row of the first layer takes 2 blocks of OX, 2 channels and 27 products; of the second 2 · 4 · 2.
  EXPECT_EQ(effect(row, "busiest core, lanes alone"), 6 * 2 * 2 * 27);
  EXPECT_EQ(effect(row, "lanes alone, with dependencies"), 6 * 2 * 2 * 27 + 2 * 4 * 2);
  EXPECT_EQ(row.error, (std::get<double>(row.ours) - 100) / 100);
  EXPECT_FALSE(row.matches);
}

TEST(Silicon, LinksAreReadByTheirMedia) {
  const config::Tree tree = config::parse_json(small_case(), "case.json");
  config::Findings findings;
  const SiliconChip chip = read_silicon_chip(*tree.root().find("hardware"), findings);
  EXPECT_FALSE(findings.failed());
  ASSERT_EQ(chip.hardware.links.size(), 3u);
  EXPECT_FALSE(chip.hardware.links[0].is_bus);  // one way only
  EXPECT_TRUE(chip.hardware.links[1].is_bus);   // both ways in turn
  EXPECT_TRUE(chip.hardware.links[2].is_bus);
  // Two media end at the memory: its ports are as wide as both.
  for (const hardware::Port& port : chip.hardware.cores[2].memories[0].ports)
    EXPECT_EQ(port.max_bits_per_cycle, 128) << port.name;
  EXPECT_EQ(chip.cores.at(9), 1u);
}

TEST(Silicon, FaultsAreFound) {
  EXPECT_THROW(run(replaced(small_case(), "\\\"OY\\\"", "\\\"K\\\"")), InputError);
  EXPECT_THROW(run(replaced(small_case(), "[9]", "[8]")), InputError);
  EXPECT_THROW(run(replaced(small_case(), "\"I\": [0]", "\"I\": [5]")), InputError);
  EXPECT_THROW(run(replaced(small_case(), "\"C\": 2, \"OY\"", "\"C\": 5, \"OY\"")), InputError);
  EXPECT_THROW(run(replaced(small_case(), "ix=1*ox+1*fx", "ix=ox")), InputError);
  EXPECT_THROW(run(replaced(small_case(), "\"offchip_core\": 3", "\"offchip_core\": 4")), InputError);
  EXPECT_THROW(run(replaced(small_case(), "\"dst\": 9", "\"dst\": 8")), InputError);
  EXPECT_THROW(run(replaced(small_case(), "\"W\": 8, \"I\": 8", "\"W\": 7, \"I\": 8")), InputError);
}

TEST(Silicon, TrainingRates) {
  const auto suites = run(R"text({"rows": [
    {"device": "Google TPU v2", "model": "ResNet-18", "input": "3x32x32", "batch_per_device": 2, "value": 10, "unit": "images/s"},
    {"device": "Google TPU v2", "model": "ResNet-18", "input": "3x32x32", "batch_per_device": 2, "value": 20, "unit": "images/s"},
    {"device": "Google TPU v2", "model": "ResNet-1800", "value": 10, "unit": "images/s"},
    {"device": "Abacus", "model": "ResNet-18", "value": 10, "unit": "images/s"},
    {"device": "Google TPU v3", "model": "ResNet-18", "value": 10, "unit": "ms/step"},
    {"device": "Google TPU v3", "model": "ResNet-18", "mode": "training step, sparse update", "value": 1, "unit": "images/s"}]})text");
  ASSERT_EQ(suites.size(), 1u);
  ASSERT_EQ(suites[0].rows.size(), 2u);
  ASSERT_EQ(suites[0].skipped.size(), 4u);
  EXPECT_EQ(suites[0].skipped[0].reason, "no such model yet");
  EXPECT_EQ(suites[0].skipped[1].reason, "no such chip in the library");
  const ValidationRow& row = suites[0].rows[0];
  ASSERT_TRUE(std::holds_alternative<double>(row.ours)) << std::get<std::string>(row.ours);
  EXPECT_EQ(row.ours, suites[0].rows[1].ours);
  EXPECT_DOUBLE_EQ(row.error, std::get<double>(row.ours) / 10 - 1);
  // No resource alone is slower than all of them together.
  for (const ValidationEffect& e : row.effects)
    if (!e.is_alternative) {
      EXPECT_GE(e.value * (1 + 1e-9), std::get<double>(row.ours)) << e.name;
    }
  EXPECT_LT(effect(row, "no operators fused"), std::get<double>(row.ours));
  EXPECT_EQ(effect(row, "scheduled"), std::get<double>(row.ours));
}

}  // namespace
}  // namespace monet
