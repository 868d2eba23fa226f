#pragma once
#include <string>

#include "monet/verbs/explore.h"

namespace monet {

// Points of a run that was stored, by an expression over its variables and figures (config::Query). Nothing is
// evaluated, and neither models nor spaces are read: what keys of the store mean stands in it.

// What a store says of its keys: variables and decisions with what they may be, and workloads.
std::string about_points(const ExploreProblem& problem);

// CSV with a row for each point for which the expression holds, in the order of the grid: a chip with what was decided,
// and the figures of all workloads on it. `folder`: that of --out. Throws InputError.
std::string query_csv(const std::string& folder, const std::string& expression);

}  // namespace monet
