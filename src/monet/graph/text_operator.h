#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "monet/graph/op.h"
#include "monet/graph/text_token.h"

// Operators and other words of closed sets in the text form of a graph.

namespace monet {

// "matmul{trans_b=true}": the fields that differ from a default operator of the same name.
std::string operator_text(const Op& op);
Op read_operator(LineReader& line);  // throws Fault

// The nearest candidate, or all of them.
std::string word_hint(std::string_view word, const std::vector<std::string>& candidates);

// Names of the enumerators from the first, 0, to `last`.
template <class Enum>
std::vector<std::string> names_up_to(Enum last) {
  std::vector<std::string> names;
  for (int i = 0; i <= static_cast<int>(last); ++i) names.emplace_back(name(static_cast<Enum>(i)));
  return names;
}

}  // namespace monet
