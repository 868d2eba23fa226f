#include "monet/solve/nsga2.h"

#include <limits>
#include <numeric>

namespace monet::solve {

std::vector<Objectives> points_of(std::span<const Score> scores) {
  std::size_t objectives = 1;  // where none is possible, nobody has said how many there are
  for (const Score& s : scores) objectives = std::max(objectives, s.objectives.size());
  std::vector<Objectives> points;
  for (const Score& s : scores)
    points.push_back(s.violation > 0 ? Objectives(objectives, std::numeric_limits<double>::infinity()) : s.objectives);
  return points;
}

std::vector<std::uint32_t> front_with(std::span<const std::uint32_t> front, std::span<const Score> scores,
                                      std::size_t first) {
  std::vector<std::uint32_t> indices(front.begin(), front.end());
  for (std::size_t i = first; i < scores.size(); ++i) indices.push_back(static_cast<std::uint32_t>(i));
  std::vector<Score> of_these;
  for (const std::uint32_t i : indices) of_these.push_back(scores[i]);
  std::vector<std::uint32_t> out;
  for (const std::uint32_t i : front_of(points_of(of_these))) out.push_back(indices[i]);
  return out;
}

std::vector<Survivor> survivors_of(std::span<const Score> scores, std::size_t count) {
  std::vector<std::uint32_t> possible, others;
  for (std::uint32_t i = 0; i < scores.size(); ++i) (scores[i].violation > 0 ? others : possible).push_back(i);
  std::vector<Objectives> points;
  for (const std::uint32_t i : possible) points.push_back(scores[i].objectives);

  std::vector<Survivor> survivors;
  std::uint32_t rank = 0;
  for (const std::vector<std::uint32_t>& front : sorted_fronts(points)) {
    if (survivors.size() >= count) break;
    const std::vector<double> crowding = crowding_distances(points, front);
    std::vector<std::uint32_t> order(front.size());
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return crowding[a] > crowding[b]; });
    for (const std::uint32_t i : order)
      if (survivors.size() < count) survivors.push_back({possible[front[i]], rank, crowding[i]});
    ++rank;
  }
  // Behind all that is possible, the one that is nearest to it first.
  std::stable_sort(others.begin(), others.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return scores[a].violation < scores[b].violation; });
  for (const std::uint32_t i : others)
    if (survivors.size() < count) survivors.push_back({i, rank++, 0});
  return survivors;
}

}  // namespace monet::solve
