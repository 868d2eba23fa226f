#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "monet/graph/graph.h"
#include "monet/onnx/findings.h"
#include "monet/onnx/import.h"
#include "monet/onnx/proto.h"

namespace monet {

struct BoundInput {
  std::string name;
  Shape shape;
  Element element = Element::F32;
};

// The graph's inputs with every dimension fixed.
struct Dimensions {
  std::vector<BoundInput> inputs;               // those without an initializer of the same name
  std::map<std::string, std::int64_t> symbols;  // the size of each symbolic dimension
  // Set if fixed leading dimensions were changed from the first to the second by ImportOptions::batch.
  std::optional<std::pair<std::int64_t, std::int64_t>> rebatched;
  bool has_batch_asked_for = true;  // false: no leading dimension is ImportOptions::batch
};
Dimensions bind_dimensions(const pb::GraphProto& graph, const ImportOptions& options, Findings& findings);

// What the file says of its values, under these dimensions.
class StatedTypes {
 public:
  StatedTypes(const pb::GraphProto& graph, const Dimensions& dimensions);
  // None where the file is silent, keeps a dimension open, or speaks of another batch.
  std::optional<Shape> shape(const std::string& name) const;
  // The same, but with dimensions from the third on only: a batch does not change them. The first two are 0.
  std::optional<Shape> spatial_shape(const std::string& name) const;
  std::optional<Element> element(const std::string& name) const;

 private:
  std::optional<Shape> resolve(const std::string& name, std::size_t from) const;
  std::unordered_map<std::string, const pb::ValueInfoProto*> stated_;
  const Dimensions& dimensions_;
};

}  // namespace monet
