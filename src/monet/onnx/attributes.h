#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "monet/graph/op.h"
#include "monet/onnx/proto.h"

namespace monet {

// A float as the double a person would have written: 0.9f gives 0.9, not 0.89999997615814209.
double as_written(float value);

// The attributes of one node, by name. Throws ModelError where one has another type than asked for.
class AttributeReader {
 public:
  explicit AttributeReader(const pb::NodeProto& node) : node_(&node) {}

  bool has(std::string_view name) const { return find(name) != nullptr; }
  std::int64_t integer(std::string_view name, std::int64_t otherwise) const;
  std::int64_t integer(std::string_view name) const;  // must be there
  double real(std::string_view name, double otherwise) const;
  std::string text(std::string_view name, const std::string& otherwise) const;
  std::optional<Ints> integers(std::string_view name) const;
  std::optional<std::vector<double>> reals(std::string_view name) const;
  const pb::TensorProto* tensor(std::string_view name) const;  // null if absent
  const pb::GraphProto* graph(std::string_view name) const;    // null if absent

 private:
  const pb::AttributeProto* find(std::string_view name) const;
  const pb::AttributeProto* typed(std::string_view name, pb::AttributeProto::AttributeType type) const;
  const pb::NodeProto* node_;
};

}  // namespace monet
