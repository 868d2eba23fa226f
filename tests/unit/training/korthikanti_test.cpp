// The activations one transformer layer keeps, against the count of Korthikanti et al., "Reducing Activation
// Recomputation in Large Transformer Models" (arXiv:2205.05198), section 4.1, equation 1: with 16 bits and dropout,
//
//   s·b·h · (34 + 5·a·s/h) bytes,   s: sequence, b: batch, h: width, a: heads.
//
// The paper counts by hand; here the number comes out of a differentiated graph. One layer is what a network of two
// layers keeps beyond a network of one. What the paper leaves out as small are the statistics of the two layer
// normalisations, a mean and a deviation per token each, in f32.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "monet/graph/saved.h"
#include "monet/verbs/prepare.h"

namespace monet {
namespace {

struct Sizes {
  std::int64_t s, b, h, a;
  std::int64_t tokens() const { return s * b * h; }      // elements of one activation
  std::int64_t scores() const { return a * s * s * b; }  // elements of one matrix of attention scores per head
  std::int64_t statistics() const { return 2 * 2 * s * b * 4; }
};
constexpr Sizes kSizes[] = {{16, 2, 32, 4}, {32, 1, 48, 2}, {8, 3, 64, 8}, {128, 4, 96, 6}, {1024, 2, 768, 12}};

Graph iteration(const Sizes& size, int layers, const std::string& save = "torch", const std::string& recompute = "") {
  ModelRequest request;
  request.model = fmt::format("gpt2:layers={},seq={},positions={},width={},heads={},vocab=50,dropout=0.1", layers,
                              size.s, size.s, size.h, size.a);
  request.batch = size.b;
  request.precision = "fp16";
  request.save = save;
  request.recompute = recompute;
  return prepare(request).graph;
}

std::uint64_t saved_bytes(const Graph& graph) {
  std::uint64_t total = 0;
  for (const TensorId t : saved_activations(graph)) total += bytes(graph[t]);
  return total;
}

std::int64_t bytes_of_a_layer(const Sizes& size, const std::string& save, const std::string& recompute = "") {
  return static_cast<std::int64_t>(saved_bytes(iteration(size, 2, save, recompute)) -
                                   saved_bytes(iteration(size, 1, save, recompute)));
}

TEST(Korthikanti, OneLayerKeepsWhatThePaperCounts) {
  for (const Sizes& size : kSizes)
    EXPECT_EQ(bytes_of_a_layer(size, "torch"), 34 * size.tokens() + 5 * size.scores() + size.statistics())
        << "s=" << size.s << " b=" << size.b << " h=" << size.h << " a=" << size.a;
}

// Every layer costs the same: what is kept is affine in their number.
TEST(Korthikanti, EveryLayerKeepsTheSame) {
  const Sizes size{16, 2, 32, 4};
  const std::uint64_t one = saved_bytes(iteration(size, 1)), two = saved_bytes(iteration(size, 2)),
                      five = saved_bytes(iteration(size, 5));
  EXPECT_EQ(five - two, 3 * (two - one));
}

// The paper's list, part by part: its bytes as multiples of s·b·h and of a·s²·b, and the tensor that is it here.
TEST(Korthikanti, EachPartIsOneTensor) {
  struct Part {
    const char* tensor;
    std::int64_t tokens, scores, statistics;
  };
  const Part kParts[] = {
      // Attention: 11·s·b·h + 5·a·s²·b
      {"ln_1", 2, 0, 0},                     // shared input of the three projections
      {"attn.q.transpose", 2, 0, 0},         // both factors of Q·Kᵀ
      {"attn.k.transpose", 2, 0, 0},         //
      {"attn.softmax", 0, 2, 0},             // output of softmax
      {"attn.dropout.mask", 0, 1, 0},        // mask of its dropout
      {"attn.dropout", 0, 2, 0},             // both factors of attention over values
      {"attn.v.transpose", 2, 0, 0},         //
      {"attn.transpose", 2, 0, 0},           // input of the output projection
      {"attn.resid_dropout.mask", 1, 0, 0},  // mask of the dropout behind it
      // Perceptron: 19·s·b·h
      {"ln_2", 2, 0, 0},              // input of the first linear layer
      {"mlp.c_fc", 8, 0, 0},          // input of GeLU
      {"mlp.act", 8, 0, 0},           // input of the second linear layer
      {"mlp.dropout.mask", 1, 0, 0},  // mask of the dropout behind it
      // Layer normalisations: 4·s·b·h. The input of the first is the output of the layer before.
      {"add_1", 2, 0, 0},
      {"add_2", 2, 0, 0},
      // Left out by the paper: f32 statistics, 4·s·b bytes each
      {"ln_1.mean", 0, 0, 1},
      {"ln_1.inv_std", 0, 0, 1},
      {"ln_2.mean", 0, 0, 1},
      {"ln_2.inv_std", 0, 0, 1},
  };
  for (const Sizes& size : kSizes) {
    const Graph graph = iteration(size, 2);
    std::map<std::string, std::int64_t> found, expected;
    const std::string layer = "transformer.h.0.";
    for (const TensorId t : saved_activations(graph))
      if (graph[t].name.starts_with(layer))
        found[graph[t].name.substr(layer.size())] = static_cast<std::int64_t>(bytes(graph[t]));
    for (const Part& part : kParts)
      expected[part.tensor] =
          part.tokens * size.tokens() + part.scores * size.scores() + part.statistics * 4 * size.s * size.b;
    EXPECT_EQ(found, expected);
  }
}

// The same bytes by the gradient that reads them, found in the graph rather than by names.
TEST(Korthikanti, EachGradientReadsItsPart) {
  const Sizes size{128, 4, 96, 6};
  const auto read_by = [&](int layers) {
    const Graph graph = iteration(size, layers);
    const std::vector<TensorId> saved = saved_activations(graph), root = view_roots(graph);
    std::map<std::string, std::int64_t> total;
    for (const TensorId t : saved) {
      std::vector<std::string> readers;
      for (const Node& node : graph.nodes) {
        const bool reads = std::any_of(node.inputs.begin(), node.inputs.end(),
                                       [&](TensorId in) { return in != kNoTensor && root[in.index()] == t; });
        const std::string name(operator_name(node.op));
        const bool moves = std::holds_alternative<View>(node.op);
        if (reads && !moves && node.phase == Phase::Backward &&
            std::find(readers.begin(), readers.end(), name) == readers.end())
          readers.push_back(name);
      }
      EXPECT_EQ(readers.size(), 1u) << graph[t].name;
      if (!readers.empty()) total[readers[0]] += static_cast<std::int64_t>(bytes(graph[t]));
    }
    return total;
  };
  std::map<std::string, std::int64_t> layer = read_by(2);
  for (const auto& [reader, amount] : read_by(1)) layer[reader] -= amount;
  std::erase_if(layer, [](const auto& entry) { return entry.second == 0; });
  const std::map<std::string, std::int64_t> expected{
      {"layer_norm_gradient", 4 * size.tokens() + size.statistics()},
      {"matmul", 20 * size.tokens() + 2 * size.scores()},
      {"softmax_gradient", 2 * size.scores()},
      {"dropout_gradient", 2 * size.tokens() + size.scores()},
      {"gelu_tanh_gradient", 8 * size.tokens()},
  };
  EXPECT_EQ(layer, expected);
}

// Selective recomputation (section 5): without the softmax and its dropout 34·s·b·h remain.
TEST(Korthikanti, SelectiveRecomputationLeavesTheLinearTerm) {
  for (const Sizes& size : kSizes)
    EXPECT_EQ(bytes_of_a_layer(size, "torch", "\\.attn\\.(softmax|dropout)"), 34 * size.tokens() + size.statistics());
}

// Our lean policy draws masks again instead of keeping them: 2·s·b·h and a·s²·b less.
TEST(Korthikanti, LeanPolicyKeepsNoMasks) {
  for (const Sizes& size : kSizes)
    EXPECT_EQ(bytes_of_a_layer(size, "lean"), 32 * size.tokens() + 4 * size.scores() + size.statistics());
}

}  // namespace
}  // namespace monet
