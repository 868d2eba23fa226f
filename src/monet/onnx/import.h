#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "monet/base/diagnostic.h"
#include "monet/graph/graph.h"
#include "monet/interpret/array.h"

namespace monet {

struct ImportOptions {
  std::map<std::string, std::int64_t> dims;  // sizes of symbolic dimensions
  bool dims_are_shared = false;              // with other models: those that the inputs do not have are theirs
  std::optional<std::int64_t> batch;         // leading dimension of the inputs; symbolic ones default to 1
  bool strict = false;                       // operators without a rule are errors, not estimates
  bool load_weights = false;                 // fill Import::weights; missing data is then an error
};

struct Import {
  Graph graph;
  Values<double> weights;         // by tensor name, if asked for; constants stand in the graph
  std::vector<std::string> dims;  // of ImportOptions::dims, those that there are
  std::vector<Diagnostic> warnings;
  bool has_batch_asked_for = true;      // ImportOptions::batch, if there is one
  std::int64_t trained_parameters = 0;  // elements of the weights that a graph with gradients updates
};

// Reads an ONNX model of any IR version, opset 7 to 25. Shapes are static afterwards: symbolic dimensions are bound,
// shape arithmetic is computed, model functions are inlined. Throws InputError with everything found wrong.
Import import_onnx(const std::string& path, const ImportOptions& options = {});
// The same from memory. `file` names it in diagnostics; external data is looked for in its folder.
Import import_onnx(std::string_view bytes, const std::string& file, const ImportOptions& options = {});

}  // namespace monet
