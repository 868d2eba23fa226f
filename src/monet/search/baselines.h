#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "monet/base/watch.h"
#include "monet/search/checkpoint.h"

namespace monet::search {

// Decisions of others, to judge a search by and to begin it with.
struct Baseline {
  std::string name{};   // of the rule: one may give several decisions
  std::string words{};  // which of them this is
  solve::Choices decision{};
};

// keep_all, recompute_all, …
const std::vector<std::string>& baseline_names();

// The decisions of one rule. May price some decisions itself.
std::vector<Baseline> baseline(const Checkpointing& problem, std::string_view name, const Deadline& deadline);

}  // namespace monet::search
