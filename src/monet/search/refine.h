#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "monet/base/watch.h"
#include "monet/search/fusion.h"
#include "monet/search/subject.h"

namespace monet::search {

// Improves a division into groups step by step, each step judged by the whole scheduler: two groups of which one reads
// the other become one, or a group falls into two. Deterministic: steps are tried in rounds of a fixed size, and the
// best of a round is taken.

struct RefineOptions {
  std::function<double(const Figures&)> value{};  // to be made small
  std::size_t evaluations = 200;                  // at the most
  std::size_t threads = 0;                        // do not change the result
  Deadline deadline{};
  std::function<void(std::size_t, const Figures&)> observe{};  // evaluations so far, the best
};

struct Refined {
  std::vector<std::vector<NodeId>> groups{};
  Figures figures{};
  std::size_t evaluations = 0, steps = 0;
  bool is_local_optimum = false;  // no single step is better
};

Refined refine(const Setting& setting, const Subject& subject, const FusionRules& rules,
               std::vector<std::vector<NodeId>> groups, const RefineOptions& options);

// Stream's rule: nodes in their order are one group while the weights fit those of all cores together; the rest is
// alone.
std::vector<std::vector<NodeId>> stream_groups(const Subject& subject, const plan::Chip& chip);

}  // namespace monet::search
