#include "monet/training/select.h"

#include <fmt/format.h>

#include <regex>

#include "monet/base/diagnostic.h"

namespace monet {
namespace {

std::vector<TensorId> all_weights(const Graph& g) {
  std::vector<TensorId> all;
  for (std::uint32_t t = 0; t < g.tensors.size(); ++t)
    if (g.tensors[t].category == Category::Weight && is_float(g.tensors[t].format.element)) all.push_back(TensorId{t});
  return all;
}

// Everything read from the last contraction with a weight on, its bias included.
std::vector<TensorId> last_layer(const Graph& g) {
  std::size_t first = 0;
  const auto reads_weight = [&](const Node& node) {
    if (!std::holds_alternative<MatMul>(node.op) && !std::holds_alternative<Conv>(node.op)) return false;
    for (const TensorId t : node.inputs)
      if (t != kNoTensor && g[t].category == Category::Weight && g[t].shape.size() > 1) return true;
    return false;
  };
  for (std::size_t n = 0; n < g.nodes.size(); ++n)
    if (reads_weight(g.nodes[n])) first = n;
  std::vector<bool> chosen(g.tensors.size(), false);
  for (std::size_t n = first; n < g.nodes.size(); ++n)
    for (const TensorId t : g.nodes[n].inputs)
      if (t != kNoTensor) chosen[t.index()] = true;
  std::vector<TensorId> result;
  for (const TensorId t : all_weights(g))
    if (chosen[t.index()]) result.push_back(t);
  return result;
}

}  // namespace

std::vector<TensorId> select_weights(const Graph& g, std::string_view what) {
  const std::vector<TensorId> all = all_weights(g);
  std::vector<TensorId> chosen;
  if (what == "all")
    chosen = all;
  else if (what == "last")
    chosen = last_layer(g);
  else {
    std::regex pattern;
    try {
      pattern = std::regex(std::string(what), std::regex::ECMAScript);
    } catch (const std::regex_error&) {
      throw InputError(
          Diagnostic{.where = "--train",
                     .message = fmt::format("'{}' is not a regular expression", what),
                     .hint = "all, none, last, lora:rank=R, or an expression searched in the weights' names"});
    }
    for (const TensorId t : all)
      if (g[t].name.size() < 4096 && std::regex_search(g[t].name, pattern)) chosen.push_back(t);
  }
  if (chosen.empty())
    throw InputError(Diagnostic{
        .where = "--train",
        .message = fmt::format("'{}' matches no weight", what),
        .hint = all.empty() ? "the model has no weights" : fmt::format("weights are named like '{}'", g[all[0]].name)});
  return chosen;
}

}  // namespace monet
