#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "monet/rewrite/decompose.h"

namespace monet {

// What one iteration consists of, in numbers. MACs and element operations are those of the decomposed graph.
struct Summary {
  std::array<std::uint64_t, kPhases> nodes{}, macs{}, vector_ops{}, moved_bytes{};  // by phase
  std::map<std::string, std::uint64_t> operators, fallback_operators;
  struct Saved {
    std::string tensor;
    Category category = Category::Activation;
    std::uint64_t bytes = 0;
  };
  std::vector<Saved> saved;  // in order of production
  std::uint64_t saved_bytes = 0;
};
Summary summarise(const Graph& graph, const DecomposeOptions& options = {});

}  // namespace monet
