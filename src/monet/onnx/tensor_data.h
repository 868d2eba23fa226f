#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "monet/graph/graph.h"
#include "monet/onnx/proto.h"

namespace monet {

// The element type of an ONNX data type. Throws ModelError for those that hold no real numbers.
Element element_of(std::int32_t data_type);
std::int32_t data_type_of(Element element);

// A tensor that stands in the model: what it is, and where its numbers are.
struct Stored {
  enum class Place {
    Inside,   // in the model file
    Outside,  // in `file`, from `offset` on
    Missing,  // in `file`, which does not exist
    Cleared   // nowhere: somebody took them out to make the file small
  };
  const pb::TensorProto* proto = nullptr;
  Shape shape;  // extents of 0 are possible here
  Element element = Element::F32;
  Place place = Place::Inside;
  std::filesystem::path file;
  std::uint64_t offset = 0;

  bool has_numbers() const { return place == Place::Inside || place == Place::Outside; }
};

// Checks sizes against the data there is, without reading it. Throws ModelError.
Stored inspect(const pb::TensorProto& tensor, const std::filesystem::path& folder);

// The numbers of a tensor that has them, row-major. Throws ModelError.
std::vector<double> decode(const Stored& stored);

}  // namespace monet
