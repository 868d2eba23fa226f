#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "monet/base/watch.h"
#include "monet/search/subject.h"

namespace monet::search {

// Ways to run an iteration beside what becomes of its saved activations: how much is fused, how finely it is cut, which
// cores run it. Each kind has a few alternatives, found by the methods that know that kind alone; which of them go well
// together, and with which activations, is for a search over all of them to say.

struct WayOptions {
  std::vector<std::uint32_t> limits{};  // of the nodes in a fused group: groups of least latency under each (fusion.h)
  std::vector<double> tiles{};          // so many times as many tiles as by default
  std::vector<std::string> cores{};     // latency, energy: cores that are best by it (placement_search.h, Local)
  std::size_t place_evaluations = 64;   // for each
  plan::Plan plan{};                    // the default of every kind
  std::size_t threads = 0;              // do not change the result
  Deadline deadline{};
};

// A decision beside those on activations; the first alternative is the default.
struct Axis {
  std::string name{};
  std::vector<std::string> alternatives{};
};

class Ways {
 public:
  // `single_works`: the iteration with everything kept. Throws InputError where a plan of it is not legal.
  Ways(const Setting& setting, const Graph& single_works, const WayOptions& options);

  // Those of fusion, tiles, cores that have a choice.
  const std::vector<Axis>& axes() const { return axes_; }
  // A number for each axis.
  const plan::Plan& plan(std::span<const std::uint16_t> choices) const;

 private:
  std::vector<Axis> axes_;
  std::vector<plan::Plan> plans_;  // by all choices, the first axis fastest
};

}  // namespace monet::search
