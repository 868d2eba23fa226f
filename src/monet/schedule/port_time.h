#pragma once
#include <cstdint>

#include "monet/schedule/engine_chunks.h"

namespace monet::schedule {

// Which cycles of a port are taken. Who comes takes the first that are free from some time on, so that two who want the
// port at once take it by turns, word by word, and not one after the other.
class PortTime {
 public:
  struct Start {
    double time = 0;
    std::uint32_t freed_by = 0;  // tag of who took what there was before; 0: nobody had to be waited for
  };
  // The first start at or after `earliest` from which on `cycles` of the next `duration` are free.
  Start free_from(double cycles, double duration, double earliest) const;
  // When so many free cycles have passed since `start`.
  double served(double start, double cycles) const;
  void take(double start, double cycles, std::uint32_t by);
  // Nobody asks for a time before `horizon` any more.
  void forget_before(double horizon) { stretches_.drop_below(horizon); }

 private:
  // All of it is taken; two do not touch.
  struct Stretch {
    double from = 0, to = 0;
    std::uint32_t by = 0;  // whose cycles are the last ones
    double key() const { return from; }
  };
  using Stretches = Chunks<Stretch>;

  bool is_over(double when) const { return stretches_.empty() || stretches_.last().to <= when; }  // all that is taken
  Stretches::At ends_after(double when) const;

  Stretches stretches_;
};

}  // namespace monet::schedule
