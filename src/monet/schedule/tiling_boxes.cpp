#include "monet/schedule/tiling_boxes.h"

namespace monet::schedule {

std::vector<Boxed> boxes_of(const plan::Facts& facts, const plan::NodeChoice& choice) {
  std::int64_t across = 1, tiles = 1;
  std::uint32_t results = 1, sharers = 1;
  const auto count = [&](const std::vector<plan::LoopSplit>& splits, std::int64_t& product, bool is_across) {
    for (const plan::LoopSplit& split : splits) {
      product *= split.parts;
      if (facts.loops[split.loop].kind != LoopKind::Reduction)
        results *= static_cast<std::uint32_t>(split.parts);
      else if (is_across)
        sharers *= static_cast<std::uint32_t>(split.parts);
    }
  };
  count(choice.across, across, true);
  count(choice.tiles, tiles, false);
  std::vector<Boxed> boxes;
  boxes.reserve(static_cast<std::size_t>(across * tiles));
  for (std::int64_t t = 0; t < tiles; ++t)
    for (std::int64_t a = 0; a < across; ++a) {
      Boxed box{.core = choice.cores[static_cast<std::size_t>(a) % choice.cores.size()],
                .results = results,
                .sharers = sharers};
      for (const Loop& loop : facts.loops) box.ranges.push_back({0, loop.size});
      // The first split turns slowest.
      const auto apply = [&](const std::vector<plan::LoopSplit>& splits, std::int64_t index, std::int64_t product,
                             bool is_across) {
        for (const plan::LoopSplit& split : splits) {
          product /= split.parts;
          const std::int64_t at = index / product % split.parts;
          box.ranges[split.loop] = plan::part_of(box.ranges[split.loop], split.parts, at);
          if (facts.loops[split.loop].kind != LoopKind::Reduction)
            box.result = box.result * static_cast<std::uint32_t>(split.parts) + static_cast<std::uint32_t>(at);
          else if (is_across)
            box.sharer = box.sharer * static_cast<std::uint32_t>(split.parts) + static_cast<std::uint32_t>(at);
        }
      };
      apply(choice.across, a, across, true);
      apply(choice.tiles, t, tiles, false);
      bool is_empty = false;
      for (const Range& range : box.ranges) is_empty = is_empty || range.size() == 0;
      if (!is_empty) boxes.push_back(std::move(box));
    }
  return boxes;
}

}  // namespace monet::schedule
