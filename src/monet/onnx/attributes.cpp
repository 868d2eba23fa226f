#include "monet/onnx/attributes.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "monet/onnx/findings.h"

namespace monet {
namespace {

const char* noun(pb::AttributeProto::AttributeType type) {
  switch (type) {
    case pb::AttributeProto::FLOAT: return "a number";
    case pb::AttributeProto::INT: return "an integer";
    case pb::AttributeProto::STRING: return "a string";
    case pb::AttributeProto::TENSOR: return "a tensor";
    case pb::AttributeProto::GRAPH: return "a graph";
    case pb::AttributeProto::FLOATS: return "a list of numbers";
    case pb::AttributeProto::INTS: return "a list of integers";
    default: return "of another type";
  }
}

}  // namespace

double as_written(float value) {
  if (!std::isfinite(value)) return static_cast<double>(value);
  return std::strtod(fmt::format("{}", value).c_str(), nullptr);
}

const pb::AttributeProto* AttributeReader::find(std::string_view name) const {
  for (const pb::AttributeProto& attribute : node_->attribute())
    if (attribute.name() == name) return &attribute;
  return nullptr;
}

const pb::AttributeProto* AttributeReader::typed(std::string_view name, pb::AttributeProto::AttributeType type) const {
  const pb::AttributeProto* attribute = find(name);
  // The oldest files leave the type out.
  if (attribute && attribute->type() != type && attribute->type() != pb::AttributeProto::UNDEFINED)
    throw ModelError(fmt::format("attribute '{}' should be {}", name, noun(type)));
  return attribute;
}

std::int64_t AttributeReader::integer(std::string_view name, std::int64_t otherwise) const {
  const auto* attribute = typed(name, pb::AttributeProto::INT);
  return attribute ? attribute->i() : otherwise;
}

std::int64_t AttributeReader::integer(std::string_view name) const {
  const auto* attribute = typed(name, pb::AttributeProto::INT);
  if (!attribute) throw ModelError(fmt::format("attribute '{}' is missing", name));
  return attribute->i();
}

double AttributeReader::real(std::string_view name, double otherwise) const {
  const auto* attribute = typed(name, pb::AttributeProto::FLOAT);
  return attribute ? as_written(attribute->f()) : otherwise;
}

std::string AttributeReader::text(std::string_view name, const std::string& otherwise) const {
  const auto* attribute = typed(name, pb::AttributeProto::STRING);
  return attribute ? attribute->s() : otherwise;
}

std::optional<Ints> AttributeReader::integers(std::string_view name) const {
  const auto* attribute = typed(name, pb::AttributeProto::INTS);
  if (!attribute) return std::nullopt;
  return Ints(attribute->ints().begin(), attribute->ints().end());
}

std::optional<std::vector<double>> AttributeReader::reals(std::string_view name) const {
  const auto* attribute = typed(name, pb::AttributeProto::FLOATS);
  if (!attribute) return std::nullopt;
  return std::vector<double>(attribute->floats().begin(), attribute->floats().end());
}

const pb::TensorProto* AttributeReader::tensor(std::string_view name) const {
  const auto* attribute = typed(name, pb::AttributeProto::TENSOR);
  return attribute ? &attribute->t() : nullptr;
}

const pb::GraphProto* AttributeReader::graph(std::string_view name) const {
  const auto* attribute = typed(name, pb::AttributeProto::GRAPH);
  return attribute ? &attribute->g() : nullptr;
}

}  // namespace monet
