#pragma once
#include <map>
#include <string>
#include <vector>

#include "monet/graph/graph.h"

namespace monet {

// Numbers of one tensor, row-major. Integers and truth values are held as T too: exact up to 2^53 in double,
// 2^24 in float.
template <class T>
struct Array {
  Shape shape;
  std::vector<T> data;
  bool operator==(const Array&) const = default;
};

// Numbers by tensor name.
template <class T>
using Values = std::map<std::string, Array<T>>;

}  // namespace monet
