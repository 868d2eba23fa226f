#include "monet/hardware/technology_node.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "monet/base/assert.h"

namespace monet::hardware::technology {

namespace {

double exponent_between(Point a, Point b) { return std::log(b.y / a.y) / std::log(b.x / a.x); }

}  // namespace

double interpolate(std::span<const Point> points, double x, double exponent_below, double exponent_above) {
  MONET_ASSERT(!points.empty(), "no points to interpolate between");
  if (x <= points.front().x) return points.front().y * std::pow(x / points.front().x, exponent_below);
  for (std::size_t i = 1; i < points.size(); ++i)
    if (x <= points[i].x)
      return points[i - 1].y * std::pow(x / points[i - 1].x, exponent_between(points[i - 1], points[i]));
  return points.back().y * std::pow(x / points.back().x, exponent_above);
}

double interpolate(std::span<const Point> points, double x) {
  MONET_ASSERT(points.size() >= 2, "one point has no slope");
  return interpolate(points, x, exponent_between(points[0], points[1]),
                     exponent_between(points[points.size() - 2], points.back()));
}

double sound_node(double node_nm) {
  if (!(node_nm > 1)) return 1;
  return std::min(node_nm, 10'000.0);
}

Figure figure(double value, bool inside_range, std::string source) {
  if (!inside_range) return assumed(value, source + "; beyond the range of its points");
  return {.value = value, .provenance = Provenance::Modelled, .source = std::move(source)};
}

Figure assumed(double value, std::string source) {
  return {.value = value, .provenance = Provenance::Assumed, .source = std::move(source)};
}

double between_nodes(double at_45_nm, double at_7_nm, double node_nm) {
  const double part = std::log(kOldNode / sound_node(node_nm)) / std::log(kOldNode / kNewNode);
  return at_45_nm * std::pow(at_7_nm / at_45_nm, part);
}

}  // namespace monet::hardware::technology
