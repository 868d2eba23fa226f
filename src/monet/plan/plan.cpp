#include "monet/plan/plan.h"

namespace monet::plan {

std::string name(Saving saving, Element narrow) {
  switch (saving) {
    case Saving::Keep: return "keep";
    case Saving::Recompute: return "recompute";
    case Saving::RecomputeEach: return "recompute_each";
    case Saving::RecomputeTiles: return "recompute_tiles";
    case Saving::Spill: return "spill";
    case Saving::Narrow: return std::string(name(narrow));
  }
  return "";
}

std::optional<SavedPlan> saving_named(std::string_view text) {
  for (const Saving s : {Saving::Keep, Saving::Recompute, Saving::RecomputeEach, Saving::RecomputeTiles, Saving::Spill})
    if (text == name(s, Element::F32)) return SavedPlan{.saving = s};
  if (const auto element = element_named(text); element && is_float(*element))
    return SavedPlan{.saving = Saving::Narrow, .narrow = *element};
  return std::nullopt;
}

// What the last '*' took is the only thing ever taken back.
bool matches(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0, star = std::string_view::npos, taken = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++taken;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace monet::plan
