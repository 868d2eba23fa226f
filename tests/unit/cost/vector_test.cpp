#include "monet/cost/vector.h"

#include <gtest/gtest.h>

#include "monet/base/diagnostic.h"

namespace monet::cost {
namespace {

using hardware::Direction;
using hardware::Slot;
using work::ElementFunction;

// 16 lanes on one buffer of 128 bits a cycle each way: reads 10 pJ, writes 12 pJ a word.
hardware::Core vector_core() {
  hardware::Core core{.name = "vector"};
  core.vector = hardware::VectorUnit{.lanes = 16};
  core.vector->functions = {
      {.function = ElementFunction::Add, .element = {}, .cycles = 1, .energy_pj = {.value = 0.5}},
      {.function = ElementFunction::Multiply, .element = {}, .cycles = 1, .energy_pj = {.value = 1}},
      {.function = ElementFunction::Exp, .element = {}, .cycles = 4, .energy_pj = {.value = 3}},
      {.function = ElementFunction::Exp, .element = Element::F32, .cycles = 8, .energy_pj = {.value = 7}}};
  hardware::Memory buffer{.name = "buffer", .size_bits = 1 << 20, .slots = {Slot::Input, Slot::Weight, Slot::Output}};
  hardware::Port read{
      .name = "read", .kind = hardware::PortKind::Read, .min_bits_per_cycle = 32, .max_bits_per_cycle = 128};
  hardware::Port write{
      .name = "write", .kind = hardware::PortKind::Write, .min_bits_per_cycle = 32, .max_bits_per_cycle = 128};
  for (const Slot slot : hardware::kSlots)
    for (const Direction direction : hardware::kDirections)
      (is_read(direction) ? read : write).uses.push_back({slot, direction});
  buffer.ports = {read, write};
  buffer.read_energy_pj.value = 10;
  buffer.write_energy_pj.value = 12;
  core.memories = {buffer};
  return core;
}

work::VectorWork addition(std::uint64_t elements, Element element = Element::F16) {
  const Format format{.element = element};
  work::VectorWork w;
  w.iteration = {static_cast<std::int64_t>(elements)};
  w.reduced = {false};
  w.functions = {{ElementFunction::Add, elements}};
  w.reads = {{elements, format}, {elements, format}};
  w.writes = {{elements, format}};
  return w;
}

TEST(VectorCost, AnAdditionByHand) {
  const VectorCost c = vector_cost(addition(1024), vector_core());
  EXPECT_EQ(c.compute_cycles, 64);  // 1024 / 16
  // Two inputs of 1024 · 16 bit = 128 words each on the read port, one output on the write port.
  EXPECT_EQ(c.latency, 256);
  EXPECT_EQ(c.bound_by, "buffer.read");
  EXPECT_DOUBLE_EQ(c.compute_energy_pj, 512);
  EXPECT_DOUBLE_EQ(c.memory_energy_pj, 2 * 128 * 10 + 128 * 12);
  EXPECT_DOUBLE_EQ(c.energy_pj, c.compute_energy_pj + c.memory_energy_pj);
  double sum = 0;
  for (const VectorAccess& a : c.accesses) sum += a.energy_pj;
  EXPECT_DOUBLE_EQ(sum, c.memory_energy_pj);
}

TEST(VectorCost, FunctionsTakeTheFigureOfTheirFormat) {
  work::VectorWork w = addition(1024);
  w.functions = {{ElementFunction::Exp, 1024}};
  EXPECT_EQ(vector_cost(w, vector_core()).compute_cycles, 256);
  w.writes[0].format.element = Element::F32;
  const VectorCost wide = vector_cost(w, vector_core());
  EXPECT_EQ(wide.compute_cycles, 512);
  EXPECT_DOUBLE_EQ(wide.compute_energy_pj, 7 * 1024);
  EXPECT_TRUE(wide.stand_ins.empty());
}

TEST(VectorCost, AFunctionWithoutAFigureIsSaidToBeAssumed) {
  work::VectorWork w = addition(16);
  w.functions = {{ElementFunction::Divide, 16}};
  const VectorCost c = vector_cost(w, vector_core());
  ASSERT_EQ(c.stand_ins.size(), 1u);
  EXPECT_EQ(c.stand_ins[0].function, ElementFunction::Divide);
  EXPECT_DOUBLE_EQ(c.compute_energy_pj, 16 * c.stand_ins[0].operations * 1);
  EXPECT_GT(c.compute_cycles, 1);
}

TEST(VectorCost, ViewsCostNothing) {
  work::VectorWork w = addition(1024);
  w.is_view = true;
  EXPECT_EQ(vector_cost(w, vector_core()).latency, 0);
  EXPECT_EQ(vector_cost(w, vector_core()).energy_pj, 0);
}

TEST(VectorCost, GatheredElementsTakeAPartOfAWordEach) {
  work::VectorWork w = addition(1024);
  w.reads.resize(1);
  const VectorCost streamed = vector_cost(w, vector_core());
  w.indirect = true;
  const VectorCost gathered = vector_cost(w, vector_core());
  // 16 of 32 bits: twice the words.
  EXPECT_DOUBLE_EQ(gathered.accesses[0].words, 2 * streamed.accesses[0].words);
}

TEST(VectorCost, TransposesMayConflictOrTakeAPass) {
  work::VectorWork w = addition(1024);
  w.reads.resize(1);
  w.functions.clear();
  w.permutes = true;
  hardware::Core core = vector_core();
  EXPECT_EQ(vector_cost(w, core).latency, 128);
  core.memories[0].transposed_read = hardware::TransposedRead::Conflicts;
  core.memories[0].transposed_slowdown = 4;
  EXPECT_EQ(vector_cost(w, core).latency, 512);
  core.memories[0].transposed_read = hardware::TransposedRead::Pass;
  const VectorCost pass = vector_cost(w, core);
  EXPECT_EQ(pass.latency, 256);
  EXPECT_DOUBLE_EQ(pass.memory_energy_pj, 2 * (128 * 10 + 128 * 12));
}

TEST(VectorCost, WithoutAVectorUnitTheArrayDoesIt) {
  hardware::Core core = vector_core();
  core.vector.reset();
  EXPECT_THROW(vector_cost(addition(16), core), InputError);
  core.array = hardware::Array{.dimensions = {{"D1", 4}, {"D2", 4}}, .mac_energy_pj = {.value = 2}};
  core.memories[0].served_dimensions = {0, 1};
  const VectorCost c = vector_cost(addition(1024), core);
  EXPECT_EQ(c.compute_cycles, 64);
  EXPECT_DOUBLE_EQ(c.compute_energy_pj, 2048);
}

}  // namespace
}  // namespace monet::cost
