#include "monet/verbs/summary.h"

#include "monet/graph/lower.h"
#include "monet/graph/saved.h"

namespace monet {

Summary summarise(const Graph& graph, const DecomposeOptions& options) {
  Summary s;
  for (const Node& node : graph.nodes) {
    ++s.nodes[static_cast<std::size_t>(node.phase)];
    ++s.operators[std::string(operator_name(node.op))];
    if (const Fallback* fallback = std::get_if<Fallback>(&node.op)) ++s.fallback_operators[fallback->type];
  }
  for (const TensorId t : saved_activations(graph)) {
    s.saved.push_back({graph[t].name, graph[t].category, bytes(graph[t])});
    s.saved_bytes += s.saved.back().bytes;
  }
  const Graph pieces = decompose(graph, options);
  for (const Node& node : pieces.nodes) {
    const auto phase = static_cast<std::size_t>(node.phase);
    const work::Work work = lower(pieces, node);
    if (const auto* nest = std::get_if<work::LoopNest>(&work)) {
      s.macs[phase] += work::macs(*nest);
      continue;
    }
    const auto& vector = std::get<work::VectorWork>(work);
    s.vector_ops[phase] += work::element_operations(vector);
    if (vector.is_view) continue;
    for (const auto* list : {&vector.reads, &vector.writes})
      for (const work::Transfer& t : *list)
        s.moved_bytes[phase] += (t.elements * static_cast<std::uint64_t>(bits(t.format.element)) + 7) / 8;
  }
  return s;
}

}  // namespace monet
