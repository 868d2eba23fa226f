#pragma once
#include <string>
#include <vector>

#include "monet/base/json.h"
#include "monet/verbs/map.h"

namespace monet {

// Where a figure of `monet map` comes from: each line is one equation of docs/cost.md with the numbers put in.

struct ExplainRequest {
  std::string run{};   // a folder that `map --out` wrote, or a LAYER with `map.hardware`
  std::string what{};  // latency, energy, accesses, stall, an operand, a memory, OPERAND@MEMORY
  MapRequest map{};
};

struct ExplainedLine {
  int equation = 0;     // of docs/cost.md; 0: a remark or heading
  std::string name{};   // "words"
  std::string terms{};  // "3,136 x 9 x 16 / 512"; empty: only the value
  double value = 0;
  std::string remark{};
};

struct Explanation {
  MapRun map{};
  std::size_t layer = 0;
  std::vector<ExplainedLine> lines{};
};

// Throws InputError, with the nearest word where WHAT is none.
Explanation explain(const ExplainRequest& request);
std::string text(const Explanation& explanation, const std::string& what);
Json json(const Explanation& explanation, const std::string& what);

}  // namespace monet
