#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "monet/base/diagnostic.h"
#include "monet/graph/lower.h"
#include "monet/graph/saved.h"
#include "monet/graph/verify.h"
#include "monet/onnx/import.h"
#include "monet/rewrite/decompose.h"
#include "monet/rewrite/recompose.h"

// Any bytes are a model or an InputError; and a model is a sound graph that can be recognised, broken up and lowered.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace monet;
  Graph graph;
  try {
    graph = import_onnx(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz.onnx").graph;
  } catch (const InputError& error) {
    if (error.diagnostics().empty()) std::abort();
    return 0;
  }
  verify(graph);
  saved_activations(graph);
  graph = decompose(recompose_activations(recompose_norms(std::move(graph))));
  verify(graph);
  for (const Node& node : graph.nodes) lower(graph, node);
  return 0;
}
