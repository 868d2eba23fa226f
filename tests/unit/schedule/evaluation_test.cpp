#include "monet/schedule/evaluation.h"

#include <gtest/gtest.h>

#include "monet/graph/builder.h"
#include "monet/hardware/library.h"

namespace monet::schedule {
namespace {

// A layer with a stride that misses the last row and column of what it reads, cut for processing elements that have
// more room than these.
class Strided {
 public:
  explicit Strided(std::int64_t local_bytes) : hardware_(hardware::find_hardware("edge_tpu_hda").hardware) {
    Builder b("strided");
    const TensorId x = b.source("x", {1, 64, 14, 14}, Format{Element::I8}, Category::Input);
    const TensorId w = b.source("w", {64, 64, 1, 1}, Format{Element::I8}, Category::Weight);
    b.one(Conv{ConvKind::Forward, {2, 2}, {1, 1}, {0, 0}, {0, 0}, 1, {}}, {x, w}, "y");
    graph_ = std::move(b).finish();
    facts_ = plan::facts_of(graph_);
    decided_ = plan::decide(graph_, facts_, plan::chip_of(hardware_), {});
    for (hardware::Core& core : hardware_.cores)
      if (core.array) core.memories.back().size_bits = 8 * local_bytes;
  }

  std::variant<Evaluation, Infeasible> evaluate(bool exact_reads) const {
    const plan::Chip chip = plan::chip_of(hardware_);
    const Storage storage(graph_);
    return schedule::evaluate({.graph = graph_,
                               .storage = storage,
                               .facts = facts_,
                               .chip = chip,
                               .hardware = hardware_,
                               .decided = decided_,
                               .exact_reads = exact_reads});
  }

 private:
  Graph graph_;
  hardware::Hardware hardware_;
  std::vector<plan::Facts> facts_;
  plan::Decided decided_;
};

// Whatever the room, there is an evaluation where there is one with all tensors cut exactly.
TEST(Evaluate, SliversAreReadWhereThereIsRoomForThem) {
  std::size_t joined = 0, cut = 0, impossible = 0;
  for (std::int64_t bytes = 256; bytes <= 16384; bytes += 256) {
    const auto found = Strided(bytes).evaluate(false), exact = Strided(bytes).evaluate(true);
    ASSERT_EQ(std::holds_alternative<Evaluation>(found), std::holds_alternative<Evaluation>(exact)) << bytes;
    if (!std::holds_alternative<Evaluation>(found)) {
      ++impossible;
      continue;
    }
    const auto blocks = [](const auto& e) { return std::get<Evaluation>(e).tiled.blocks.size(); };
    ASSERT_LE(blocks(found), blocks(exact)) << bytes;
    ++(blocks(found) < blocks(exact) ? joined : cut);
  }
  EXPECT_GT(joined, 0u);
  EXPECT_GT(cut, 0u);
  EXPECT_GT(impossible, 0u);
}

}  // namespace
}  // namespace monet::schedule
