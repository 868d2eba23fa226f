#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "monet/graph/graph.h"

namespace monet {

// An ONNX model as its file words it, nothing inferred, inlined or folded: for front ends of other tools that count its
// nodes and know its attributes by name.

struct OnnxNode {
  std::string name, type;
  std::vector<std::string> inputs, outputs;                   // "" where an optional one is absent
  std::map<std::string, std::vector<std::int64_t>> integers;  // attributes that are whole numbers
  bool operator==(const OnnxNode&) const = default;
};

struct OnnxOutline {
  std::vector<OnnxNode> nodes;                                // in the order of the file
  std::map<std::string, Shape> shapes;                        // as far as stated; 0: symbolic
  std::map<std::string, std::vector<std::int64_t>> integers;  // small constants of whole numbers
  bool operator==(const OnnxOutline&) const = default;
};

// Throws InputError. `file` names the model in diagnostics.
OnnxOutline outline_onnx(std::string_view bytes, const std::string& file);

}  // namespace monet
