#include "monet/onnx/notes.h"

namespace monet {
namespace {

// What follows "key=", up to the next blank, or to the end for the last key.
std::string value_of(const std::string& text, const std::string& key, bool last) {
  const std::string mark = " " + key + "=";
  const std::size_t start = text.find(mark);
  if (start == std::string::npos) return "";
  const std::size_t from = start + mark.size();
  return last ? text.substr(from) : text.substr(from, text.find(' ', from) - from);
}

template <class Enum>
std::optional<Enum> named(const std::string& text, Enum last) {
  for (int i = 0; i <= static_cast<int>(last); ++i)
    if (text == name(static_cast<Enum>(i))) return static_cast<Enum>(i);
  return std::nullopt;
}

bool is_note(const std::string& text) { return text.rfind("monet ", 0) == 0; }

}  // namespace

std::optional<ValueNote> parse_value_note(const std::string& doc_string) {
  if (!is_note(doc_string)) return std::nullopt;
  return ValueNote{.category = named(value_of(doc_string, "category", false), Category::Workspace),
                   .format = parse_format(value_of(doc_string, "format", false)),
                   .overwrites = value_of(doc_string, "overwrites", true)};  // tensor names may hold blanks
}

std::optional<Phase> parse_phase_note(const std::string& doc_string) {
  if (!is_note(doc_string)) return std::nullopt;
  return named(value_of(doc_string, "phase", false), Phase::Recompute);
}

}  // namespace monet
