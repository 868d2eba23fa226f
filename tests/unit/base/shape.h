#pragma once
#include <string>

#include "monet/base/config.h"

namespace monet::config {

// The tree in one line, in an order of its own: what YAML and JSON must agree on.
inline std::string shape(const Value& value) {
  std::string out;
  switch (value.kind()) {
    case Kind::Null: return "null";
    case Kind::Scalar: return std::string(value.text());
    case Kind::Sequence:
      for (std::size_t i = 0; i < value.size(); ++i) out += (i ? "," : "") + shape(value[i]);
      return "[" + out + "]";
    case Kind::Map:
      for (std::size_t i = 0; i < value.size(); ++i)
        out += (i ? "," : "") + std::string(value.key(i).text()) + ":" + shape(value[i]);
      return "{" + out + "}";
  }
  return "";
}

}  // namespace monet::config
