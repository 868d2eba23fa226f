#include "monet/report/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <queue>
#include <set>

#include "monet/base/json.h"
#include "monet/graph/cut.h"
#include "monet/report/document.h"
#include "monet/report/nest.h"
#include "monet/report/trace_events.h"

namespace monet {
namespace {

using schedule::Evaluation;
using schedule::kMemoryUses;
using schedule::StoreUse;

// The processes of the trace: each groups the tracks of one kind.
constexpr std::uint32_t kUnits = 1, kChannels = 2, kStores = 3, kPorts = 4;
// Ports are counters over at most so many stretches of the time, and take no more than this part of all events.
constexpr std::size_t kMostStretches = 512, kPartOfEvents = 8;

// One event on a track, or several that were merged.
struct Slice {
  double start = 0, end = 0;
  double busy = 0;            // cycles; of channels: of all that passed
  double amount = 0;          // pJ of tiles, bytes of moves
  double longest = 0;         // of those merged
  std::uint32_t subject = 0;  // node or tensor
  std::uint32_t index = 0;    // tile or move: the first one's
  std::uint32_t phase = 0;    // of the longest
  std::uint32_t count = 1;
  std::uint32_t track = 0;  // of the process
  bool is_move = false;
  bool is_mixed = false;  // of several subjects
};

void merge(Slice& into, const Slice& next) {
  into.end = std::max(into.end, next.end);
  into.busy += next.busy;
  into.amount += next.amount;
  into.count += next.count;
  into.is_mixed = into.is_mixed || next.is_mixed || into.subject != next.subject;
  if (next.longest > into.longest) into.longest = next.longest, into.phase = next.phase;
}

// Neighbours become one if they are of one subject and no more than `window` apart, or all within `window`.
std::vector<Slice> merged(const std::vector<Slice>& slices, double window) {
  std::vector<Slice> out;
  for (const Slice& s : slices) {
    if (!out.empty()) {
      Slice& last = out.back();
      const bool is_alike = !last.is_mixed && last.subject == s.subject && s.start - last.end <= window;
      if (is_alike || std::max(last.end, s.end) - last.start <= window) {
        merge(last, s);
        continue;
      }
    }
    out.push_back(s);
  }
  return out;
}

// Of every stretch of `window` cycles the fullest moment and the last.
std::vector<StoreUse::Point> thinned(const std::vector<StoreUse::Point>& points, double window) {
  std::vector<StoreUse::Point> out;
  for (std::size_t i = 0; i < points.size();) {
    const double bin = std::floor(points[i].time / window);
    std::size_t fullest = i, last = i;
    for (; i < points.size() && std::floor(points[i].time / window) == bin; last = i++)
      if (schedule::sum(points[i].bytes) > schedule::sum(points[fullest].bytes)) fullest = i;
    out.push_back(points[fullest]);
    if (last != fullest) out.push_back(points[last]);
  }
  return out;
}

template <class T>
std::size_t count(const std::vector<std::vector<T>>& rows) {
  std::size_t n = 0;
  for (const auto& row : rows) n += row.size();
  return n;
}

struct PortPoint {
  double time = 0;
  std::uint32_t port = 0;
  double percent = 0;  // of its cycles that are taken, from here to the next point
};

class Tracer {
 public:
  Tracer(const Graph& graph, const plan::Chip& chip, const Evaluation& e, const TraceOptions& options)
      : graph_(graph), chip_(chip), e_(e), options_(options), machine_(e.tiled.problem.machine) {
    us_per_cycle_ = e.clock_hz > 0 ? 1e6 / e.clock_hz : 1;
  }

  Trace run() {
    collect_tiles();
    collect_moves();
    for (const StoreUse& use : e_.stores) points_.push_back(use.points);
    points_.resize(machine_.stores.size());
    for (auto& points : points_)
      if (points.empty()) points.emplace_back();
    collect_ports();
    fit();
    write();
    return std::move(out_);
  }

 private:
  // ---- What there is ----

  std::uint32_t phase_of(std::uint32_t tile) const {
    return static_cast<std::uint32_t>(graph_[e_.tiled.tiles[tile].node].phase);
  }

  void collect_tiles() {
    tiles_.resize(machine_.units.size());
    for (std::uint32_t i = 0; i < e_.timeline.tiles.size(); ++i) {
      const schedule::TileTime& t = e_.timeline.tiles[i];
      const double busy = t.end - t.start;
      tiles_[e_.tiled.problem.tiles[i].unit.index()].push_back({.start = t.start,
                                                                .end = t.end,
                                                                .busy = busy,
                                                                .amount = tile_energy(e_, i),
                                                                .longest = busy,
                                                                .subject = e_.tiled.tiles[i].node.value,
                                                                .index = i,
                                                                .phase = phase_of(i)});
    }
    sort(tiles_);
  }

  void collect_moves() {
    moves_ = moves_of(e_);
    passed_.resize(machine_.channels.size());
    for (std::uint32_t i = 0; i < moves_.moves.size(); ++i) {
      const Move& m = moves_.moves[i];
      for (const plan::ChannelId c : route_of(e_, m).channels)
        passed_[c.index()].push_back({.start = m.start,
                                      .end = m.end,
                                      .busy = m.end - m.start,
                                      .amount = m.bytes,
                                      .longest = m.end - m.start,
                                      .subject = m.tensor.value,
                                      .index = i,
                                      .phase = phase_of(m.tile),
                                      .is_move = true});
    }
    sort(passed_);
  }

  // What does not change is not said again.
  void collect_ports() {
    const std::size_t used =
        machine_.ports.size() - static_cast<std::size_t>(std::count(e_.port_cycles.begin(), e_.port_cycles.end(), 0.0));
    const std::size_t most = used == 0 ? 0 : options_.most_events / kPartOfEvents / used;
    if (most < 2) return;
    const std::size_t stretches = std::min(kMostStretches, most - 1);
    if (stretches < kMostStretches) out_.merged = fmt::format("ports over {} stretches of the time", stretches);
    const auto shares = port_shares(e_, stretches);
    for (std::uint32_t p = 0; p < shares.size(); ++p) {
      if (e_.port_cycles[p] == 0) continue;
      double last = -1;
      for (std::size_t i = 0; i <= stretches; ++i) {
        const double now = i == stretches ? 0 : std::min(100.0, std::round(100 * shares[p][i]));
        const double time = e_.latency * static_cast<double>(i) / static_cast<double>(stretches);
        if (now != last) port_points_.push_back({time, p, now});
        last = now;
      }
    }
  }

  static void sort(std::vector<std::vector<Slice>>& rows) {
    for (auto& row : rows)
      std::stable_sort(row.begin(), row.end(), [](const Slice& a, const Slice& b) { return a.start < b.start; });
  }

  // ---- No more than may be ----

  void fit() {
    const std::size_t slices = count(tiles_) + count(passed_), points = count(points_);
    spread();
    // How many names of tracks there are shows only when what is left of the slices is spread over them.
    for (int step = 0; step < kDoublings && count(tiles_) + count(passed_) > room_for_slices(points); ++step) {
      for (auto* rows : {&tiles_, &passed_})
        for (auto& row : *rows) row = merged(row, window(step));
      spread();
    }
    const std::size_t left = count(tiles_) + count(passed_);
    const std::size_t kept = fit_points(room() > left ? room() - left : 0);
    if (slices == left && points == kept) return;
    if (!out_.merged.empty()) out_.merged += "; ";
    out_.merged += fmt::format("{} tiles and transfers drawn as {} events, {} changes of memory as {}",
                               quantity(static_cast<double>(slices)), quantity(static_cast<double>(left)),
                               quantity(static_cast<double>(points)), quantity(static_cast<double>(kept)));
  }

  // For all but the names.
  std::size_t room() const {
    const std::size_t names = 4 + machine_.units.size() + channel_tracks_.size() + port_points_.size();
    return options_.most_events > names ? options_.most_events - names : 0;
  }
  // The counters leave the slices half, or what they do not need themselves.
  std::size_t room_for_slices(std::size_t points) const { return room() - std::min(points, room() / 2); }

  // Windows double from far below anything that can be seen, up to all there is.
  static constexpr int kDoublings = 24;
  double window(int step) const { return std::max(e_.latency, 1.0) * std::ldexp(1.0, step - kDoublings + 1); }

  std::size_t fit_points(std::size_t most) {
    for (int step = 0; step < kDoublings && count(points_) > most; ++step)
      for (auto& points : points_) points = thinned(points, window(step));
    // One stretch is left: of its two moments the fullest.
    if (count(points_) > most)
      for (auto& points : points_) points.resize(1);
    return count(points_);
  }

  // What overlaps on a channel goes to further tracks.
  void spread() {
    for (std::uint32_t u = 0; u < tiles_.size(); ++u)
      for (Slice& s : tiles_[u]) s.track = u;
    channel_tracks_.clear();
    for (const auto& channel : machine_.channels) channel_tracks_.push_back(channel.name);
    for (std::uint32_t c = 0; c < passed_.size(); ++c) {
      std::vector<std::uint32_t> tracks{c};
      std::set<std::uint32_t> free{0};  // lanes
      std::priority_queue<std::pair<double, std::uint32_t>, std::vector<std::pair<double, std::uint32_t>>,
                          std::greater<>>
          taken;
      for (Slice& s : passed_[c]) {
        for (; !taken.empty() && taken.top().first <= s.start; taken.pop()) free.insert(taken.top().second);
        if (free.empty()) {
          free.insert(static_cast<std::uint32_t>(tracks.size()));
          tracks.push_back(static_cast<std::uint32_t>(channel_tracks_.size()));
          channel_tracks_.push_back(fmt::format("{} #{}", machine_.channels[c].name, tracks.size()));
        }
        const std::uint32_t lane = *free.begin();
        free.erase(free.begin());
        s.track = tracks[lane];
        taken.emplace(s.end, lane);
      }
    }
  }

  // ---- Text ----

  // On a grid of picoseconds, so that what touches does not overlap.
  double on_grid(double cycles) const { return std::round(cycles * us_per_cycle_ * 1e6); }
  void append_time(double grid) {
    fmt::format_to(std::back_inserter(text_), "{:.6f}", grid / 1e6);
    text_.erase(text_.find_last_not_of('0') + 1);
    if (text_.back() == '.') text_.pop_back();
  }
  template <class... Args>
  void append(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }
  void begin_event() {
    text_ += out_.events == 0 ? "\n" : ",\n";
    ++out_.events;
  }
  void append_name(std::string_view kind, std::uint32_t process, std::uint32_t track, const std::string& name) {
    begin_event();
    append(R"({{"ph":"M","pid":{},"tid":{},"name":"{}","args":{{"name":{}}}}})", process, track, kind,
           json_quoted(name));
  }

  void append_names() {
    append_name("process_name", kUnits, 0, "units");
    append_name("process_name", kChannels, 0, "channels");
    append_name("process_name", kStores, 0, "stores");
    append_name("process_name", kPorts, 0, "ports");
    for (std::uint32_t u = 0; u < machine_.units.size(); ++u)
      append_name("thread_name", kUnits, u, machine_.units[u].name);
    for (std::uint32_t c = 0; c < channel_tracks_.size(); ++c)
      append_name("thread_name", kChannels, c, channel_tracks_[c]);
  }

  std::string slice_name(const Slice& s) const {
    if (s.is_mixed) return fmt::format("{} {}", s.count, s.is_move ? "transfers" : "tiles");
    return s.is_move ? graph_.tensors[s.subject].name : graph_.nodes[s.subject].name;
  }

  void append_slice(const Slice& s) {
    const double start = on_grid(s.start);
    append(R"({{"ph":"X","pid":{},"tid":{},"ts":)", s.is_move ? kChannels : kUnits, s.track);
    append_time(start);
    text_ += R"(,"dur":)";
    append_time(on_grid(s.end) - start);
    append(R"(,"name":{},"cat":"{}","args":{{)", json_quoted(slice_name(s)), name(static_cast<Phase>(s.phase)));
    if (s.count > 1) append(R"("count":{},)", s.count);
    append(R"("cycles":{},"{}":{})", s.busy, s.is_move ? "bytes" : "energy_pj", s.amount);
    if (s.is_move)
      append_move(s);
    else
      append_tile(s);
    text_ += "}}";
  }

  void append_tile(const Slice& s) {
    const schedule::TileInfo& info = e_.tiled.tiles[s.index];
    append(R"(,"core":{})", json_quoted(chip_.cores[info.core].core.name));
    if (s.count == 1) append(R"(,"box":{})", json_quoted(box_text(info)));
    append(R"(,"began":{})", json_quoted(cause_text(graph_, e_, e_.timeline.tiles[s.index].cause)));
  }

  void append_move(const Slice& s) {
    if (s.is_mixed) return;
    const Move& m = moves_.moves[s.index];
    std::string to = machine_.stores[m.to.index()].name;
    const bool is_flow = m.kind == MoveKind::Flow;
    if (const auto others = moves_.carried.find(m.transfer); !is_flow && others != moves_.carried.end())
      for (const plan::StoreId other : others->second) to += ", " + machine_.stores[other.index()].name;
    append(R"(,"from":{},"to":{},"purpose":"{}","for":{})", json_quoted(machine_.stores[m.from.index()].name),
           json_quoted(to), name(m.kind), json_quoted(graph_[e_.tiled.tiles[m.tile].node].name));
    if (is_flow) return;
    append(R"(,"began":{})", json_quoted(cause_text(graph_, e_, e_.timeline.transfers[m.transfer].cause)));
  }

  // Loops that are whole are left out.
  std::string box_text(const schedule::TileInfo& info) {
    auto& loops = loops_[info.node.value];
    if (loops.empty()) loops = loops_of(graph_, graph_[info.node]);
    std::string text = info.is_combination ? "combines sums" : "";
    for (std::size_t l = 0; l < loops.size(); ++l) {
      const Range& range = e_.tiled.ranges[info.first_range + l];
      if (range.size() == loops[l].size) continue;
      text += fmt::format("{}{} {}..{}", text.empty() ? "" : ", ", loops[l].name, range.begin, range.end - 1);
    }
    return text.empty() ? "whole" : text;
  }

  void append_counter(std::uint32_t store, const StoreUse::Point& point) {
    append(R"({{"ph":"C","pid":{},"ts":)", kStores);
    append_time(on_grid(point.time));
    append(R"(,"name":{},"args":{{)", json_quoted(machine_.stores[store].name));
    for (std::size_t u = 0; u < kMemoryUses; ++u)
      append(R"({}"{}":{:.0f})", u == 0 ? "" : ",", name(static_cast<schedule::MemoryUse>(u)), point.bytes[u]);
    text_ += "}}";
  }

  void append_port(const PortPoint& point) {
    append(R"({{"ph":"C","pid":{},"ts":)", kPorts);
    append_time(on_grid(point.time));
    append(R"(,"name":{},"args":{{"percent":{}}}}})", json_quoted(machine_.ports[point.port].name), point.percent);
  }

  // Everything by time; at one time slices by track, then counters.
  void append_events() {
    struct Event {
      double time = 0;
      const Slice* slice = nullptr;
      const PortPoint* port = nullptr;
      std::uint32_t store = 0, point = 0;
    };
    std::vector<Event> events;
    events.reserve(count(tiles_) + count(passed_) + count(points_));
    for (const auto* rows : {&tiles_, &passed_})
      for (const auto& row : *rows)
        for (const Slice& s : row) events.push_back({.time = s.start, .slice = &s});
    for (std::uint32_t s = 0; s < points_.size(); ++s)
      for (std::uint32_t p = 0; p < points_[s].size(); ++p)
        events.push_back({.time = points_[s][p].time, .store = s, .point = p});
    for (const PortPoint& point : port_points_) events.push_back({.time = point.time, .port = &point});
    std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) { return a.time < b.time; });
    for (const Event& event : events) {
      begin_event();
      if (event.slice)
        append_slice(*event.slice);
      else if (event.port)
        append_port(*event.port);
      else
        append_counter(event.store, points_[event.store][event.point]);
    }
  }

  void write() {
    text_ = R"({"traceEvents":[)";
    append_names();
    append_events();
    const std::string unit = e_.clock_hz > 0 ? fmt::format("real time: one cycle is {:.6g} us ({:.6g} MHz)",
                                                           us_per_cycle_, e_.clock_hz / 1e6)
                                             : "one us stands for one cycle: the clock is not known";
    Json other = Json::object();
    other.set("made_by", "monet " + version());
    other.set("graph", graph_.name);
    other.set("time_unit", unit);
    other.set("latency_cycles", e_.latency);
    other.set("merged", out_.merged.empty() ? "nothing" : out_.merged);
    append("\n],\"displayTimeUnit\":\"ns\",\"otherData\":{}}}\n", other.dump());
    out_.json = std::move(text_);
  }

  const Graph& graph_;
  const plan::Chip& chip_;
  const Evaluation& e_;
  const TraceOptions& options_;
  const plan::Machine& machine_;
  double us_per_cycle_ = 1;
  Moves moves_;
  std::vector<std::vector<Slice>> tiles_, passed_;    // by unit, by channel
  std::vector<std::vector<StoreUse::Point>> points_;  // by store
  std::vector<PortPoint> port_points_;
  std::vector<std::string> channel_tracks_;
  std::map<std::uint32_t, std::vector<Loop>> loops_;  // by node
  std::string text_;
  Trace out_;
};

}  // namespace

Trace trace_json(const Graph& graph, const plan::Chip& chip, const Evaluation& evaluation,
                 const TraceOptions& options) {
  return Tracer(graph, chip, evaluation, options).run();
}

}  // namespace monet
