#include "monet/report/status_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "monet/report/nest.h"

namespace monet {
namespace {

// 59 s, 12 min, 3 h 5 min
std::string time_left(double seconds) {
  const auto s = static_cast<std::uint64_t>(std::clamp(std::round(seconds), 0.0, 1e12));
  if (s < 120) return fmt::format("{} s", s);
  const std::uint64_t minutes = (s + 30) / 60;
  return minutes < 120 ? fmt::format("{} min", minutes) : fmt::format("{} h {} min", minutes / 60, minutes % 60);
}

}  // namespace

std::string status_text(const Progress& progress, const Deadline& deadline, double seconds) {
  const auto steps = static_cast<double>(progress.steps.load());
  const auto done = static_cast<double>(progress.done.load()), total = static_cast<double>(progress.total.load());
  const double worked = std::max(0.0, done - static_cast<double>(progress.known.load()));
  const double expected = progress.expected.load();
  std::string line = fmt::format("{:.0f}/{:.0f} {}", done, total, progress.parts.load());
  const bool counts_parts = steps == 0 && std::string_view(progress.parts.load()) != "layers";
  if (counts_parts && worked > 0 && seconds > 0) line += fmt::format(", {:.3g}/s", worked / seconds);
  if (const std::string said = progress.said(); !said.empty()) line += ", " + said;
  if (steps > 0 && seconds > 0) {
    line += expected > 0 ? fmt::format(", {} of {} loop orderings", quantity(steps), quantity(expected))
                         : fmt::format(", {} partial mappings", quantity(steps));
    line += fmt::format(", {:.3g} k/s", steps / seconds / 1000);
  }
  double left = deadline.seconds_left();
  if (expected > steps && steps > 0)
    left = std::min(left, (expected - steps) / steps * seconds);
  else if (worked > 0)
    left = std::min(left, (total - done) / worked * seconds);
  if (std::isfinite(left)) line += fmt::format(", {} left", time_left(left));
  return line;
}

}  // namespace monet
