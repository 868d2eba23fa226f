#include "monet/cli/status_line.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "monet/report/status_text.h"

namespace monet::cli {
namespace {

constexpr double kLogEvery = 60;  // seconds

}  // namespace

StatusLine::StatusLine(const Progress& progress, const Deadline& deadline, bool quiet)
    : progress_(progress), deadline_(deadline), is_terminal_(isatty(STDERR_FILENO) != 0), next_line_(kLogEvery) {
  if (quiet) return;
  thread_ = std::thread([this] {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, std::chrono::milliseconds(250), [this] { return is_done_; })) look();
    if (!is_terminal_) return;
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

void StatusLine::look() {
  if (progress_.total == 0) return;
  const double now = clock_.seconds();
  if (parts_ != progress_.parts.load()) {
    parts_ = progress_.parts.load();
    since_ = now;
  }
  if (!is_terminal_ && now < next_line_) return;
  const std::string line = status_text(progress_, deadline_, now - since_);
  if (is_terminal_) return draw(line);
  next_line_ = now + kLogEvery;
  fmt::print(stderr, "{}\n", line);
  std::fflush(stderr);
}

void StatusLine::draw(const std::string& line) {
  const std::string drawing = progress_.drawn();
  fmt::print(stderr, "{}{}{}", back(), drawing, line);
  lines_ = static_cast<std::size_t>(std::count(drawing.begin(), drawing.end(), '\n'));
  std::fflush(stderr);
}

}  // namespace monet::cli
