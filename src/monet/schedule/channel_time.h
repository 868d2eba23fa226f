#pragma once
#include <cstdint>

#include "monet/schedule/engine_chunks.h"

namespace monet::schedule {

// What of a channel is used over time: steps of bytes a cycle.
class ChannelTime {
 public:
  ChannelTime();

  struct Start {
    double time = 0;
    std::uint32_t freed_by = 0;  // what the use that ends then was tagged with; 0: nothing had to end
  };
  // The first start at or after `earliest` from which on `rate` fits below `most` for `duration`.
  Start free_from(double rate, double most, double duration, double earliest) const;
  void occupy(double start, double end, double rate, std::uint32_t by);
  // Nobody asks for a time before `horizon` any more.
  void forget_before(double horizon) { steps_.drop_below(horizon); }

 private:
  struct Step {
    double time = 0, used = 0;  // from this time to the next
    std::uint32_t by = 0;       // the latest of the uses that end here
    double key() const { return time; }
  };
  struct Range {
    double least = 0, most = 0;  // used
  };
  using Steps = Chunks<Step, Range>;

  Steps::At step_at(double when) const;
  const Range& range(std::size_t chunk) const;

  Steps steps_;  // the first begins at 0, or before the horizon
};

}  // namespace monet::schedule
