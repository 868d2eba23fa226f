#include "monet/search/baselines.h"

#include "monet/base/assert.h"

namespace monet::search {

const std::vector<std::string>& baseline_names() {
  static const std::vector<std::string> names{"keep_all", "recompute_all"};
  return names;
}

std::vector<Baseline> baseline(const Checkpointing& problem, std::string_view name, const Deadline&) {
  if (name == "keep_all") return {{"keep_all", "", problem.all_of(plan::Saving::Keep)}};
  if (name == "recompute_all") return {{"recompute_all", "", problem.all_of(plan::Saving::Recompute)}};
  MONET_ASSERT(false, "no such baseline");
}

}  // namespace monet::search
