#include "monet/base/nearest.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <utility>
#include <vector>

namespace monet {
namespace {

// Insertions, deletions, substitutions and swaps of neighbours, each counting one.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  const auto same = [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
  };
  std::vector<std::size_t> before, above, row(b.size() + 1);  // of a's first i-1, i and i+1 characters
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    before = std::exchange(above, row);
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      row[j + 1] = std::min({above[j] + (same(a[i], b[j]) ? 0 : 1), row[j] + 1, above[j + 1] + 1});
      if (i > 0 && j > 0 && same(a[i], b[j - 1]) && same(a[i - 1], b[j]))
        row[j + 1] = std::min(row[j + 1], before[j - 1] + 1);
    }
  }
  return row.back();
}

}  // namespace

std::string nearest(std::string_view name, std::span<const std::string> candidates) {
  if (name.size() > 200) return "";  // no slip of the pen, and quadratic work for hostile input
  std::string best;
  // At most a third of the characters may differ, but one always may as long as another stays.
  // A slip or two in a short name, one in three letters of a long one.
  std::size_t best_distance =
      name.size() < 4 ? std::min<std::size_t>(2, name.size()) : std::max<std::size_t>(2, name.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    // Lengths alone may tell that it is too far.
    if (std::max(name.size(), candidate.size()) - std::min(name.size(), candidate.size()) >= best_distance) continue;
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view name, std::span<const std::string> candidates, std::string otherwise) {
  const std::string best = nearest(name, candidates);
  return best.empty() ? otherwise : "did you mean '" + best + "'?";
}

}  // namespace monet
