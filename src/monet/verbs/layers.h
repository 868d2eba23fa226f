#pragma once
#include <optional>
#include <string>
#include <vector>

#include "monet/cost/layer.h"
#include "monet/hardware/hardware.h"
#include "monet/verbs/prepare.h"

namespace monet {

// What `LAYER` on the command line means:
//   conv:k=64,c=64,oy=56,ox=56,fy=3,fx=3   one convolution, sizes as in its loop nest (k and c are those of one group)
//   gemm:b=1,k=512,c=512,d=256             one matrix product, D×C times C×K, b of them
//   MODEL/node                             a node of the model's iteration, or all whose names begin so
//   FILE, FILE/name, FILE/id               layers of a ZigZag workload file
struct LayerRequest {
  std::string layer{};
  std::string phase = "forward";  // of conv: and gemm:: forward, dgrad, wgrad
  std::string bits{};             // "8/16": bits of what is stored and of sums; empty: see cost::fit_formats
  ModelRequest model{};           // of MODEL/node, all but the model itself
};

struct VectorNode {
  std::string name{};
  work::VectorWork work{};
};

struct FoundLayers {
  std::vector<cost::Layer> layers{};
  std::vector<work::LoopNest> nests{};  // of each layer; none for those of a file
  std::vector<VectorNode> vectors{};    // nodes of a model that are element-wise work
  std::vector<Diagnostic> warnings{};
  std::vector<std::string> notes{};
  std::vector<DocumentInput> inputs{};
  bool is_bare = false;         // conv: or gemm:, of which no model says what the formats are
  bool bits_are_given = false;  // by a file or by the user
};

// Throws InputError, with the nearest name of a node, layer or key.
FoundLayers find_layers(const LayerRequest& request);

// "O[K,OY,OX] += I[…] · W[…]": dimensions each operand changes along.
std::string equation(const cost::Layer& layer);

}  // namespace monet
