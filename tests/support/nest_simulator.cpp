#include "support/nest_simulator.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <stdexcept>

namespace monet::test {
namespace {

using hardware::Direction;

bool changes(const cost::Operand& operand, std::size_t dimension) {
  for (const work::Axis& axis : operand.axes)
    for (const work::Term& term : axis.terms)
      if (term.dimension == dimension) return true;
  return false;
}

std::vector<std::size_t> memories_of(const hardware::Core& core, hardware::Slot slot) {
  std::vector<std::size_t> found;
  for (std::size_t m = 0; m < core.memories.size(); ++m)
    for (const hardware::Slot held : core.memories[m].slots)
      if (held == slot) found.push_back(m);
  return found;
}

// One digit of the index of a dimension: a temporal loop, or a spatial one.
struct Digit {
  std::size_t dimension = 0, radix = 1;
  std::int64_t weight = 1;
};

struct Digits {
  std::vector<Digit> temporal, spatial;  // temporal: as the order; spatial: array dimension after array dimension
  std::vector<std::size_t> height;       // of each spatial loop: the memory (of the operand) it hangs below
};

// Digits get their weights in the order in which the operand's tiles are contiguous: the lanes below memory 0, its
// temporal loops, the lanes between memories 0 and 1, and so on.
Digits digits_of(const SimulatedNest& nest, const std::vector<std::size_t>& memories,
                 const std::vector<std::size_t>& cut) {
  Digits digits;
  for (std::size_t a = 0; a < nest.spatial.size(); ++a) {
    std::size_t height = 0;
    for (; height < memories.size(); ++height) {
      const auto& served = nest.core.memories[memories[height]].served_dimensions;
      if (std::find(served.begin(), served.end(), a) != served.end()) break;
    }
    for (const cost::SpatialLoop& loop : nest.spatial[a]) {
      digits.spatial.push_back({.dimension = loop.dimension, .radix = static_cast<std::size_t>(loop.factor)});
      digits.height.push_back(height);
    }
  }
  for (const cost::TemporalLoop& loop : nest.order)
    digits.temporal.push_back({.dimension = loop.dimension, .radix = static_cast<std::size_t>(loop.factor)});
  std::vector<std::int64_t> weight(nest.layer.dimensions.size(), 1);
  const auto put = [&](Digit& digit) {
    digit.weight = weight[digit.dimension];
    weight[digit.dimension] *= static_cast<std::int64_t>(digit.radix);
  };
  std::size_t next = 0;
  for (std::size_t m = 0; m <= memories.size(); ++m) {
    for (std::size_t i = 0; i < digits.spatial.size(); ++i)
      if (digits.height[i] == m) put(digits.spatial[i]);
    for (; m < memories.size() && next < cut[m]; ++next) put(digits.temporal[next]);
  }
  return digits;
}

void add_position(const std::vector<Digit>& digits, std::size_t number, std::vector<std::int64_t>& index) {
  for (const Digit& digit : digits) {
    index[digit.dimension] += static_cast<std::int64_t>(number % digit.radix) * digit.weight;
    number /= digit.radix;
  }
}

std::size_t product_of(const std::vector<Digit>& digits) {
  std::size_t product = 1;
  for (const Digit& digit : digits) product *= digit.radix;
  return product;
}

// The element's place in its tensor, -1 if the lane is beyond it or in its padding. Lanes that are idle for the sake of
// a dimension the operand does not have still take its multicasts and take part in its reductions.
std::int64_t element_at(const cost::Layer& layer, const cost::Operand& operand,
                        const std::vector<std::int64_t>& index) {
  std::int64_t place = 0;
  for (const work::Axis& axis : operand.axes) {
    std::int64_t at = axis.offset;
    for (const work::Term& term : axis.terms)
      if (index[term.dimension] >= layer.dimensions[term.dimension].size) return -1;
    for (const work::Term& term : axis.terms) at += term.coefficient * index[term.dimension];
    if (at < 0 || at >= axis.extent) return -1;
    place = place * axis.extent + at;
  }
  return place;
}

Trace trace_operand(const SimulatedNest& nest, std::size_t o) {
  const cost::Operand& operand = nest.layer.operands[o];
  Trace t;
  t.is_output = operand.slot == hardware::Slot::Output;
  t.memory = memories_of(nest.core, operand.slot);
  // Loops that change nothing belong to the memory below.
  const auto merged = [&](std::size_t cut) {
    while (cut < nest.order.size() && !changes(operand, nest.order[cut].dimension)) ++cut;
    return cut;
  };
  std::vector<std::size_t> cut;
  for (std::size_t m = 0; m < t.memory.size(); ++m) cut.push_back(merged(nest.cuts[o][m]));
  const auto iterations_below = [&](std::size_t loops) {
    std::size_t product = 1;
    for (std::size_t i = 0; i < loops; ++i) product *= static_cast<std::size_t>(nest.order[i].factor);
    return product;
  };
  t.stays.push_back(t.is_output ? 1 : iterations_below(merged(0)));
  for (const std::size_t loops : cut) t.stays.push_back(iterations_below(loops));

  const Digits digits = digits_of(nest, t.memory, cut);
  t.lanes = product_of(digits.spatial);
  t.iterations = product_of(digits.temporal);
  t.element.reserve(t.lanes * t.iterations);
  for (std::size_t i = 0; i < t.iterations; ++i)
    for (std::size_t lane = 0; lane < t.lanes; ++lane) {
      std::vector<std::int64_t> index(nest.layer.dimensions.size(), 0);
      add_position(digits.temporal, i, index);
      add_position(digits.spatial, lane, index);
      t.element.push_back(element_at(nest.layer, operand, index));
    }
  for (std::size_t m = 0; m < t.memory.size(); ++m) {
    t.instance.emplace_back();
    t.instances.push_back(1);
    for (std::size_t i = 0; i < digits.spatial.size(); ++i)
      if (digits.height[i] > m) t.instances.back() *= digits.spatial[i].radix;
    for (std::size_t lane = 0; lane < t.lanes; ++lane) {
      std::size_t number = 0, left = lane;
      for (std::size_t i = 0; i < digits.spatial.size(); ++i) {
        const std::size_t radix = digits.spatial[i].radix;
        if (digits.height[i] > m) number = number * radix + left % radix;
        left /= radix;
      }
      t.instance.back().push_back(static_cast<std::uint32_t>(number));
    }
  }
  return t;
}

using Elements = std::set<std::int64_t>;

// What the instances of one memory hold (or, with `of` of the memory above, give or take together) in one stay.
std::map<std::uint32_t, Elements> tiles_of(const Trace& t, std::size_t of, std::size_t from, std::size_t to) {
  std::map<std::uint32_t, Elements> tiles;
  for (std::size_t i = from; i < to; ++i)
    for (std::size_t lane = 0; lane < t.lanes; ++lane) {
      const std::int64_t element = t.element[i * t.lanes + lane];
      if (element >= 0) tiles[t.instance[of][lane]].insert(element);
    }
  return tiles;
}

// Transfers of one direction: how many elements each has.
struct Log {
  std::vector<std::size_t> transfers;
  void add(std::size_t elements) {
    if (elements > 0) transfers.push_back(elements);
  }
};

Traffic summed(const Log& log, double bits, const hardware::Port& port) {
  const auto least = static_cast<double>(port.min_bits_per_cycle), most = static_cast<double>(port.max_bits_per_cycle);
  Traffic traffic;
  for (const std::size_t elements : log.transfers) {
    traffic.moved += static_cast<double>(elements);
    traffic.words += std::ceil(static_cast<double>(elements) * bits / least) * least / most;
  }
  return traffic;
}

using Logs = std::vector<std::array<Log, 4>>;  // by memory and direction

Log& at(Logs& logs, std::size_t memory, Direction direction) {
  return logs[memory][static_cast<std::size_t>(direction)];
}

// Below memory `b` is memory b - 1, or the array.
void walk_input(const Trace& t, std::size_t b, Logs& logs) {
  for (std::size_t from = 0; from < t.iterations; from += t.stays[b]) {
    const std::size_t to = from + t.stays[b];
    for (const auto& [_, tile] : tiles_of(t, b, from, to)) at(logs, b, Direction::ReadToLow).add(tile.size());
    if (b == 0) continue;
    for (const auto& [_, tile] : tiles_of(t, b - 1, from, to))
      at(logs, b - 1, Direction::WriteFromHigh).add(tile.size());
  }
}

// Sums that exist, by instance; of the top memory or of the one that is being followed.
using Stored = std::map<std::uint32_t, Elements>;

struct OutputWalk {
  const Trace& t;
  Logs& logs;
  std::vector<Stored> stored;                         // by memory
  std::vector<std::map<std::int64_t, int>> arrivals;  // by memory: how often an element is written into it from below

  // Which instance of the memory above an instance belongs to.
  std::uint32_t parent(std::size_t memory, std::uint32_t instance) const {
    for (std::size_t lane = 0; lane < t.lanes; ++lane)
      if (t.instance[memory][lane] == instance) return t.instance[memory + 1][lane];
    return 0;
  }

  void bring(std::size_t m, const std::map<std::uint32_t, Elements>& tiles) {
    std::map<std::uint32_t, Elements> read;  // by instance of the memory above, each element once
    stored[m].clear();
    for (const auto& [instance, tile] : tiles) {
      const std::uint32_t above = parent(m, instance);
      Elements& held = stored[m][instance];
      for (const std::int64_t element : tile)
        if (stored[m + 1][above].count(element) > 0) {
          held.insert(element);
          read[above].insert(element);
        }
      at(logs, m, Direction::WriteFromHigh).add(held.size());
    }
    for (const auto& [_, elements] : read) at(logs, m + 1, Direction::ReadToLow).add(elements.size());
  }

  void take_back(std::size_t m, const std::map<std::uint32_t, Elements>& tiles) {
    std::map<std::uint32_t, Elements> written;
    for (const auto& [instance, tile] : tiles) {
      at(logs, m, Direction::ReadToHigh).add(tile.size());
      written[parent(m, instance)].insert(tile.begin(), tile.end());
    }
    for (const auto& [above, elements] : written) write(m + 1, above, elements);
  }

  void write(std::size_t m, std::uint32_t instance, const Elements& elements) {
    at(logs, m, Direction::WriteFromLow).add(elements.size());
    stored[m][instance].insert(elements.begin(), elements.end());
    for (const std::int64_t element : elements) ++arrivals[m][element];
  }

  void accumulate(std::size_t i) {
    for (const auto& [instance, elements] : tiles_of(t, 0, i, i + 1)) {
      std::size_t known = 0;
      for (const std::int64_t element : elements) known += stored[0][instance].count(element);
      at(logs, 0, Direction::ReadToLow).add(known);
      write(0, instance, elements);
    }
  }

  void run(bool starts_from_stored) {
    const std::size_t top = t.memory.size() - 1;
    if (starts_from_stored) stored[top] = tiles_of(t, top, 0, t.iterations);
    for (std::size_t i = 0; i < t.iterations; ++i) {
      for (std::size_t m = top; m-- > 0;)
        if (i % t.stays[m + 1] == 0) bring(m, tiles_of(t, m, i, i + t.stays[m + 1]));
      accumulate(i);
      for (std::size_t m = 0; m < top; ++m)
        if ((i + 1) % t.stays[m + 1] == 0) take_back(m, tiles_of(t, m, i + 1 - t.stays[m + 1], i + 1));
    }
  }
};

}  // namespace

const hardware::Port& port_of(const hardware::Memory& memory, hardware::Slot slot, Direction direction) {
  for (const hardware::Port& port : memory.ports)
    for (const hardware::PortUse& use : port.uses)
      if (use.slot == slot && use.direction == direction) return port;
  throw std::logic_error("no port for a direction that is used");
}

std::vector<Trace> trace(const SimulatedNest& nest) {
  std::vector<Trace> traces;
  for (std::size_t o = 0; o < nest.layer.operands.size(); ++o) traces.push_back(trace_operand(nest, o));
  return traces;
}

Counts count_traffic(const SimulatedNest& nest) {
  Counts counts;
  for (std::size_t o = 0; o < nest.layer.operands.size(); ++o) {
    const cost::Operand& operand = nest.layer.operands[o];
    const Trace t = trace_operand(nest, o);
    const std::size_t memories = t.memory.size();
    Logs logs(memories);
    // A boundary carries sums, not results, if anything crosses it that is added to later.
    std::vector<bool> partial(memories + 1, false);
    if (t.is_output) {
      OutputWalk walk{t, logs, std::vector<Stored>(memories), std::vector<std::map<std::int64_t, int>>(memories)};
      walk.run(nest.layer.starts_from_stored);
      for (std::size_t m = 0; m < memories; ++m)
        for (const auto& [_, times] : walk.arrivals[m]) partial[m] = partial[m] || times > 1;
    } else {
      for (std::size_t b = 0; b < memories; ++b) walk_input(t, b, logs);
    }
    counts.emplace_back(memories);
    for (std::size_t m = 0; m < memories; ++m)
      for (const Direction d : hardware::kDirections) {
        const bool low = d == Direction::ReadToLow || d == Direction::WriteFromLow;
        const double bits = partial[low ? m : m + 1] ? operand.partial_bits : operand.bits;
        if (!at(logs, m, d).transfers.empty())
          counts[o][m][static_cast<std::size_t>(d)] =
              summed(at(logs, m, d), bits, port_of(nest.core.memories[t.memory[m]], operand.slot, d));
      }
  }
  return counts;
}

}  // namespace monet::test
