#pragma once
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "monet/base/watch.h"
#include "monet/cli/clock.h"

namespace monet::cli {

// "12/62 layers, 3,400,000 of 13,305,600 loop orderings, 1.5 M/s, 7 s left", rewritten in place while stderr is a
// terminal, with a drawing above it where there is one. What is shown is looked up by a thread of its own: the
// computation only counts.
class StatusLine {
 public:
  StatusLine(const Progress& progress, const Deadline& deadline, bool quiet);
  ~StatusLine();
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

 private:
  void show();
  std::string back() const;

  const Progress& progress_;
  Deadline deadline_;
  Clock clock_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_done_ = false;
  std::size_t lines_ = 0;  // of the drawing above the line
  std::thread thread_;
};

// The line itself; `seconds` since the start.
std::string status_text(const Progress& progress, const Deadline& deadline, double seconds);

}  // namespace monet::cli
