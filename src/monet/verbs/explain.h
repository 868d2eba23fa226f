#pragma once
#include <optional>
#include <string>
#include <vector>

#include "monet/base/json.h"
#include "monet/verbs/map.h"

namespace monet {

// Where a figure of `monet map` comes from: each line is one equation of docs/cost.md with the numbers put in, and the
// line of the chip's file that each input stands on. Then what bounds the figure, and what would help.

struct ExplainRequest {
  std::string run{};  // a folder that `map --out` wrote, or a LAYER with `map.hardware`
  // latency, energy, accesses, stall, levers, an operand, a memory, OPERAND@MEMORY; of several layers LAYER/… chooses
  // one
  std::string what{};
  MapRequest map{};
};

// ---- Where it comes from ----

// A figure of the chip's description.
struct ExplainedInput {
  std::string name{};  // "dram.read_energy"
  double value = 0;
  std::string unit{};
  hardware::Provenance provenance = hardware::Provenance::Given;
  std::optional<hardware::Origin> origin{};  // none: no file states it
  std::string source{};                      // publication or model
};

struct ExplainedLine {
  int equation = 0;     // of docs/cost.md; 0: a remark or heading
  std::string name{};   // "words"
  std::string terms{};  // "3,136 x 9 x 16 / 512"; empty: only the value
  double value = 0;
  std::string remark{};
  std::vector<ExplainedInput> inputs{};
};

// ---- What bounds it ----

struct BoundPart {
  std::string name{};
  double value = 0;  // cycles or pJ
  std::optional<std::size_t> operand{}, memory{};
};

// The parts of latency are in the order of equation (16), those of energy largest first. Either sum to the total.
struct Bound {
  std::vector<BoundPart> latency{}, energy{};
  std::string latency_by{}, energy_by{};  // a sentence
  std::string resource{};                 // that latency waits for: "array", "lanes", "dram.read", "transfers"
  std::vector<std::size_t> ports{};       // if it is a port: those as busy, by their numbers in the problem
};

// ---- What would help ----

// One change of the chip, and what the layer costs then: under the mapping it has, and under the best one for it.
struct Lever {
  std::string resource{};  // "dram.read"
  double from = 0, to = 0;
  std::string unit{};  // of from and to: "bit/cycle", "bit", "lane", "pJ", "mW", "cycle", "factor"
  cost::Costs kept{}, anew{};
  bool is_searched = false;  // the mapping, too; else `anew` is `kept`
};

// ---- All layers ----

struct LayerShare {
  std::string name{};
  bool is_feasible = false;
  double latency = 0, energy_pj = 0;
  std::string bound{};  // resource
};

struct Explanation {
  MapRun map{};
  std::size_t layer = 0;             // that is explained
  std::string what{};                // of it
  bool is_named = false;             // by the user; else it is the one that has most of WHAT
  std::vector<LayerShare> layers{};  // of several: all, in the order of map
  std::vector<ExplainedLine> lines{};
  Bound bound{};
  std::vector<Lever> levers{};                     // that gain, most first
  bool by_energy = false;                          // in energy; else in latency
  std::optional<std::size_t> operand{}, memory{};  // WHAT is about these only
};

// Throws InputError, with the nearest word where WHAT is none.
Explanation explain(const ExplainRequest& request);
std::string text(const Explanation& explanation);
Json json(const Explanation& explanation);

}  // namespace monet
