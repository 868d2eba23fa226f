#pragma once
#include <span>
#include <string>

#include "monet/hardware/hardware.h"

namespace monet::hardware::technology {

// What the files of the technology model share: figures between published points, and how a figure says where it is
// from.

struct Point {
  double x = 0;  // node, or width of an operand
  double y = 0;
};

// Through the points (ascending in x) in straight lines of log y over log x; beyond the ends with the given exponents.
double interpolate(std::span<const Point> points, double x, double exponent_below, double exponent_above);

// The same with the first and last line prolonged. Needs two points.
double interpolate(std::span<const Point> points, double x);

// A node that can be computed with: what is no node at all counts as the nearest that is.
double sound_node(double node_nm);

Figure figure(double value, bool inside_range, std::string source);
Figure assumed(double value, std::string source);

constexpr double kOldNode = 45;  // nm, "Computing's energy problem", ISSCC 2014
constexpr double kNewNode = 7;   // nm, "Ten lessons …", ISCA 2021, table 2

// Area of a piece of logic relative to its area at 45 nm.
double logic_area_by_node(double node_nm);

// Between what something costs at 45 nm and at 7 nm, straight in log cost over log node.
double between_nodes(double at_45_nm, double at_7_nm, double node_nm);

}  // namespace monet::hardware::technology
