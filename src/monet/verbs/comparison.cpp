#include "monet/verbs/comparison.h"

#include <cmath>
#include <utility>

namespace monet {

void Comparison::compare(const std::string& figure, double ours, double theirs, double tolerance) {
  const double error = (ours - theirs) / (theirs == 0 ? 1 : std::abs(theirs));
  ++row_.figures;
  if (!(std::abs(error) <= tolerance)) row_.matches = false;
  entries_.push_back({figure, ours, theirs, error});
}

void Comparison::differ(const std::string& figure, std::variant<double, std::string> ours,
                        std::variant<double, std::string> theirs) {
  ++row_.figures;
  row_.matches = false;
  if (differs_) return;
  differs_ = true;
  row_.figure = figure;
  row_.ours = std::move(ours);
  row_.theirs = std::move(theirs);
  row_.error = 1;
}

ValidationRow Comparison::finish(const std::string& shown) const {
  ValidationRow row = row_;
  if (differs_ || entries_.empty()) {
    row.matches = row.matches && !entries_.empty();
    return row;
  }
  const Entry* worst = &entries_.front();
  for (const Entry& entry : entries_)
    if (std::abs(entry.error) > std::abs(worst->error)) worst = &entry;
  if (row.matches)
    for (const Entry& entry : entries_)
      if (entry.figure == shown) worst = &entry;
  row.figure = worst->figure;
  row.ours = worst->ours;
  row.theirs = worst->theirs;
  row.error = worst->error;
  return row;
}

}  // namespace monet
