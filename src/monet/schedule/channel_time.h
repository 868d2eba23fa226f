#pragma once
#include <vector>

namespace monet::schedule {

// What of a channel is used over time: steps of bytes a cycle.
class ChannelTime {
 public:
  // The first start at or after `earliest` from which on `rate` fits below `most` for `duration`.
  double free_from(double rate, double most, double duration, double earliest) const;
  void occupy(double start, double end, double rate);
  // Nobody asks for a time before `horizon` any more.
  void forget_before(double horizon);

 private:
  std::vector<double> times_{0};
  std::vector<double> used_{0};  // from this time to the next
};

}  // namespace monet::schedule
