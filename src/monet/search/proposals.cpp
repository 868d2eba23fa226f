#include "monet/search/proposals.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "monet/base/parallel.h"

namespace monet::search {
namespace {

using solve::Choices;
using solve::Objectives;
using solve::Score;

constexpr double kAll = 1 << 16;          // decisions up to which all are guessed
constexpr std::size_t kAround = 1 << 13;  // of more: so many around the front
constexpr std::size_t kLookedAt = 2048;   // of them, more closely
constexpr std::size_t kKnown = 512;       // points that guesses are made from
constexpr double kProposed = 0.75;        // of a generation, at the most
constexpr double kHope = 1;               // doubts are taken for so much of what they may mean
constexpr double kBehind = 0.005;         // of the range: guesses that far behind the front are not followed
constexpr double kNever = -std::numeric_limits<double>::infinity();

// Least squares.
struct Line {
  double slope = 0, offset = 0;
  double at(double x) const { return slope * x + offset; }
};
Line line_through(const std::vector<double>& x, const std::vector<double>& y) {
  const auto n = static_cast<double>(x.size());
  const double mean_x = std::accumulate(x.begin(), x.end(), 0.0) / n;
  const double mean_y = std::accumulate(y.begin(), y.end(), 0.0) / n;
  double above = 0, below = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    above += (x[i] - mean_x) * (y[i] - mean_y);
    below += (x[i] - mean_x) * (x[i] - mean_x);
  }
  const double slope = below > 0 ? above / below : 0;
  return {slope, mean_y - slope * mean_x};
}

// What is guessed of a decision: cycles, energy, and bytes in each stretch or, where those are not known, the peak.
class Guesses {
 public:
  // `expected`: what the guide says of the known.
  Guesses(const solve::Likeness& likeness, const CheckpointGoal& goal, const std::vector<const CheckpointPoint*>& known,
          const std::vector<std::pair<double, double>>& expected)
      : goal_(goal), process_(likeness, decisions_of(known)) {
    std::vector<std::vector<double>> numbers;
    for (const CheckpointPoint* p : known) numbers.push_back(numbers_of(p->figures, goal));
    for (std::size_t k = 0; k < numbers.front().size(); ++k) {
      std::vector<double> values, said;
      for (const std::vector<double>& of_point : numbers) values.push_back(of_point[k]);
      if (k < lines_.size()) {
        for (const auto& [cycles, energy] : expected) said.push_back(k == 0 ? cycles : energy);
        lines_[k] = line_through(said, values);
        for (std::size_t i = 0; i < values.size(); ++i) values[i] -= lines_[k].at(said[i]);
      }
      fits_.push_back(process_.fit(std::move(values)));
    }
  }

  // As good as it may be.
  Score operator()(const Choices& decision, const std::pair<double, double>& expected, bool closely) const {
    const std::vector<double> likenesses = process_.likenesses(decision);
    const double doubt = closely ? process_.doubt(likenesses) : solve::GaussianProcess::most_doubt(likenesses);
    const auto guess = [&](std::size_t k) { return fits_[k].guess(likenesses) - kHope * doubt * fits_[k].size; };
    double peak = guess(2);
    for (std::size_t k = 3; k < fits_.size(); ++k) peak = std::max(peak, guess(k));
    return goal_.score(lines_[0].at(expected.first) + guess(0), lines_[1].at(expected.second) + guess(1), peak);
  }

 private:
  static std::vector<Choices> decisions_of(const std::vector<const CheckpointPoint*>& points) {
    std::vector<Choices> out;
    for (const CheckpointPoint* p : points) out.push_back(p->decision);
    return out;
  }
  static std::vector<double> numbers_of(const Figures& f, const CheckpointGoal& goal) {
    std::vector<double> out{f.latency_cycles / f.samples, f.energy_pj / f.samples};
    if (goal.store || f.stretch_bytes.empty())
      out.push_back(goal.peak(f));
    else
      out.insert(out.end(), f.stretch_bytes.begin(), f.stretch_bytes.end());
    return out;
  }

  const CheckpointGoal& goal_;
  solve::GaussianProcess process_;
  std::array<Line, 2> lines_{};
  std::vector<solve::GaussianProcess::Fit> fits_;
};

// How far before the front points stand.
class Leads {
 public:
  explicit Leads(const solve::Archive<Choices>& archive) {
    for (const std::uint32_t i : archive.front) front_.push_back(archive.scores[i].objectives);
    for (const Score& s : archive.scores) {
      if (s.violation > 0) {
        if (s.violation < std::numeric_limits<double>::max()) violation_ = std::max(violation_, s.violation);
        continue;
      }
      if (low_.empty()) low_ = high_ = s.objectives;
      for (std::size_t k = 0; k < low_.size(); ++k) {
        low_[k] = std::min(low_[k], s.objectives[k]);
        high_[k] = std::max(high_[k], s.objectives[k]);
      }
    }
  }

  bool has_front() const { return !front_.empty(); }

  // By how much of its range a point would have to be worse in every objective to be no better than the other.
  double over(const Score& point, const Score& other) const {
    if (point.violation > 0) return (other.violation - point.violation) / std::max(violation_, 1e-300);
    return other.violation > 0 ? std::numeric_limits<double>::infinity() : over(point.objectives, other.objectives);
  }
  double over_front(const Score& point) const {
    if (point.violation > 0) return -1 - point.violation / std::max(violation_, 1e-300);
    double least = std::numeric_limits<double>::infinity();
    for (const Objectives& f : front_) least = std::min(least, over(point.objectives, f));
    return least;
  }

 private:
  double over(const Objectives& point, const Objectives& other) const {
    double most = kNever;
    for (std::size_t k = 0; k < point.size(); ++k) {
      const double range = low_.empty() ? 1 : high_[k] - low_[k];
      most = std::max(most, (other[k] - point[k]) / std::max(range, 1e-12 * std::abs(point[k]) + 1e-300));
    }
    return most;
  }

  std::vector<Objectives> front_;
  Objectives low_, high_;
  double violation_ = 0;
};

}  // namespace

Proposals::Proposals(std::vector<std::uint16_t> choices, Guide guide, const CheckpointGoal& goal)
    : choices_(std::move(choices)), guide_(std::move(guide)), goal_(goal), likeness_(guide_.related, guide_.axes) {}

std::vector<Choices> Proposals::operator()(const std::vector<CheckpointPoint>& points,
                                           const solve::Archive<Choices>& archive, std::size_t wanted,
                                           solve::Random& random) const {
  std::vector<const CheckpointPoint*> known;
  for (const solve::Survivor& s : solve::survivors_of(archive.scores, kKnown))
    if (points[s.index].figures.is_possible) known.push_back(&points[s.index]);
  if (known.empty()) return {};
  std::vector<std::pair<double, double>> said;
  for (const CheckpointPoint* p : known) said.push_back(expected(p->decision));
  const Guesses guess(likeness_, goal_, known, said);
  const Leads leads(archive);
  const std::set<Choices> tried(archive.genomes.begin(), archive.genomes.end());
  std::vector<Choices> decisions = pool(archive, random);
  std::erase_if(decisions, [&](const Choices& c) { return tried.contains(c); });

  said.clear();
  for (const Choices& c : decisions) said.push_back(expected(c));
  std::vector<double> merit(decisions.size());
  if (decisions.size() > kLookedAt) {
    parallel_for(decisions.size(), guide_.threads,
                 [&](std::size_t i) { merit[i] = leads.over_front(guess(decisions[i], said[i], false)); });
    std::vector<std::uint32_t> order(decisions.size());
    std::iota(order.begin(), order.end(), 0u);
    std::partial_sort(order.begin(), order.begin() + kLookedAt, order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return merit[a] != merit[b] ? merit[a] > merit[b] : a < b;
    });
    order.resize(kLookedAt);
    std::vector<Choices> best;
    for (const std::uint32_t i : order) best.push_back(std::move(decisions[i]));
    decisions = std::move(best);
    said.clear();
    for (const Choices& c : decisions) said.push_back(expected(c));
    merit.resize(kLookedAt);
  }
  std::vector<Score> guessed(decisions.size());
  parallel_for(decisions.size(), guide_.threads, [&](std::size_t i) {
    guessed[i] = guess(decisions[i], said[i], true);
    merit[i] = leads.over_front(guessed[i]);
  });

  std::vector<Choices> out;
  const auto most = static_cast<std::size_t>(std::ceil(kProposed * static_cast<double>(wanted)));
  while (out.size() < most && out.size() < decisions.size()) {
    const auto best = static_cast<std::size_t>(std::max_element(merit.begin(), merit.end()) - merit.begin());
    if (merit[best] == kNever || (leads.has_front() && merit[best] < -kBehind)) break;
    out.push_back(decisions[best]);
    merit[best] = kNever;
    for (std::size_t i = 0; i < decisions.size(); ++i)
      if (merit[i] != kNever) merit[i] = std::min(merit[i], leads.over(guessed[i], guessed[best]));
  }
  return out;
}

std::pair<double, double> Proposals::expected(const Choices& decision) const {
  if (!guide_.expected) return {};
  const auto at = expected_.find(decision);
  return at != expected_.end() ? at->second : expected_.emplace(decision, guide_.expected(decision)).first->second;
}

// All decisions where they are few; else those that differ from one on the front in one choice, and some in two or
// three.
std::vector<Choices> Proposals::pool(const solve::Archive<Choices>& archive, solve::Random& random) const {
  double count = 1;
  for (const std::uint16_t c : choices_) count *= c;
  if (count <= kAll) {
    std::vector<Choices> all;
    Choices at(choices_.size(), 0);
    do all.push_back(at);
    while (solve::advance(at, choices_));
    return all;
  }
  std::set<Choices> around;
  const auto change = [&](Choices& c, std::size_t d) {
    c[d] = static_cast<std::uint16_t>((c[d] + 1 + random.below(choices_[d] - 1u)) % choices_[d]);
    around.insert(c);
  };
  std::vector<std::uint32_t> from = archive.front;
  if (from.empty())
    for (const solve::Survivor& s : solve::survivors_of(archive.scores, 1)) from.push_back(s.index);
  const std::size_t each = std::min(choices_.size(), kAround / 3 / from.size() + 1);
  for (const std::uint32_t i : from)
    for (std::size_t k = 0; k < each; ++k) {
      Choices one = archive.genomes[i];
      change(one, each == choices_.size() ? k : random.below(choices_.size()));
      for (int more = 0; more < 2; ++more) change(one, random.below(choices_.size()));
    }
  return {around.begin(), around.end()};
}

}  // namespace monet::search
