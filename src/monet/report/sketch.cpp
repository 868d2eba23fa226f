#include "monet/report/sketch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace monet {
namespace {

struct Scale {
  double least = std::numeric_limits<double>::infinity(), most = 0;

  void add(double value) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
  // 0 … cells - 1
  std::size_t cell(double value, std::size_t cells) const {
    if (most <= least) return 0;
    const double share = std::log(value / least) / std::log(most / least);
    return std::min(cells - 1, static_cast<std::size_t>(std::max(0.0, share) * static_cast<double>(cells)));
  }
};

}  // namespace

std::string sketch(const std::vector<SketchSeries>& series, std::size_t width, std::size_t height,
                   const std::string& x_name, const std::string& y_name) {
  Scale x, y;
  for (const SketchSeries& s : series)
    for (const auto& [a, b] : s.points) {
      if (!(a > 0) || !(b > 0)) continue;
      x.add(a);
      y.add(b);
    }
  if (x.most == 0 || width < 20 || height < 2) return "";
  const std::string most = fmt::format("{:.3g} ", y.most), least = fmt::format("{:.3g} ", y.least);
  const std::string unit = y_name + " ";
  const std::size_t margin = std::max({most.size(), least.size(), unit.size()});
  const std::size_t columns = width - margin;
  std::vector<std::string> rows(height, std::string(columns, ' '));
  // Dots first, so that fronts stand on top.
  for (const bool fronts : {false, true})
    for (const SketchSeries& s : series)
      for (std::size_t i = 0; i < s.points.size(); ++i) {
        const auto& [a, b] = s.points[i];
        if (s.on_front[i] != fronts || !(a > 0) || !(b > 0)) continue;
        rows[height - 1 - y.cell(b, height)][x.cell(a, columns)] = fronts ? s.mark : '.';
      }
  std::string out;
  for (std::size_t r = 0; r < height; ++r) {
    const std::string& label = r == 0 ? most : r + 1 == height ? least : r == height / 2 ? unit : std::string();
    out += fmt::format("{:>{}}{}\n", label, margin, rows[r]);
  }
  const std::string left = fmt::format("{:.3g}", x.least), right = fmt::format("{:.3g}", x.most);
  return out + fmt::format("{:{}}{} {:^{}} {}\n", "", margin, left, x_name,
                           columns > left.size() + right.size() + 2 ? columns - left.size() - right.size() - 2 : 0,
                           right);
}

}  // namespace monet
