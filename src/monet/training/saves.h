#pragma once
#include <cstdint>
#include <vector>

#include "monet/graph/builder.h"

namespace monet {

// What a gradient rule keeps of the forward pass.
//   Lean:  the least that suffices: 1-bit masks, window offsets of pools, dropout drawn again from its seed, and
//          nothing new where a tensor that is kept anyway serves.
//   Torch: what PyTorch's autograd saves, whether its backward formula reads it or not.
enum class SavePolicy { Lean, Torch };

struct NodeSaves {
  std::vector<TensorId> reads;    // read by the gradient nodes
  std::vector<TensorId> holds;    // kept alive though nothing reads them (Torch)
  Source source = Source::Input;  // Unary: which value the gradient is computed from
  TensorId mask = kNoTensor;      // 1-bit result of a comparison that replaces its operands (Max, Min, reductions)
};

// Decides for the forward nodes [begin, end), the last of the builder, what each saves, and gives them the outputs that
// takes (masks, pool indices); a few comparison nodes may be put between them. `needed` says of every tensor whether
// its gradient is wanted. Entry i belongs to node begin + i.
std::vector<NodeSaves> plan_saves(Builder& builder, std::size_t begin, std::size_t end, std::vector<bool>& needed,
                                  SavePolicy policy);

}  // namespace monet
