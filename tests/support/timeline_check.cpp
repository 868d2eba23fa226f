#include "support/timeline_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <set>

namespace monet::test {
namespace {

using namespace schedule;

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
constexpr int kNoValue = -1;

class TimelineCheck {
 public:
  TimelineCheck(const Problem& p, const Timeline& t) : p_(p), t_(t) {}
  std::vector<std::string> run() {
    units();
    places();
    channels();
    ports();
    values();
    return std::move(faults_);
  }

 private:
  template <class... Arguments>
  void fault(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    if (faults_.size() < 20) faults_.push_back(fmt::format(format, std::forward<Arguments>(arguments)...));
  }

  void units() {
    std::vector<double> free(p_.machine.units.size(), 0);
    for (std::size_t i = 0; i < p_.tiles.size(); ++i) {
      double& at = free[p_.tiles[i].unit.index()];
      if (t_.tiles[i].start < at) fault("tile {} begins before the one before on its unit has ended", i);
      if (t_.tiles[i].end < t_.tiles[i].start + p_.tiles[i].cycles) fault("tile {} is too short", i);
      at = t_.tiles[i].end;
      if (t_.tiles[i].end > t_.cycles) fault("tile {} ends after the end", i);
    }
  }

  // No two blocks at one address at one time.
  void places() {
    for (std::size_t s = 0; s < p_.machine.stores.size(); ++s) {
      std::vector<const Stay*> all;
      for (const Stay& stay : t_.stays)
        if (stay.store.index() == s && stay.to > stay.from && p_.blocks[stay.block.index()].bytes > 0)
          all.push_back(&stay);
      std::sort(all.begin(), all.end(), [](const Stay* a, const Stay* b) { return a->from < b->from; });
      // What is there at a time, by address; neighbours alone can reach into each other.
      std::multimap<std::int64_t, const Stay*> alive;
      std::multimap<double, std::multimap<std::int64_t, const Stay*>::iterator> leaving;
      const auto clash = [&](const Stay& low, const Stay& high) {
        if (high.address < low.address + p_.blocks[low.block.index()].bytes)
          fault("blocks {} and {} overlap in store {} at {}", low.block.value, high.block.value, s,
                std::max(low.from, high.from));
      };
      for (const Stay* stay : all) {
        while (!leaving.empty() && leaving.begin()->first <= stay->from) {
          alive.erase(leaving.begin()->second);
          leaving.erase(leaving.begin());
        }
        const std::int64_t bytes = p_.blocks[stay->block.index()].bytes;
        if (stay->address < 0 || stay->address + bytes > p_.machine.stores[s].bytes)
          fault("block {} lies outside of store {}", stay->block.value, s);
        const auto at = alive.emplace(stay->address, stay);
        if (at != alive.begin()) clash(*std::prev(at)->second, *stay);
        if (std::next(at) != alive.end()) clash(*stay, *std::next(at)->second);
        leaving.emplace(stay->to, at);
      }
    }
  }

  // Short runs of addresses keep a port of the home for longer.
  double taken(std::size_t channel, BlockId b, double bytes) const {
    return p_.machine.channels[channel].is_home_port ? bytes / p_.blocks[b.index()].efficiency : bytes;
  }

  void channels() {
    for (std::size_t c = 0; c < p_.machine.channels.size(); ++c) {
      std::map<double, double> change;
      for (std::uint32_t i = 0; i < t_.transfers.size(); ++i) {
        const Transfer& x = t_.transfers[i];
        if (x.carried_by != i) {
          const Transfer& by = t_.transfers[x.carried_by];
          if (by.block != x.block || by.start != x.start || by.passed != x.passed || by.end > x.end ||
              by.from != x.from)
            fault("transfer {} is carried by one that differs", i);
          continue;
        }
        const auto& route = p_.machine.route(x.from, x.to).channels;
        if (x.passed > x.end || x.passed < x.start) fault("transfer {} passes its channels at another time", i);
        if (x.passed <= x.start ||
            std::find(route.begin(), route.end(), ChannelId{static_cast<std::uint32_t>(c)}) == route.end())
          continue;
        const double rate =
            taken(c, x.block, static_cast<double>(p_.blocks[x.block.index()].bytes)) / (x.passed - x.start);
        change[x.start] += rate;
        change[x.passed] -= rate;
      }
      for (std::size_t i = 0; i < p_.tiles.size(); ++i)
        for (std::uint32_t k = 0; k < p_.tiles[i].flows; ++k) {
          const Flow& flow = p_.flows[p_.tiles[i].first_flow + k];
          for (const bool goes_out : {false, true}) {
            const auto& route = goes_out ? p_.machine.route(flow.store, p_.machine.home).channels
                                         : p_.machine.route(p_.machine.home, flow.store).channels;
            const double bytes = goes_out ? flow.out : flow.in;
            if (bytes == 0 ||
                std::find(route.begin(), route.end(), ChannelId{static_cast<std::uint32_t>(c)}) == route.end())
              continue;
            const double rate = taken(c, flow.block, bytes) / (t_.tiles[i].end - t_.tiles[i].start);
            change[t_.tiles[i].start] += rate;
            change[t_.tiles[i].end] -= rate;
          }
        }
      double used = 0;
      for (const auto& [time, by] : change)
        if ((used += by) > p_.machine.channels[c].bytes_per_cycle * (1 + 1e-6))
          fault("channel {} carries {} at {}", c, used, time);
    }
  }

  struct Job {
    double start, end, cycles;
    std::string who;
  };

  // One word a cycle: if who ends first goes first, everyone is through when it ends, or there is no way to do it.
  void ports() {
    std::vector<std::vector<Job>> jobs(p_.machine.ports.size());
    for (std::size_t i = 0; i < p_.tiles.size(); ++i)
      for (std::uint32_t k = 0; k < p_.tiles[i].demands; ++k) {
        const PortDemand& d = p_.demands[p_.tiles[i].first_demand + k];
        jobs[d.port.index()].push_back({t_.tiles[i].start, t_.tiles[i].end, d.cycles, fmt::format("tile {}", i)});
      }
    for (std::size_t i = 0; i < t_.transfers.size(); ++i) {
      const Transfer& x = t_.transfers[i];
      if (x.passed <= x.start) continue;
      std::set<PortId> through;
      if (const auto port = p_.machine.stores[x.from.index()].drain; port && x.carried_by == i) through.insert(*port);
      if (const auto port = p_.machine.stores[x.to.index()].fill) through.insert(*port);
      for (const PortId port : through) {
        const double width = p_.machine.ports[port.index()].bytes_per_cycle;
        const double words = std::ceil(static_cast<double>(p_.blocks[x.block.index()].bytes) / width - 1e-9);
        jobs[port.index()].push_back({x.start, x.end, words, fmt::format("transfer {}", i)});
      }
    }
    for (std::size_t port = 0; port < jobs.size(); ++port) serve(port, jobs[port]);
  }

  void serve(std::size_t port, std::vector<Job>& jobs) {
    std::sort(jobs.begin(), jobs.end(), [](const Job& a, const Job& b) { return a.start < b.start; });
    std::multimap<double, Job*> waiting;  // by end
    double now = 0;
    const auto serve_until = [&](double until) {
      while (!waiting.empty() && now < until) {
        Job& job = *waiting.begin()->second;
        const double cycles = std::min(job.cycles, until - now);
        now += cycles;
        job.cycles -= cycles;
        if (job.cycles > 0) return;
        if (now > job.end + 1e-6) fault("port {}: {} is not through at {}", port, job.who, job.end);
        waiting.erase(waiting.begin());
      }
    };
    for (Job& job : jobs) {
      serve_until(job.start);
      now = job.start;
      if (job.cycles > 0) waiting.emplace(job.end, &job);
    }
    serve_until(std::numeric_limits<double>::infinity());
  }

  // Whether a stay is of this block in this store during this stretch of time.
  bool is_stay(std::uint32_t stay, BlockId block, StoreId store, double from, double to) const {
    return stay < t_.stays.size() && t_.stays[stay].block == block && t_.stays[stay].store == store &&
           t_.stays[stay].from <= from && t_.stays[stay].to >= to;
  }

  struct Reading {
    double from, to;
    std::uint32_t stay;
    int wanted;
    std::string who;
  };
  struct Writing {
    double from, to;
    std::uint32_t stay, source;  // a transfer takes the value of its source, a tile makes `value`
    int value;
    std::string who;
  };

  void values() {
    std::vector<Reading> reads;
    std::vector<Writing> writes;
    std::vector<int> version(p_.blocks.size(), kNoValue);
    std::vector<int> content(t_.stays.size(), kNoValue);
    std::vector<std::uint32_t> home(p_.blocks.size(), kNone);
    std::vector<std::vector<std::uint32_t>> homes(p_.blocks.size());  // by block
    for (std::uint32_t stay = 0; stay < t_.stays.size(); ++stay)
      if (t_.stays[stay].store == p_.machine.home) homes[t_.stays[stay].block.index()].push_back(stay);
    for (std::uint32_t b = 0; b < p_.blocks.size(); ++b)
      if (p_.blocks[b].starts_at_home) {
        version[b] = 0;
        for (const std::uint32_t stay : homes[b])
          if (home[b] == kNone && is_stay(stay, BlockId{b}, p_.machine.home, 0, t_.cycles)) home[b] = stay;
        if (home[b] == kNone)
          fault("block {} is not at home all the time", b);
        else
          content[home[b]] = 0;
      }
    const auto access = [&](std::size_t tile, BlockId block, StoreId store, Access kind, std::uint32_t stay) {
      const TileTime& at = t_.tiles[tile];
      const std::string who = fmt::format("tile {} on block {}", tile, block.value);
      if (!is_stay(stay, block, store, at.start, at.end))
        return fault("{}: it is not in store {} from {} to {}", who, store.value, at.start, at.end);
      if (kind != Access::Write) reads.push_back({at.start, at.end, stay, version[block.index()], who});
      if (kind == Access::Read) return;
      ++version[block.index()];
      writes.push_back({at.start, at.end, stay, kNone, version[block.index()], who});
    };
    for (std::size_t i = 0; i < p_.tiles.size(); ++i) {
      const Tile& tile = p_.tiles[i];
      for (std::uint32_t k = 0; k < tile.uses; ++k) {
        const Use& use = p_.uses[tile.first_use + k];
        access(i, use.block, use.store, use.access, t_.use_stays[tile.first_use + k]);
      }
      for (std::uint32_t k = 0; k < tile.flows; ++k) {
        const Flow& flow = p_.flows[tile.first_flow + k];
        access(i, flow.block, p_.machine.home, flow.access, t_.flow_stays[tile.first_flow + k]);
      }
    }
    for (std::size_t i = 0; i < t_.transfers.size(); ++i) {
      const Transfer& x = t_.transfers[i];
      const bool from = is_stay(x.from_stay, x.block, x.from, x.start, x.end);
      const bool to = is_stay(x.to_stay, x.block, x.to, x.start, x.end);
      const std::string who = fmt::format("transfer {} of block {}", i, x.block.value);
      if (!from || !to)
        fault("{}: no {} from {} to {}", who, from ? "place" : "source", x.start, x.end);
      else
        writes.push_back({x.start, x.end, x.to_stay, x.from_stay, kNoValue, who});
    }
    follow(reads, writes, content);
    for (std::uint32_t b = 0; b < p_.blocks.size(); ++b) {
      if (!p_.blocks[b].ends_at_home) continue;
      bool is_there = false;
      for (const std::uint32_t stay : homes[b])
        is_there = is_there ||
                   (is_stay(stay, BlockId{b}, p_.machine.home, t_.cycles, t_.cycles) && content[stay] == version[b]);
      if (!is_there) fault("the last value of block {} is not at home", b);
    }
  }

  // In the order of time: values arrive at the end of a writing; what is read must not change meanwhile.
  void follow(const std::vector<Reading>& reads, const std::vector<Writing>& writes, std::vector<int>& content) {
    struct Event {
      double time;
      int kind;  // 0: a writing ends, 1: a reading or the source of a transfer begins
      std::size_t index;
    };
    std::vector<Event> events;
    std::vector<int> carried(writes.size(), kNoValue);
    for (std::size_t i = 0; i < writes.size(); ++i) {
      events.push_back({writes[i].to, 0, i});
      if (writes[i].source != kNone) events.push_back({writes[i].from, 2, i});
    }
    for (std::size_t i = 0; i < reads.size(); ++i) events.push_back({reads[i].from, 1, i});
    std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
      return a.time != b.time ? a.time < b.time : a.kind < b.kind;
    });
    for (const Event& e : events) {
      if (e.kind == 0) {
        content[writes[e.index].stay] = writes[e.index].source == kNone ? writes[e.index].value : carried[e.index];
      } else if (e.kind == 2) {
        carried[e.index] = content[writes[e.index].source];
        if (carried[e.index] == kNoValue) fault("{}: nothing is there at {}", writes[e.index].who, e.time);
      } else if (content[reads[e.index].stay] != reads[e.index].wanted) {
        fault("{}: value {} is there at {}, not {}", reads[e.index].who, content[reads[e.index].stay], e.time,
              reads[e.index].wanted);
      }
    }
    // Nothing is written where something else is read or written meanwhile.
    std::map<std::uint32_t, std::vector<const Writing*>> by_stay;
    for (const Writing& w : writes) by_stay[w.stay].push_back(&w);
    const auto clash = [](double a, double b, double c, double d) { return a < d && c < b; };
    for (const Reading& r : reads)
      for (const Writing* w : by_stay[r.stay])
        if (w->who != r.who && clash(r.from, r.to, w->from, w->to)) fault("{} while {} writes there", r.who, w->who);
    for (const Writing& x : writes)
      if (x.source != kNone)
        for (const Writing* w : by_stay[x.source])
          if (clash(x.from, x.to, w->from, w->to)) fault("{} while {} writes its source", x.who, w->who);
  }

  const Problem& p_;
  const Timeline& t_;
  std::vector<std::string> faults_;
};

}  // namespace

std::vector<std::string> faults(const Problem& problem, const Timeline& timeline) {
  return TimelineCheck(problem, timeline).run();
}

}  // namespace monet::test
