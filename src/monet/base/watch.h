#pragma once
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace monet {

// What a long computation has to do with the outside: it asks whether to stop, and says how far it is.

enum class Stop { No, Time, Asked };

// When to stop early and give the best found so far: at a point in time, or when someone asks for it. By default never.
class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  Deadline() = default;
  // `seconds` from now; `asked` (a signal handler's flag, say) must outlive every copy.
  explicit Deadline(std::optional<double> seconds, const std::atomic<bool>* asked = nullptr) : asked_(asked) {
    if (seconds) at_ = after(*seconds);
  }

  Stop state() const {
    if (asked_ != nullptr && asked_->load(std::memory_order_relaxed)) return Stop::Asked;
    return at_ && Clock::now() >= *at_ ? Stop::Time : Stop::No;
  }
  bool is_over() const { return state() != Stop::No; }
  bool has_time() const { return at_.has_value(); }  // whether time can end it
  double seconds_left() const {
    return at_ ? std::chrono::duration<double>(*at_ - Clock::now()).count() : std::numeric_limits<double>::infinity();
  }
  // The same, or `seconds` from now if that is sooner.
  Deadline within(double seconds) const {
    Deadline sooner = *this;
    if (const Clock::time_point at = after(seconds); !at_ || at < *at_) sooner.at_ = at;
    return sooner;
  }

 private:
  static Clock::time_point after(double seconds) {
    constexpr double kMost = 1e9;  // thirty years: a clock counts nanoseconds in 64 bits
    const double sane = seconds < kMost ? seconds : kMost;
    return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(sane));
  }
  std::optional<Clock::time_point> at_{};
  const std::atomic<bool>* asked_ = nullptr;
};

// How far a computation is, for another thread to look at.
struct Progress {
  std::atomic<const char*> parts = "layers";     // what is counted
  std::atomic<std::size_t> done = 0, total = 0;  // parts of it
  std::atomic<std::size_t> known = 0;            // of those done, what was known before and took no time
  std::atomic<std::uint64_t> steps = 0;          // small ones, over all parts
  std::atomic<double> expected = 0;              // of them, as far as is known

  // Words on how it stands, and a drawing of several lines, if there is one.
  void say(std::string words, std::string drawing = "") {
    const std::lock_guard lock(mutex_);
    words_ = std::move(words);
    drawing_ = std::move(drawing);
  }
  std::string drawn() const {
    const std::lock_guard lock(mutex_);
    return drawing_;
  }
  std::string said() const {
    const std::lock_guard lock(mutex_);
    return words_;
  }

 private:
  mutable std::mutex mutex_;
  std::string words_, drawing_;
};

struct Watch {
  Deadline deadline{};
  Progress* progress = nullptr;  // must outlive the computation
};

// Counts the steps of one search. Looks at the clock once in `every` steps, so that a step may be short.
class Ticks {
 public:
  Ticks(const Watch& watch, std::uint32_t every) : watch_(watch), every_(every), left_(every) {}
  ~Ticks() { tell(every_ - left_); }
  Ticks(const Ticks&) = delete;
  Ticks& operator=(const Ticks&) = delete;

  // One more step; true when it is time to stop.
  bool is_over() { return --left_ == 0 && look(); }

 private:
  bool look() {
    tell(every_);
    left_ = every_;
    return watch_.deadline.is_over();
  }
  void tell(std::uint32_t steps) const {
    if (watch_.progress != nullptr) watch_.progress->steps.fetch_add(steps, std::memory_order_relaxed);
  }

  Watch watch_;
  std::uint32_t every_, left_;
};

}  // namespace monet
