#pragma once
#include <string>
#include <utility>
#include <vector>

#include "monet/graph/graph.h"
#include "monet/plan/machine.h"
#include "monet/schedule/evaluation.h"

namespace monet {

// An evaluation as one HTML file that needs nothing else: figures, energy, who worked when, memory over time, what
// decides the latency. Drawn without a script; with one, pointing at something says what it is.

struct PageOptions {
  std::string model{}, chip{}, mode{};                         // for the heading
  std::vector<std::pair<std::string, std::string>> details{};  // beside it: batch, optimizer, plan, …
  std::string command{};                                       // that made it; empty: left out
  std::size_t most_rows = 15;                                  // of each table
  std::size_t most_bytes = 2'000'000;  // beyond it drawings become coarser, as far as they are to blame
};

std::string page_html(const Graph& graph, const plan::Chip& chip, const schedule::Evaluation& evaluation,
                      const PageOptions& options = {});

}  // namespace monet
