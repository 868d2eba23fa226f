#pragma once
#include <cstdint>
#include <limits>
#include <vector>

namespace monet::schedule {

// Used bits of a memory over time. Entries are kept as changes, so that one in the past costs nothing for those after
// it; levels are summed from the end, where nearly every question is asked.
class UsageSteps {
 public:
  // Times are compared as they are and stored without their fraction (rule 3).
  void change(double when, double bits);
  // The largest level from the first entry at or after `when` on; -infinity if there is none.
  double highest_from(double when) const;
  // When `bits` more fit below `size` for good; the last known time if never; `when` if nothing is known later (rule
  // 12).
  double room_from(double bits, double when, double size) const;
  double level_at(double when) const;
  double peak() const;

 private:
  std::vector<double> times_{0};
  std::vector<double> changes_{0};
  double last_ = 0;
};

// Used bandwidth of a link over time.
class LinkSteps {
 public:
  void occupy(double start, double end, double amount);
  // The first start at or after `earliest` from which on at most `limit` is used for `duration`.
  double free_from(double limit, double duration, double earliest) const;

 private:
  struct Shift {
    std::size_t at;
    double moved;
  };
  Shift shift(double when, double amount);
  std::vector<double> times_{0, std::numeric_limits<double>::infinity()};
  std::vector<double> levels_{0, 0};
};

}  // namespace monet::schedule
