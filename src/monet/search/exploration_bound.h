#pragma once
#include <vector>

#include "monet/plan/machine.h"
#include "monet/search/subject.h"
#include "monet/work/work.h"

namespace monet::search {

// What no schedule of a graph on a chip can be below, whatever its plan (but for results kept at the lanes, which pass
// through no memory): no unit does more than its lanes allow, what must come from home and go there passes the channels
// that all ways share, and leakage lasts as long. Rules in docs/explore.md.

// Of the graph alone.
struct Demand {
  double read_bytes = 0;            // of weights and states, each once: they are only at home in the beginning
  double written_bytes = 0;         // of what must be at home in the end and is made anew
  std::vector<work::Work> works{};  // by node; of vector works only
};
Demand demand_of(const Subject& subject);

struct LowerBound {
  double latency_cycles = 0, energy_pj = 0;
};
LowerBound lower_bound(const Subject& subject, const Demand& demand, const plan::Chip& chip);

}  // namespace monet::search
