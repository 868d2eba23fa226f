#include "monet/hardware/verify.h"

#include <gtest/gtest.h>

#include "monet/hardware/load.h"
#include "monet/hardware/plausible.h"
#include "unit/hardware/chips.h"

namespace monet::hardware {
namespace {

Hardware good() { return parse_hardware(test::kEverything, "hw.yaml").hardware; }

// What is said of the chip after one change; errors unless asked for warnings.
template <class F>
std::string after(F change, Severity severity = Severity::Error) {
  Hardware h = good();
  change(h);
  std::string out;
  for (const Fault& fault : examine(h))
    if (fault.severity == severity) out += fault.path + ": " + fault.message + "\n";
  return out;
}
Memory& buffer(Hardware& h) { return h.cores[0].memories[2]; }

TEST(Examine, FindsNothingInAGoodChip) {
  EXPECT_EQ(after([](Hardware&) {}), "");
  EXPECT_EQ(after([](Hardware&) {}, Severity::Warning), "");
}

TEST(Examine, Sizes) {
  EXPECT_EQ(after([](Hardware& h) { buffer(h).size_bits = 0; }),
            "cores[0].memories[2]: the size of 'buffer' must be 1 to 1152921504606846976 bits\n");
  EXPECT_NE(after([](Hardware& h) { buffer(h).size_bits = kMostBits + 1; }), "");
  EXPECT_EQ(after([](Hardware& h) { buffer(h).size_bits = kMostBits; }), "");
  EXPECT_EQ(after([](Hardware& h) { h.cores[0].array->dimensions[0].size = 0; }),
            "cores[0].array: array dimension 'D1' must be positive\n");
}

TEST(Examine, Ports) {
  EXPECT_EQ(after([](Hardware& h) { buffer(h).ports[0].min_bits_per_cycle = 513; }),
            "cores[0].memories[2].ports[0]: port 'r' has a smallest access of 513 bits, more than its width of 512\n");
  EXPECT_EQ(after([](Hardware& h) { buffer(h).ports[0].min_bits_per_cycle = 512; }), "");
  EXPECT_NE(after([](Hardware& h) { buffer(h).ports[0].min_bits_per_cycle = 0; }), "");
  EXPECT_NE(after([](Hardware& h) {
              buffer(h).ports.push_back({.name = "x", .min_bits_per_cycle = 1, .max_bits_per_cycle = 1});
            }).find("port 'x' of memory 'buffer' serves nothing"),
            std::string::npos);
  EXPECT_EQ(after([](Hardware& h) { buffer(h).ports[0].kind = PortKind::Write; }).substr(0, 112),
            "cores[0].memories[2].ports[0]: 'input read_to_low' is a read, and port 'r' a write "
            "port\ncores[0].memories[2].por");
  EXPECT_EQ(after([](Hardware& h) { buffer(h).ports[1].name = "r"; }),
            "cores[0].memories[2].ports[1]: a second port of memory 'buffer' is called 'r'\n");
  EXPECT_EQ(after([](Hardware& h) {
              h.cores[0].memories[0].ports[0].uses.push_back({Slot::Input, Direction::ReadToLow});
            }),
            "cores[0].memories[0].ports[0]: port 'read' serves the input, which memory 'registers' does not hold\n");
  EXPECT_NE(after([](Hardware& h) {
              buffer(h).ports[1].uses.push_back({Slot::Input, Direction::WriteFromLow});
            }).find("only outputs come from below or go back up"),
            std::string::npos);
}

TEST(Examine, EveryDirectionNeedsOnePort) {
  // sums holds outputs below the buffer, which is the top.
  const auto without = [](std::size_t memory, Direction direction) {
    return after([&](Hardware& h) {
      for (Port& port : h.cores[0].memories[memory].ports) std::erase(port.uses, PortUse{Slot::Output, direction});
    });
  };
  for (const Direction direction : kDirections)
    EXPECT_NE(without(1, direction)
                  .find(std::string("memory 'sums' has no port for 'output ") + std::string(name(direction))),
              std::string::npos);
  EXPECT_NE(without(2, Direction::ReadToLow), "");
  EXPECT_NE(without(2, Direction::WriteFromLow), "");
  EXPECT_EQ(without(2, Direction::WriteFromHigh), "");
  EXPECT_EQ(without(2, Direction::ReadToHigh), "");
  EXPECT_NE(after([](Hardware& h) {
              h.cores[0].memories[1].ports[1].uses.push_back({Slot::Output, Direction::ReadToLow});
            }).find("more than one port for 'output read_to_low'"),
            std::string::npos);
}

TEST(Examine, Names) {
  EXPECT_EQ(after([](Hardware& h) { h.cores[1].name = "matrix"; }), "cores[1]: a second core is called 'matrix'\n");
  EXPECT_EQ(after([](Hardware& h) { h.cores[0].memories[1].name = "registers"; }),
            "cores[0].memories[1]: a second memory of core 'matrix' is called 'registers'\n");
  EXPECT_EQ(after([](Hardware& h) { h.cores[0].array->dimensions[1].name = "D1"; }),
            "cores[0].array: array dimension 'D1' is given twice\n");
}

TEST(Examine, OrderOfMemories) {
  const auto warned = [](auto change) { return after(change, Severity::Warning); };
  EXPECT_EQ(warned([](Hardware& h) { buffer(h).size_bits = 100; }),
            "cores[0].memories[2]: memory 'buffer' is above 'registers' for the weight but smaller\n");
  EXPECT_EQ(warned([](Hardware& h) { buffer(h).size_bits = 128; }), "");
  EXPECT_EQ(
      warned([](Hardware& h) { buffer(h).served_dimensions = {0}; }),
      "cores[0].memories[2]: memory 'buffer' is above 'sums' for the output but shared along fewer array dimensions\n");
  EXPECT_NE(warned([](Hardware& h) { h.cores[0].memories[1].kind = MemoryKind::Dram; }).find("which is off the chip"),
            std::string::npos);
  EXPECT_NE(warned([](Hardware& h) {
              h.cores[2].memories[0].slots = {Slot::Input, Slot::Output};
            }).find("no memory of core 'simd_0' holds the weight"),
            std::string::npos);
}

TEST(Examine, LinksAndGroups) {
  EXPECT_EQ(after([](Hardware& h) { h.links[0].cores = {CoreId{0}}; }),
            "links[0]: a link joins two cores, a bus two or more\n");
  EXPECT_EQ(after([](Hardware& h) {
              h.links[0].cores = {CoreId{0}, CoreId{0}};
            }),
            "links[0]: the link joins a core with itself\n");
  EXPECT_EQ(after([](Hardware& h) { h.links[0].cores[1] = CoreId{99}; }),
            "links[0]: the link names a core there is none of\n");
  EXPECT_NE(after([](Hardware& h) { h.links[0].bits_per_cycle = 0; }), "");
  EXPECT_EQ(after([](Hardware& h) { h.offchip = CoreId{0}; }),
            "offchip: off-chip core 'matrix' must have memories only\n");
  EXPECT_NE(after([](Hardware& h) {
              h.cores[3].memories[0].size_bits *= 2;
            }).find("'local' and 'local' cannot be one memory: their sizes differ"),
            std::string::npos);
  EXPECT_NE(after([](Hardware& h) { h.offchip_efficiency[0].efficiency.value = 1.01; }), "");
}

TEST(Examine, Loops) {
  EXPECT_EQ(after([](Hardware& h) { h.cores[0].unrollings[0][0].factor = 9; }, Severity::Warning),
            "cores[0].unrollings: 9 lanes are asked of array dimension 'D1', which has 8\n");
  EXPECT_NE(after([](Hardware& h) { h.cores[0].unrollings.pop_back(); }), "");
  EXPECT_NE(after([](Hardware& h) { h.cores[0].unrollings[0][0].factor = 0; }), "");
}

TEST(Examine, FiguresAreFiniteAndNotNegative) {
  for (const double bad :
       {-1.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN(), 1e30})
    EXPECT_NE(after([&](Hardware& h) { buffer(h).read_energy_pj.value = bad; }), "") << bad;
}

template <class F>
std::string doubted(F change) {
  Hardware h = good();
  change(h);
  std::string out;
  for (const Fault& fault : doubts(h)) out += fault.path + ": " + fault.message + "\n";
  return out;
}

TEST(Doubts, EnergiesOutsideOfWhatIsPublished) {
  EXPECT_EQ(doubted([](Hardware&) {}), "");
  // 512 bits: nanojoules written as picojoules are a factor of a thousand off.
  EXPECT_NE(doubted([](Hardware& h) {
              buffer(h).read_energy_pj.value = 20'000;
            }).find("a read of 'buffer' takes 39.1 pJ a bit, which is implausible for sram"),
            std::string::npos);
  EXPECT_NE(doubted([](Hardware& h) { buffer(h).write_energy_pj = {.value = 0.02}; }).find("a write of 'buffer'"),
            std::string::npos);
  EXPECT_NE(doubted([](Hardware& h) {
              h.cores[0].array->mac_energy_pj.value = 400;
            }).find("400 pJ for one multiply-accumulate is implausible"),
            std::string::npos);
  EXPECT_NE(doubted([](Hardware& h) { h.clock_hz.value = 5e11; }).find("a clock of 500000000000 Hz is implausible"),
            std::string::npos);
}

TEST(Doubts, ALargerMemoryIsDearer) {
  EXPECT_NE(doubted([](Hardware& h) {
              buffer(h).read_energy_pj.value = 1;
            }).find("less than the 0.0125 of the smaller 'registers'"),
            std::string::npos);
  const std::string found = doubted([](Hardware& h) {
    Memory dram = h.cores[4].memories[0];
    dram.read_energy_pj = {.value = 0.5 * 64};
    h.cores[0].memories.push_back(dram);
    buffer(h).read_energy_pj.value = 1.0 * 512;
  });
  EXPECT_NE(found.find("a bit from 'dram' takes 0.5 pJ, less than the 1 of on-chip 'buffer'"), std::string::npos)
      << found;
}

}  // namespace
}  // namespace monet::hardware
