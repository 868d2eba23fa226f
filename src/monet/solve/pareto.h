#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace monet::solve {

// Points in several objectives, all to be made small. A point of infinity or NaN in any of them is dominated by every
// finite one and is on no front.
using Objectives = std::vector<double>;

// No worse in any objective, and better in one.
bool dominates(std::span<const double> a, std::span<const double> b);

// Indices of the points that no other dominates, in their order; of equal points the first one.
std::vector<std::uint32_t> front_of(std::span<const Objectives> points);

// Layers of fronts: those dominated by none, those dominated by the first layer alone, and so on (Deb et al. 2002).
std::vector<std::vector<std::uint32_t>> sorted_fronts(std::span<const Objectives> points);

// How much room a point has beside it on its front, by the sides of the box between its neighbours; infinite at the
// ends.
std::vector<double> crowding_distances(std::span<const Objectives> points, std::span<const std::uint32_t> front);

// Largest of each objective over the points of the front: what `hypervolume` is usually measured from, times 1.1.
Objectives nadir_of(std::span<const Objectives> points);

// The volume between the points and a reference point that lies behind them: exact, or NaN where it would take too
// long, as of hundreds of points in ten objectives. Points that are not below the reference in every objective add
// nothing.
double hypervolume(std::span<const Objectives> points, std::span<const double> reference);

// Of a front, from 1.1 times its worst in each objective; nothing of no points.
struct FrontVolume {
  Objectives reference{};
  double volume = 0;  // in units of the objectives, or NaN
  double share = 0;   // of the box between the best of each objective and the reference, or NaN
};
FrontVolume volume_of(std::span<const Objectives> front);

}  // namespace monet::solve
