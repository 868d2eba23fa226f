#pragma once
#include <string>

#include "monet/base/json.h"
#include "monet/verbs/prepare.h"
#include "monet/verbs/summary.h"

namespace monet {

struct GraphRequest {
  ModelRequest model;
  bool im2col_weight_gradient = false;  // --wgrad im2col
  bool decomposed = false;              // write and print the graph broken up into single works
  std::string write;                    // training graph as ONNX
  bool weights = false;                 // with their values
};

struct GraphResult {
  Prepared prepared;
  Summary summary;
};

// What does one iteration consist of? Writes request.write if set. Throws InputError.
GraphResult describe_graph(const GraphRequest& request);

std::string text(const GraphResult& result, const GraphRequest& request);
// The first lines of it: what the iteration consists of, what it saves.
std::string brief(const GraphResult& result, const GraphRequest& request);
Json json(const GraphResult& result);
Json options_json(const ModelRequest& request, const Prepared& prepared);

}  // namespace monet
