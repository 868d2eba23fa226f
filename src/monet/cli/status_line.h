#pragma once
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "monet/base/watch.h"
#include "monet/cli/clock.h"

namespace monet::cli {

// How a computation stands (report/status_text.h), on stderr: rewritten in place on a terminal, with a drawing above it
// where there is one; else, for the log of a job, a line every minute. What is shown is looked up by a thread of its
// own: the computation only counts.
class StatusLine {
 public:
  StatusLine(const Progress& progress, const Deadline& deadline, bool quiet);
  ~StatusLine();
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

 private:
  void look();
  void draw(const std::string& line);
  std::string back() const;

  const Progress& progress_;
  Deadline deadline_;
  bool is_terminal_;
  Clock clock_;
  const char* parts_ = nullptr;  // what is counted
  double since_ = 0;             // seconds on the clock
  double next_line_;             // of a log
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_done_ = false;
  std::size_t lines_ = 0;  // of the drawing above the line
  std::thread thread_;
};

}  // namespace monet::cli
