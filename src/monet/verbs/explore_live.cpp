#include "monet/verbs/explore_live.h"

#include <fmt/format.h>

#include <cctype>

namespace monet {

using search::ChipFigures;
using search::ChipObjective;

LiveView::LiveView(const search::Exploration& exploration, const search::ExplorationGoal& goal)
    : exploration_(exploration),
      goal_(goal),
      series_(exploration.workloads().size()),
      scores_(series_.size()),
      fronts_(series_.size()) {
  for (std::size_t w = 0; w < series_.size(); ++w)
    series_[w].mark = static_cast<char>(std::toupper(static_cast<unsigned char>(exploration.workloads()[w].name[0])));
  has_letters_ = series_.size() > 2 || (series_.size() == 2 && series_[0].mark == series_[1].mark);
  for (std::size_t w = 0; w < series_.size() && has_letters_; ++w) series_[w].mark = static_cast<char>('A' + w);
}

void LiveView::add(const search::TaskResult& result, Progress& progress) {
  for (std::size_t w = 0; w < result.size() && w < series_.size(); ++w) {
    const ChipFigures& f = result[w];
    impossible_ += f.is_possible() ? 0 : 1;
    series_[w].points.emplace_back(f.is_possible() ? goal_.value(ChipObjective::Latency, f) : 0,
                                   f.is_possible() ? goal_.value(ChipObjective::Energy, f) * 1e-12 : 0);
    scores_[w].push_back(goal_.score(f));
  }
  // A drawing takes as long as there are points: of many, not each is worth a new one.
  if (scores_.front().size() < next_) return;
  next_ = scores_.front().size() + 1 + scores_.front().size() / 64;
  std::string words = impossible_ > 0 ? fmt::format("{} not possible, ", impossible_) : "";
  words += "front";
  for (std::size_t w = 0; w < series_.size(); ++w) {
    fronts_[w] = solve::front_with(fronts_[w], scores_[w], known_);
    series_[w].on_front.assign(series_[w].points.size(), false);
    for (const std::uint32_t i : fronts_[w]) series_[w].on_front[i] = true;
    words += fmt::format(" {} {}", fronts_[w].size(), exploration_.workloads()[w].name);
    if (has_letters_) words += fmt::format(" ({})", series_[w].mark);
  }
  known_ = scores_.front().size();
  progress.say(words, sketch(series_, 76, 14, "latency", "J"));
}

}  // namespace monet
