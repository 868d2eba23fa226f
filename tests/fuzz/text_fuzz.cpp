#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "monet/base/diagnostic.h"
#include "monet/graph/text.h"
#include "monet/graph/verify.h"

// Any bytes are a graph or an InputError; a graph, once printed, is read back as the same graph; and whatever is wrong
// with it can be said.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace monet;
  Graph graph;
  try {
    graph = parse_graph(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz");
  } catch (const InputError& error) {
    if (error.diagnostics().empty()) std::abort();
    return 0;
  }
  const std::string text = print(graph);
  if (print(parse_graph(text, "printed")) != text) std::abort();
  faults(graph);
  return 0;
}
