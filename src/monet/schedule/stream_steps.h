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
  struct Step {
    double time = 0, change = 0;
  };
  std::vector<Step> steps_{{}};
  double last_ = 0;
};

// Used bandwidth of a link over time, and which tensors begin to pass when.
class LinkSteps {
 public:
  // Nothing happens, and false, if this very tensor begins then already (rule 4).
  bool book(std::uint32_t tensor, double start, double end, double amount);
  void occupy(double start, double end, double amount);
  // The first start at or after `earliest` from which on at most `limit` is used for `duration`.
  double free_from(double limit, double duration, double earliest) const;

 private:
  static constexpr std::uint32_t kNobody = std::numeric_limits<std::uint32_t>::max();
  struct Step {
    double time = 0, level = 0;
    std::uint32_t begins = kNobody;  // the first of beginners_
  };
  struct Beginner {
    std::uint32_t tensor = 0;
    std::uint32_t next = kNobody;  // at the same time
  };
  double shift(std::size_t at, double when, double amount);
  void occupy_at(std::size_t at, double start, double end, double amount);

  std::vector<Step> steps_{{}, {.time = std::numeric_limits<double>::infinity()}};
  std::vector<Beginner> beginners_;
};

}  // namespace monet::schedule
