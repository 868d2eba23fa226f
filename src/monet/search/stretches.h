#pragma once
#include <string>
#include <vector>

#include "monet/graph/graph.h"
#include "monet/schedule/evaluation.h"

namespace monet::search {

// An iteration in stretches that are there whatever is decided on its saved activations: each begins with a node that
// every decision leaves alone. How much is in memory in a stretch hangs on the decisions almost linearly; the peak of
// all of them does not.
class Stretches {
 public:
  // Of an iteration whose nodes are single works: as many nodes to each stretch, and no more stretches than that.
  Stretches(const Graph& single_works, std::size_t most);

  std::size_t size() const { return first_.size(); }
  // The most bytes in all stores together, by stretch; what lies before the first counts for it.
  std::vector<double> peak_total_bytes(const Graph& graph, const schedule::Evaluation& evaluation) const;

 private:
  std::vector<std::string> first_;  // nodes, by name
};

}  // namespace monet::search
