#include "monet/hardware/space.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

namespace monet::hardware {
namespace {

// A space over a chip of the library.
std::string space_text(const std::string& rest) { return "monet: space\nname: s\nchip: fusemax_monet\n" + rest; }
Family family_of(const std::string& rest) { return Family(parse_space(space_text(rest), "s.yaml")); }

std::string fault_of(const std::string& rest) {
  try {
    family_of(rest);
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}

TEST(Space, SetsRangesPowersAndExpressions) {
  const LoadedSpace loaded = parse_space(space_text("variables:\n"
                                                    "  x: [64, 96]\n"
                                                    "  y: {powers_of_two: [60, 256]}\n"
                                                    "  vector_lanes: {range: [32, 64], step: 16}\n"
                                                    "  buffer_mib: {range: [1, 2], step: 0.5}\n"
                                                    "  buffer_bits: {is: \"${x * 32}\"}\n"),
                                         "s.yaml");
  const std::vector<Variable>& v = loaded.space.variables;
  EXPECT_EQ(v[0].values, (std::vector<std::string>{"64", "96"}));
  EXPECT_EQ(v[1].values, (std::vector<std::string>{"64", "128", "256"}));
  EXPECT_EQ(v[2].values, (std::vector<std::string>{"32", "48", "64"}));
  EXPECT_EQ(v[3].values, (std::vector<std::string>{"1", "1.5", "2"}));
  EXPECT_FALSE(v[4].is_free());
  const Family f(loaded);
  EXPECT_EQ(f.size(), 2 * 3 * 3 * 3);
  const Member m = f.member({1, 0, 2, 1});
  ASSERT_TRUE(m.hardware) << m.reason;
  EXPECT_EQ(m.hardware->cores[0].array->dimensions[0].size, 96);
  EXPECT_EQ(m.hardware->cores[0].array->dimensions[1].size, 64);
  EXPECT_EQ(m.hardware->cores[1].vector->lanes, 64);
  EXPECT_EQ(m.hardware->cores[0].memories.back().size_bits, 3 * 512 * 1024 * 8);
  EXPECT_EQ(m.hardware->cores[0].memories.back().ports[0].max_bits_per_cycle, 96 * 32);
}

TEST(Space, AnyFieldIsAVariable) {
  const Family f = family_of(
      "variables:\n"
      "  cores.vector.memories.local.size: [64 KiB, 256 KiB]\n"
      "  clock: [940 MHz, 1 GHz]\n"
      "  links.1.energy: [0 pJ/bit, 1 pJ/bit]\n"
      "  cores.array.memories.buffer.leakage: [1 W]\n");
  const Member m = f.member({1, 1, 1, 0});
  ASSERT_TRUE(m.hardware) << m.reason;
  EXPECT_DOUBLE_EQ(m.hardware->clock_hz.value, 1e9);
  EXPECT_EQ(m.hardware->cores[1].memories[0].size_bits, 256 * 1024 * 8);
  EXPECT_DOUBLE_EQ(m.hardware->links[1].energy_pj_per_bit.value, 1);
  EXPECT_DOUBLE_EQ(m.hardware->cores[0].memories.back().leakage_mw.value, 1000) << "a field that was not there";
}

TEST(Space, ConstraintsThatNeverHaveAValueAreRefusedWithTheirPlace) {
  const auto faults = [](const std::string& constraint) {
    return fault_of("variables: {x: [64, 128], vector_lanes: [64]}\nconstraints:\n  - " + constraint + "\n");
  };
  for (const char* constraint :
       {"x * (2 <= 300", "x <=", "<= x", "x ** 2 < 3", "x / 0 <= 3", "1 / (x - x) <= vector_lanes"})
    EXPECT_EQ(faults(constraint).find("s.yaml:6:5: error: "), 0u) << constraint << ": " << faults(constraint);
  for (const char* constraint : {"x * (2 + vector_lanes) <= 300", "1 / (x - 1) <= 3", "x / (vector_lanes - x) < 3",
                                 "area_mm2 / (tdp_w - 1) <= 3"})
    EXPECT_EQ(faults(constraint), "") << constraint;
}

TEST(Space, ConstraintsNameVariablesAndTheChip) {
  const Family f = family_of(
      "variables:\n  x: [64, 128]\n  y: [64, 128]\n"
      "constraints:\n  - x * y <= 8192\n  - area_mm2 <= 14\n");
  EXPECT_TRUE(f.member({0, 1}).reason.empty() || f.member({0, 1}).broken == 1);
  const Member m = f.member({1, 1});
  EXPECT_FALSE(m.hardware);
  EXPECT_EQ(m.reason, "x * y <= 8192: 16384 > 8192");
  EXPECT_EQ(m.broken, 0u);
  const Family large = family_of("variables:\n  x: [512]\nconstraints: [area_mm2 < 1, tdp_w > 0]\n");
  EXPECT_EQ(large.member({0}).broken, 0u);
  EXPECT_NE(large.member({0}).reason.find("area_mm2 < 1: "), std::string::npos);
  const Family fine =
      family_of("variables:\n  x: [64]\nconstraints: [memory_bytes >= 16 * 1024 * 1024, macs_per_cycle == 64 * 256]\n");
  EXPECT_TRUE(fine.member({0}).hardware) << fine.member({0}).reason;
}

TEST(Space, ConstraintsAreExact) {
  const Family all = family_of("variables:\n  x: [64, 128]\n");
  const Budget area = all.member({0}).budget.total;
  const std::string limits = fmt::format("constraints: [area_mm2 <= {}, tdp_w == {}, area_mm2 * tdp_w < 1e6]\n",
                                         area.area_mm2(), area.tdp_w());
  EXPECT_TRUE(family_of("variables:\n  x: [64, 128]\n" + limits).member({0}).hardware);
  EXPECT_FALSE(family_of("variables:\n  x: [64, 128]\n" + limits).member({1}).hardware);
  EXPECT_TRUE(family_of("variables:\n  x: [64]\n  third: {is: \"${x / 3}\"}\nconstraints: [third * 3 == x]\n")
                  .member({0})
                  .hardware);
}

TEST(Space, NamesThatConstraintsGiveAMeaningAreRefused) {
  EXPECT_NE(fault_of("variables:\n  x: [64]\n  memory_bytes: [1, 2]\nconstraints: [memory_bytes >= 2]\n")
                .find("s.yaml:6:3: error: 'memory_bytes' is a figure of every chip"),
            std::string::npos);
  EXPECT_NE(fault_of("variables:\n  x: [64]\n  tdp_w: {is: \"${x}\"}\nconstraints: [tdp_w == 64]\n").find(":6:3"),
            std::string::npos);
  // An unknown name is one, though a quotient has no value at the first point.
  EXPECT_NE(fault_of("variables:\n  d: [0, 1]\n  x: [64]\n  q: {is: \"${x / d}\"}\nconstraints: [q < 9, foo < 5]\n")
                .find("unknown parameter 'foo'"),
            std::string::npos);
  EXPECT_NE(fault_of("variables:\n  x: [64]\n  k: {range: [1e12, 1000000000001], step: 1e-7}\nconstraints: [k > 0]\n")
                .find("can be told apart"),
            std::string::npos);
}

TEST(Space, WhatIsNoChipIsAReason) {
  const Family f = family_of("variables:\n  x: [64, 0]\n");
  EXPECT_TRUE(f.member({0}).hardware);
  const Member m = f.member({1});
  EXPECT_FALSE(m.hardware);
  EXPECT_FALSE(m.reason.empty());
  EXPECT_EQ(m.broken, f.space().constraints.size());
}

TEST(Space, SaysWhatIsWrongAndWhere) {
  EXPECT_NE(fault_of("variables:\n  xx: [1, 2]\n")
                .find("s.yaml:5:3: error: nothing uses the variable 'xx' (did you mean 'x'?)"),
            std::string::npos)
      << fault_of("variables:\n  xx: [1, 2]\n");
  EXPECT_NE(fault_of("variables:\n  x: {is: \"${y * 2}\"}\n").find("unknown parameter 'y'"), std::string::npos);
  EXPECT_NE(fault_of("variables:\n  x: [1]\nconstraints: [x + 1]\n").find("compares nothing"), std::string::npos);
  EXPECT_NE(fault_of("variables:\n  x: [1]\nconstraints: [z <= 1]\n").find("unknown parameter 'z'"), std::string::npos);
  EXPECT_NE(fault_of("variables:\n  x: {range: [8, 1]}\n").find("ends before it begins"), std::string::npos);
  EXPECT_NE(fault_of("variables:\n  x: {powers_of_two: [65, 100]}\n").find("no power of two"), std::string::npos);
  EXPECT_NE(fault_of("variables:\n  x: [1, 1]\n").find("is there already"), std::string::npos);
  EXPECT_NE(fault_of("variables:\n  x: {set: [1], range: [1, 2]}\n").find("has one of"), std::string::npos);
  EXPECT_NE(fault_of("variables:\n  x: 4\n").find("must be a list of values"), std::string::npos);
  EXPECT_NE(fault_of("variables:\n  x: []\n").find("without values"), std::string::npos);
  EXPECT_NE(fault_of("variables:\n  x: [64, 64.0]\n").find("s.yaml:5:11: error: '64.0' is there already"),
            std::string::npos);
  EXPECT_NE(fault_of("variables:\n  x: [64]\nconstraints: [y <= 1]\n").find("it is a parameter of the chip"),
            std::string::npos);
}

TEST(Space, AVariableOfWhichNoValueIsOneIsRefusedWithItsPlace) {
  const auto expect = [](const std::string& variables, const std::string& said) {
    const std::string fault = fault_of("variables:\n  vector_lanes: [32, 64]\n" + variables);
    EXPECT_EQ(fault.find("s.yaml:6:"), 0u) << fault;
    EXPECT_NE(fault.find(said), std::string::npos) << fault;
  };
  expect("  cores.vector.memories.locl.size: [64 KiB]\n", "there is no field 'cores.vector.memories.locl.size'");
  expect("  cores.vector.memories.local.sze: [64 KiB]\n", "did you mean 'size'?");
  expect("  cores.vector.memories.local.size: [64 pJ, 8 pJ]\n", "'pJ' is no unit of a size");
  expect("  cores.vector.memories.local.size: {is: \"${vector_lanes * 2}\"}\n", "has no unit");
  expect("  x: [64 KiB, true]\n", "must be a number");
  expect("  x: {is: \"${64 +}\"}\n", "ends too early");
  expect("  x: {is: \"${64 / (vector_lanes - vector_lanes)}\"}\n", "division by zero");
  expect("  x: {is: \"${64 / ((vector_lanes - 32) * (vector_lanes - 64))}\"}\n", "never has a value");
  // Where one value will do, the others are told at their points.
  const Family f = family_of("variables:\n  x: [0, 64 KiB, 64]\n");
  EXPECT_FALSE(f.member({0}).hardware);
  EXPECT_NE(f.member({1}).reason.find("must be a number"), std::string::npos);
  EXPECT_TRUE(f.member({2}).hardware);
  const Family g = family_of("variables:\n  vector_lanes: [32, 64]\n  x: {is: \"${64 / (vector_lanes - 32)}\"}\n");
  EXPECT_NE(g.member({0}).reason.find("division by zero"), std::string::npos);
  EXPECT_TRUE(g.member({1}).hardware);
}

TEST(Space, AChipThatThereIsNotIsSaidWhereItStands) {
  try {
    Family(parse_space("monet: space\nname: s\nchip: fusemax_mone\nvariables: {x: [64]}\n", "s.yaml"));
    FAIL() << "there is no such chip";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("s.yaml:3:7: error: fusemax_mone: no such chip"), std::string::npos)
        << error.what();
  }
}

TEST(Space, ThoseOfMonetAreAsPublished) {
  const Family edge(find_space("edge_tpu")), fusemax(find_space("fusemax"));
  EXPECT_EQ(edge.size(), 10'000);
  EXPECT_EQ(fusemax.size(), 5'120);
  // The chip of the library is the point with its own parameters.
  const auto own = edge.point_of(
      {{"x_pes", "4"}, {"y_pes", "4"}, {"simd", "64"}, {"lanes", "4"}, {"local_kib", "2048"}, {"registers_kib", "32"}});
  ASSERT_TRUE(own);
  EXPECT_EQ(*edge.member(*own).hardware, find_hardware("edge_tpu_hda").hardware);
  EXPECT_FALSE(edge.point_of({{"x_pes", "3"}}));
}

TEST(Space, TheTemplateHasAsManyCoresOfEachKindAsWanted) {
  const Family f(find_space("heterogeneous"));
  const auto with = [&](std::uint16_t large, std::uint16_t small, std::uint16_t vectors) {
    Point point(f.free().size(), 0);
    point[0] = large;
    point[1] = 2;  // larger than any small one
    point[3] = small;
    point[6] = vectors;
    return f.member(point);
  };
  EXPECT_EQ(with(0, 0, 0).reason, "large + small >= 1: 0 < 1");
  EXPECT_EQ(with(0, 1, 0).hardware->cores.size(), 0u + 2 + 1 + 1);
  EXPECT_EQ(with(3, 3, 1).hardware->cores.size(), 4u + 8 + 2 + 1);
  EXPECT_EQ(with(3, 3, 1).hardware->links.size(), 4u * 2 + 8 * 2 + 1);
}

TEST(Space, LoadsLikeAnyOtherChip) {
  const Family f(find_space("edge_tpu"));
  const Point point{1, 3, 2, 1, 4, 0};
  LoadOptions options = f.options(point);
  options.known = nullptr;
  EXPECT_EQ(*f.member(point).hardware, find_hardware("edge_tpu_hda", options).hardware);
}

}  // namespace
}  // namespace monet::hardware
