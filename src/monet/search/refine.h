#pragma once
#include <cstddef>
#include <vector>

#include "monet/search/descend.h"
#include "monet/search/fusion.h"
#include "monet/search/subject.h"

namespace monet::search {

// Improves a division into groups step by step, each step judged by the whole scheduler: two groups of which one reads
// the other become one that the rules allow, or a group falls into two. What the rules forbid in the division that it
// begins with may stay.

using RefineOptions = DescentOptions;

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
