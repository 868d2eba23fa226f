#include "monet/cli/status_line.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "monet/report/nest.h"

namespace monet::cli {

std::string status_text(const Progress& progress, const Deadline& deadline, double seconds) {
  const auto steps = static_cast<double>(progress.steps.load());
  const auto done = static_cast<double>(progress.done.load()), total = static_cast<double>(progress.total.load());
  const double expected = progress.expected.load();
  std::string line = fmt::format("{:.0f}/{:.0f} {}", done, total, progress.parts.load());
  const bool counts_parts = steps == 0 && std::string_view(progress.parts.load()) != "layers";
  if (counts_parts && done > 0 && seconds > 0) line += fmt::format(", {:.3g}/s", done / seconds);
  if (const std::string said = progress.said(); !said.empty()) line += ", " + said;
  if (steps > 0 && seconds > 0) {
    line += expected > 0 ? fmt::format(", {} of {} loop orderings", quantity(steps), quantity(expected))
                         : fmt::format(", {} partial mappings", quantity(steps));
    line += fmt::format(", {:.3g} k/s", steps / seconds / 1000);
  }
  double left = deadline.seconds_left();
  if (expected > steps && steps > 0)
    left = std::min(left, (expected - steps) / steps * seconds);
  else if (done > 0)
    left = std::min(left, (total - done) / done * seconds);
  if (std::isfinite(left)) line += fmt::format(", {:.0f} s left", std::max(0.0, left));
  return line;
}

StatusLine::StatusLine(const Progress& progress, const Deadline& deadline, bool quiet)
    : progress_(progress), deadline_(deadline) {
  if (quiet || isatty(STDERR_FILENO) == 0) return;
  thread_ = std::thread([this] {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, std::chrono::milliseconds(250), [this] { return is_done_; })) show();
    fmt::print(stderr, "{}", back());
    std::fflush(stderr);
  });
}

StatusLine::~StatusLine() {
  {
    const std::unique_lock lock(mutex_);
    is_done_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

// To where the last drawing began, everything behind it wiped away.
std::string StatusLine::back() const { return lines_ == 0 ? "\r\033[J" : fmt::format("\r\033[{}A\033[J", lines_); }

void StatusLine::show() {
  if (progress_.total == 0) return;
  const std::string drawing = progress_.drawn();
  fmt::print(stderr, "{}{}{}", back(), drawing, status_text(progress_, deadline_, clock_.seconds()));
  lines_ = static_cast<std::size_t>(std::count(drawing.begin(), drawing.end(), '\n'));
  std::fflush(stderr);
}

}  // namespace monet::cli
