#pragma once
#include <optional>
#include <string>

#include "monet/graph/graph.h"

namespace monet {

// What MONET's own exports write into doc_strings, because ONNX has no field for it.
struct ValueNote {  // "monet category=<category> [format=<format>] [overwrites=<tensor>]"
  std::optional<Category> category;
  std::optional<Format> format;
  std::string overwrites;
};
std::optional<ValueNote> parse_value_note(const std::string& doc_string);
std::optional<Phase> parse_phase_note(const std::string& doc_string);  // "monet phase=<phase>"

}  // namespace monet
