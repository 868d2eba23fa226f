#pragma once
#include <string>
#include <utility>
#include <vector>

namespace monet {

// Points of two figures, both of them better when smaller, as letters on a grid with logarithmic axes: for a terminal
// while a search goes on.
struct SketchSeries {
  char mark = '*';                                  // of the front; the others are dots
  std::vector<std::pair<double, double>> points{};  // x, y, above zero
  std::vector<bool> on_front{};
};

// Lines of `width` characters, `height` of them for the grid, one below it for the x axis; nothing without points.
std::string sketch(const std::vector<SketchSeries>& series, std::size_t width, std::size_t height,
                   const std::string& x_name, const std::string& y_name);

}  // namespace monet
