#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <stdexcept>

#include "support/nest_simulator.h"

// The cycle-level half of the simulator. Every side of every transfer is a stream of elements on one port, in the order
// in which they are needed (or, on the way up, are done). An element waits for elements of other streams: for the data
// it carries and for the place it goes to. A greedy scheduler then runs all streams, cycle by cycle.
namespace monet::test {
namespace {

using hardware::Direction;

// `stream` has done `count` steps: before this cycle, or also in it.
struct Dependence {
  std::size_t stream = 0, count = 0;
  bool same_cycle = false;
};

// One element (of every instance), or one iteration of the array.
struct Step {
  std::vector<Dependence> waits_for{};
  double needed = 0;     // the cycle in which it must be done: who is needed soonest goes first
  bool is_last = false;  // of its transfer: no word carries parts of two
};

constexpr std::size_t kNoPort = static_cast<std::size_t>(-1);

struct Stream {
  std::size_t port = kNoPort;
  double cycles_per_step = 1;  // bits of an element / bits a cycle
  std::vector<Step> steps{};
};

struct Machine {
  std::vector<Stream> streams{};
  std::size_t ports = 0;

  std::size_t add(std::size_t port, double cycles_per_step) {
    streams.push_back({.port = port, .cycles_per_step = cycles_per_step});
    return streams.size() - 1;
  }
  std::size_t steps(std::size_t stream) const { return streams[stream].steps.size(); }
};

void wait_for(Step& step, const Dependence& d) {
  if (d.count == 0) return;
  for (Dependence& known : step.waits_for)
    if (known.stream == d.stream && known.same_cycle == d.same_cycle) {
      known.count = std::max(known.count, d.count);
      return;
    }
  step.waits_for.push_back(d);
}

// When each step is needed, if the iterations are to start at these times and the results as early as can be.
void set_needed(Machine& machine, std::size_t exec, const std::vector<double>& starts) {
  for (Stream& stream : machine.streams)
    for (Step& step : stream.steps) step.needed = starts.back() + 1;
  for (std::size_t i = 0; i < starts.size(); ++i) machine.streams[exec].steps[i].needed = starts[i];
  for (bool changed = true; changed;) {
    changed = false;
    const auto at_most = [&](Step& step, double cycle) {
      if (step.needed <= cycle + 1e-9) return;
      step.needed = cycle;
      changed = true;
    };
    for (std::size_t s = machine.streams.size(); s-- > 0;) {
      Stream& stream = machine.streams[s];
      for (std::size_t i = stream.steps.size(); i-- > 0;) {
        for (const Dependence& d : stream.steps[i].waits_for)
          at_most(machine.streams[d.stream].steps[d.count - 1], stream.steps[i].needed - (d.same_cycle ? 0 : 1));
        if (i > 0 && s != exec) at_most(stream.steps[i - 1], stream.steps[i].needed - stream.cycles_per_step);
      }
    }
  }
}

struct Run {
  std::size_t cycles = 0;
  std::vector<double> starts{};  // of the iterations
};

// In a cycle a port serves one stream, which moves what is ready, up to the port's width.
class Clock {
 public:
  Clock(const Machine& machine, std::size_t exec)
      : machine_(machine),
        exec_(exec),
        done_(machine.streams.size(), 0),
        before_(done_),
        part_(machine.streams.size(), 0),
        served_(machine.ports),
        left_(machine.streams.size()) {}

  Run run() {
    std::size_t remaining = 0;
    for (const Stream& s : machine_.streams) remaining += s.steps.size();
    for (Run result;;) {
      if (remaining == 0) return result;
      before_ = done_;
      ++result.cycles;
      std::fill(served_.begin(), served_.end(), kNone);
      std::fill(left_.begin(), left_.end(), 1.0);
      bool any = false;
      // A step may make others of the same cycle possible: until nothing moves any more.
      for (std::size_t best = soonest(); best != kNone; best = soonest()) {
        any = true;
        const Stream& stream = machine_.streams[best];
        if (stream.port != kNoPort) served_[stream.port] = best;
        const double moved = std::min(left_[best], stream.cycles_per_step - part_[best]);
        left_[best] -= moved;
        part_[best] += moved;
        if (part_[best] < stream.cycles_per_step - 1e-9) continue;
        part_[best] = 0;
        if (stream.steps[done_[best]].is_last) left_[best] = 0;
        if (best == exec_) result.starts.push_back(static_cast<double>(result.cycles));
        ++done_[best];
        --remaining;
      }
      if (!any) throw std::logic_error("the simulated machine is stuck");
    }
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  bool is_ready(std::size_t i) const {
    if (done_[i] == machine_.streams[i].steps.size() || left_[i] < 1e-9) return false;
    const std::size_t port = machine_.streams[i].port;
    if (port != kNoPort && served_[port] != kNone && served_[port] != i) return false;
    for (const Dependence& d : machine_.streams[i].steps[done_[i]].waits_for)
      if ((d.same_cycle ? done_ : before_)[d.stream] < d.count) return false;
    return true;
  }

  std::size_t soonest() const {
    std::size_t best = kNone;
    const auto needed = [&](std::size_t i) { return machine_.streams[i].steps[done_[i]].needed; };
    for (std::size_t i = 0; i < machine_.streams.size(); ++i)
      if (is_ready(i) && (best == kNone || needed(i) < needed(best))) best = i;
    return best;
  }

  const Machine& machine_;
  std::size_t exec_;
  std::vector<std::size_t> done_, before_;
  std::vector<double> part_;         // of the step under way, cycles done
  std::vector<std::size_t> served_;  // by port, the stream of this cycle
  std::vector<double> left_;         // by stream, of this cycle
};

// The best of some schedules: first as if nothing ever waited, then with the times at which the iterations really
// start.
std::size_t best_of(Machine& machine, std::size_t exec) {
  Run last;
  for (std::size_t i = 0; i < machine.steps(exec); ++i) last.starts.push_back(static_cast<double>(i));
  std::size_t best = 0;
  for (int attempt = 0; attempt < 4; ++attempt) {
    set_needed(machine, exec, last.starts);
    last = Clock(machine, exec).run();
    if (best == 0 || last.cycles < best) best = last.cycles;
  }
  return best;
}

// What one instance holds of an element during one stay.
struct Held {
  std::vector<Dependence> present{};  // the data is there; none: from the start
  std::vector<Dependence> place{};    // the place is free, for what is not brought from above
  bool is_stored = false;             // outputs: there is a sum
};

struct TileUse {
  std::int64_t element = 0;
  std::size_t first = 0, last = 0;  // iterations
};

// One operand on its way through its memories.
class Route {
 public:
  Route(const SimulatedNest& nest, std::size_t operand, const Trace& t, const std::vector<std::size_t>& first_port,
        std::size_t exec, Machine& machine)
      : nest_(nest), o_(operand), t_(t), exec_(exec), machine_(machine), top_(t.memory.size() - 1) {
    set_bits();
    held_.resize(t.memory.size());
    frees_.resize(t.memory.size());
    last_read_.resize(t.memory.size());
    capacity_.assign(t.memory.size(), 0);
    const auto stream = [&](std::size_t m, Direction d, double bits) {
      const hardware::Memory& memory = nest.core.memories[t.memory[m]];
      const hardware::Port& port = port_of(memory, nest.layer.operands[operand].slot, d);
      return machine_.add(first_port[t.memory[m]] + static_cast<std::size_t>(&port - memory.ports.data()),
                          bits / static_cast<double>(port.max_bits_per_cycle));
    };
    fetch_ = stream(0, Direction::ReadToLow, bits_[0]);
    if (t.is_output) store_ = stream(0, Direction::WriteFromLow, bits_[0]);
    for (std::size_t m = 0; m < top_; ++m) {
      down_read_.push_back(stream(m + 1, Direction::ReadToLow, bits_[m + 1]));
      down_write_.push_back(stream(m, Direction::WriteFromHigh, bits_[m + 1]));
      if (!t.is_output) continue;
      up_read_.push_back(stream(m, Direction::ReadToHigh, bits_[m + 1]));
      up_write_.push_back(stream(m + 1, Direction::WriteFromLow, bits_[m + 1]));
    }
    for (std::size_t m = 0; m < top_; ++m)
      for (std::size_t i = 0; i < t.iterations; i += t.stays[m + 1])
        for (const auto& [_, uses] : uses_of(m, i, i + t.stays[m + 1]))
          capacity_[m] = std::max(capacity_[m], uses.size());
    if (t.is_output && nest.layer.starts_from_stored)
      for (const std::int64_t element : t.element)
        for (std::size_t i = 0; i < t.instances[top_] && element >= 0; ++i)
          held_[top_][static_cast<std::uint32_t>(i)][element].is_stored = true;
  }

  // Before the iteration: what it needs comes down. Returns what the array waits for.
  void before(std::size_t i, Step& iteration) {
    for (std::size_t m = top_; m-- > 0;)
      if (i % t_.stays[m + 1] == 0) bring(m, i);
    if (i % t_.stays[0] == 0) fetch(i);
    wait_for(iteration, {fetch_, machine_.steps(fetch_), true});
    if (!t_.is_output) return;
    wait_for(iteration, {store_, machine_.steps(store_), false});
    for (const auto& [instance, uses] : uses_of(0, i, i + 1))
      for (const TileUse& use : uses)
        for (const Dependence& d : held_[0][instance][use.element].place) wait_for(iteration, d);
  }

  // After it: sums go up.
  void after(std::size_t i) {
    if (!t_.is_output) return;
    store(i);
    for (std::size_t m = 0; m < top_; ++m)
      if ((i + 1) % t_.stays[m + 1] == 0) take_up(m, i);
  }

 private:
  using Uses = std::map<std::uint32_t, std::vector<TileUse>>;

  // By instance of memory `of` the elements of one stay, in the order of their first use.
  Uses uses_of(std::size_t of, std::size_t from, std::size_t to) const {
    Uses all;
    std::map<std::pair<std::uint32_t, std::int64_t>, std::size_t> known;
    for (std::size_t i = from; i < to; ++i)
      for (std::size_t lane = 0; lane < t_.lanes; ++lane) {
        const std::int64_t element = t_.element[i * t_.lanes + lane];
        if (element < 0) continue;
        const std::uint32_t instance = t_.instance[of][lane];
        const auto [at, is_new] = known.try_emplace({instance, element}, all[instance].size());
        if (is_new) all[instance].push_back({element, i, i});
        all[instance][at->second].last = i;
      }
    return all;
  }

  std::uint32_t parent(std::size_t m, std::uint32_t instance) const {
    for (std::size_t lane = 0; lane < t_.lanes; ++lane)
      if (t_.instance[m][lane] == instance) return t_.instance[m + 1][lane];
    return 0;
  }

  void end_transfer(std::size_t stream) {
    if (machine_.steps(stream) > 0) machine_.streams[stream].steps.back().is_last = true;
  }

  Step& step(std::size_t stream, std::size_t number) {
    auto& steps = machine_.streams[stream].steps;
    if (steps.size() < number) steps.resize(number);
    return steps[number - 1];
  }

  void bring(std::size_t m, std::size_t i);
  void end_stay(std::size_t m);
  void fetch(std::size_t i);
  void store(std::size_t i);
  void take_up(std::size_t m, std::size_t i);
  std::vector<Dependence> place_of(std::size_t m, std::uint32_t instance, std::size_t index);
  void set_bits();

  const SimulatedNest& nest_;
  std::size_t o_;
  const Trace& t_;
  std::size_t exec_;
  Machine& machine_;
  std::size_t top_;
  std::size_t fetch_ = 0, store_ = 0;
  std::vector<std::size_t> down_read_, down_write_, up_read_, up_write_;  // by the lower memory
  std::vector<double> bits_;                                              // per element, by the memory above
  std::vector<std::map<std::uint32_t, std::map<std::int64_t, Held>>> held_;
  // By memory, stay and instance: when the places of its elements become free, in that order.
  std::vector<std::vector<std::map<std::uint32_t, std::vector<Dependence>>>> frees_;
  std::vector<std::map<std::pair<std::uint32_t, std::int64_t>, std::size_t>> last_read_;  // by memory, of this stay
  std::vector<std::size_t> capacity_;
};

// A boundary carries sums, not results, if an element crosses it more than once.
void Route::set_bits() {
  const cost::Operand& operand = nest_.layer.operands[o_];
  bits_.assign(t_.memory.size(), operand.bits);
  if (!t_.is_output) return;
  for (std::size_t b = 0; b < t_.memory.size(); ++b) {
    std::set<std::int64_t> crossed;
    for (std::size_t i = 0; i < t_.iterations; i += t_.stays[b])
      for (const auto& [_, uses] : uses_of(b, i, i + t_.stays[b]))
        for (const TileUse& use : uses)
          if (!crossed.insert(use.element).second) bits_[b] = operand.partial_bits;
  }
}

// When an element that comes as number `index` of its stay finds a place. The stay before the last must be over; with
// one buffer also the element whose place this is.
std::vector<Dependence> Route::place_of(std::size_t m, std::uint32_t instance, std::size_t index) {
  std::vector<Dependence> waits;
  const std::size_t stay = frees_[m].size();
  if (stay >= 2)
    for (const auto& [_, frees] : frees_[m][stay - 2]) waits.push_back(frees.back());
  if (stay < 1 || nest_.doubled[o_][m]) return waits;
  const auto old = frees_[m][stay - 1].find(instance);
  if (old == frees_[m][stay - 1].end()) return waits;
  const std::size_t spare = capacity_[m] - old->second.size();
  if (index >= spare) waits.push_back(old->second[index - spare]);
  return waits;
}

// The places of an input's tile above memory 0 are free when they have been read for the last time.
void Route::end_stay(std::size_t m) {
  std::map<std::uint32_t, std::vector<Dependence>> frees;
  for (const auto& [at, step] : last_read_[m]) frees[at.first].push_back({down_read_[m - 1], step, true});
  for (auto& [_, list] : frees)
    std::sort(list.begin(), list.end(), [](const auto& x, const auto& y) { return x.count < y.count; });
  last_read_[m].clear();
  frees_[m].push_back(std::move(frees));
}

void Route::bring(std::size_t m, std::size_t i) {
  const std::size_t end = i + t_.stays[m + 1];
  const Uses below = uses_of(m, i, end), above = uses_of(m + 1, i, end);
  const std::size_t read = down_read_[m], write = down_write_[m];
  const std::size_t read_start = machine_.steps(read), write_start = machine_.steps(write);
  held_[m].clear();
  if (!t_.is_output && m > 0 && i > 0) end_stay(m);
  // What there is above (all of an input, the sums of an output), one word after the other.
  std::map<std::pair<std::uint32_t, std::int64_t>, std::size_t> read_by;
  for (const auto& [instance, uses] : above) {
    std::size_t number = 0;
    for (const TileUse& use : uses) {
      Held* source = m + 1 == top_ && !t_.is_output ? nullptr : &held_[m + 1][instance][use.element];
      if (t_.is_output && !source->is_stored) continue;
      const std::size_t at = read_start + ++number;
      Step& s = step(read, at);
      if (source != nullptr)
        for (const Dependence& d : source->present) wait_for(s, d);
      read_by[{instance, use.element}] = at;
      if (!t_.is_output) last_read_[m + 1][{instance, use.element}] = at;
    }
  }
  std::map<std::uint32_t, std::vector<Dependence>> frees;
  for (const auto& [instance, uses] : below) {
    std::size_t number = 0;
    for (std::size_t index = 0; index < uses.size(); ++index) {
      const TileUse& use = uses[index];
      Held& held = held_[m][instance][use.element];
      const auto from = read_by.find({parent(m, instance), use.element});
      std::vector<Dependence> place = place_of(m, instance, index);
      for (Dependence& d : place) d.same_cycle = true;
      if (from == read_by.end()) {
        held.place = std::move(place);
        continue;
      }
      const std::size_t at = write_start + ++number;
      wait_for(step(write, at), {read, from->second, true});
      for (const Dependence& d : place) wait_for(step(read, from->second), d);
      held.present = {{write, at, false}};
      held.is_stored = true;
    }
    // An input's place in memory 0 is free when the array has it.
    if (t_.is_output || m > 0) continue;
    for (const TileUse& use : uses) frees[instance].push_back({exec_, use.last / t_.stays[0] * t_.stays[0] + 1, true});
    std::sort(frees[instance].begin(), frees[instance].end(),
              [](const auto& x, const auto& y) { return x.count < y.count; });
  }
  if (m == 0 && !t_.is_output) frees_[0].push_back(std::move(frees));
  end_transfer(read);
  end_transfer(write);
}

void Route::fetch(std::size_t i) {
  const std::size_t start = machine_.steps(fetch_);
  for (const auto& [instance, uses] : uses_of(0, i, i + t_.stays[0])) {
    std::size_t number = 0;
    for (const TileUse& use : uses) {
      const Held* source = top_ == 0 && !t_.is_output ? nullptr : &held_[0][instance][use.element];
      if (t_.is_output && !source->is_stored) continue;
      Step& s = step(fetch_, start + ++number);
      if (source != nullptr)
        for (const Dependence& d : source->present) wait_for(s, d);
      // One step ahead of the array, no more.
      wait_for(s, {exec_, i < t_.stays[0] ? 0 : i - t_.stays[0] + 1, false});
    }
  }
  end_transfer(fetch_);
}

void Route::store(std::size_t i) {
  const std::size_t start = machine_.steps(store_);
  for (const auto& [instance, uses] : uses_of(0, i, i + 1)) {
    std::size_t number = 0;
    for (const TileUse& use : uses) {
      const std::size_t at = start + ++number;
      wait_for(step(store_, at), {exec_, i + 1, true});
      Held& held = held_[0][instance][use.element];
      held.present = {{store_, at, false}};
      held.place.clear();
      held.is_stored = true;
    }
  }
  end_transfer(store_);
}

void Route::take_up(std::size_t m, std::size_t i) {
  const std::size_t from = i + 1 - t_.stays[m + 1];
  const auto by_last = [](Uses uses) {
    for (auto& [_, list] : uses)
      std::stable_sort(list.begin(), list.end(), [](const TileUse& x, const TileUse& y) { return x.last < y.last; });
    return uses;
  };
  const Uses below = by_last(uses_of(m, from, i + 1)), above = by_last(uses_of(m + 1, from, i + 1));
  const std::size_t read = up_read_[m], write = up_write_[m];
  const std::size_t read_start = machine_.steps(read), write_start = machine_.steps(write);
  std::map<std::pair<std::uint32_t, std::int64_t>, std::size_t> read_by;
  std::map<std::uint32_t, std::vector<Dependence>> frees;
  for (const auto& [instance, uses] : below) {
    std::size_t number = 0;
    for (const TileUse& use : uses) {
      const std::size_t at = read_start + ++number;
      Step& s = step(read, at);
      for (const Dependence& d : held_[m][instance][use.element].present) wait_for(s, d);
      std::size_t& last = read_by[{parent(m, instance), use.element}];
      last = std::max(last, at);
      frees[instance].push_back({read, at, true});
    }
  }
  frees_[m].push_back(std::move(frees));
  for (const auto& [instance, uses] : above) {
    std::size_t number = 0;
    for (const TileUse& use : uses) {
      const std::size_t at = write_start + ++number;
      const std::size_t from_below = read_by.at({instance, use.element});
      wait_for(step(write, at), {read, from_below, true});
      Held& held = held_[m + 1][instance][use.element];
      for (const Dependence& d : held.place) wait_for(step(read, from_below), d);
      held.present = {{write, at, false}};
      held.place.clear();
      held.is_stored = true;
    }
  }
  end_transfer(read);
  end_transfer(write);
}

}  // namespace

std::size_t count_cycles(const SimulatedNest& nest) {
  Machine machine;
  std::vector<std::size_t> first_port;
  for (const hardware::Memory& memory : nest.core.memories) {
    first_port.push_back(machine.ports);
    machine.ports += memory.ports.size();
  }
  const std::size_t exec = machine.add(kNoPort, 1);
  const std::vector<Trace> traces = trace(nest);
  std::vector<Route> routes;
  for (std::size_t o = 0; o < traces.size(); ++o) routes.emplace_back(nest, o, traces[o], first_port, exec, machine);
  for (std::size_t i = 0; i < traces[0].iterations; ++i) {
    Step iteration;
    for (Route& route : routes) route.before(i, iteration);
    machine.streams[exec].steps.push_back(std::move(iteration));
    for (Route& route : routes) route.after(i);
  }
  return best_of(machine, exec);
}

}  // namespace monet::test
