#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "monet/base/watch.h"
#include "monet/cost/allocate.h"
#include "monet/cost/evaluate.h"
#include "monet/cost/request.h"

namespace monet::cost {

enum class Criterion { Latency, Energy, Edp };

// Whether `x` is better than `y`: latency, then energy; energy, then latency; or their product.
bool is_better(Criterion criterion, const Costs& x, const Costs& y);

struct ExhaustiveOptions {
  Criterion criterion = Criterion::Latency;
  std::size_t limit = 6;  // of loops; 0: all prime factors
  bool even = false;
  Watch watch{};  // stopped early, the best so far is given
};

struct Ordered {
  std::vector<TemporalLoop> order{};
  Costs costs{};
};

struct ExhaustiveResult {
  std::optional<Ordered> best{};
  double orderings = 0;         // of the loops, whether they meet the pattern or not
  std::uint64_t seen = 0;       // of them, before the search ended
  bool is_stopped = false;      // before all were seen
  std::uint64_t tried = 0;      // orderings that meet the pattern
  std::uint64_t evaluated = 0;  // of them, those that could be allocated and were costed
  Misfit misfit{};              // of the first that could not
  std::string reason{};         // why there is no ordering to try
};

// Every ordering of the loops that meets `pattern`, allocated and costed; the first of the best is kept. A complete
// pattern is the only ordering tried.
ExhaustiveResult search_exhaustively(const Problem& p, const std::vector<LoopPattern>& pattern,
                                     const std::vector<work::Dimension>& dimensions, const ExhaustiveOptions& options);

}  // namespace monet::cost
