#include "monet/report/trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "monet/base/config.h"
#include "unit/report/evaluated.h"

namespace monet {
namespace {

using schedule::Evaluation;
using test::Evaluated;
using test::small;

struct Event {
  std::string phase, name, category;
  int process = 0, track = 0;
  double time = 0, length = 0;
  std::map<std::string, std::string> args;
  double number(const std::string& key) const { return std::stod(args.at(key)); }
};

struct Read {
  std::vector<Event> events;
  std::map<std::string, std::string> other;
};

// With the reader of configuration files, which shares nothing with the writer.
Read read(const std::string& json) {
  const config::Tree tree = config::parse_json(json, "trace.json");
  Read out;
  const auto text = [](const config::Value& v, std::string_view key) {
    const auto found = v.find(key);
    return found ? std::string(found->text()) : std::string();
  };
  const config::Value events = *tree.root().find("traceEvents");
  for (std::size_t i = 0; i < events.size(); ++i) {
    const config::Value v = events[i];
    Event event{.phase = text(v, "ph"), .name = text(v, "name"), .category = text(v, "cat"), .args = {}};
    event.process = std::stoi(text(v, "pid"));
    if (v.find("tid")) event.track = std::stoi(text(v, "tid"));
    if (v.find("ts")) event.time = std::stod(text(v, "ts"));
    if (v.find("dur")) event.length = std::stod(text(v, "dur"));
    const config::Value args = *v.find("args");
    for (std::size_t a = 0; a < args.size(); ++a) event.args[std::string(args.key(a).text())] = args[a].text();
    out.events.push_back(std::move(event));
  }
  const config::Value other = *tree.root().find("otherData");
  for (std::size_t a = 0; a < other.size(); ++a) out.other[std::string(other.key(a).text())] = other[a].text();
  return out;
}

// Tracks by process and number; "link #2" is the same channel as "link".
std::map<std::pair<int, int>, std::string> tracks(const Read& trace, bool fold) {
  std::map<std::pair<int, int>, std::string> out;
  for (const Event& e : trace.events) {
    if (e.phase != "M" || e.name != "thread_name") continue;
    std::string name = e.args.at("name");
    if (const std::size_t lane = name.find(" #"); fold && lane != std::string::npos) name.resize(lane);
    out[{e.process, e.track}] = name;
  }
  return out;
}

// Sums of an argument of the slices, by "process/track".
std::map<std::string, double> sums(const Read& trace, int process, const std::string& key) {
  const auto names = tracks(trace, true);
  std::map<std::string, double> out;
  for (const Event& e : trace.events)
    if (e.phase == "X" && e.process == process) out[names.at({e.process, e.track})] += e.number(key);
  return out;
}

void expect_sums(const Evaluated& made, const Read& trace) {
  auto busy = sums(trace, 1, "cycles");
  for (std::size_t u = 0; u < made.e.units.size(); ++u)
    EXPECT_NEAR(busy[made.chip.machine.units[u].name], made.e.units[u].busy, 1e-6 * made.e.latency);
  auto bytes = sums(trace, 2, "bytes");
  for (std::size_t c = 0; c < made.e.channel_bytes.size(); ++c)
    EXPECT_NEAR(bytes[made.chip.machine.channels[c].name], made.e.channel_bytes[c], 1e-6 * made.e.channel_bytes[c]);
  std::map<std::string, double> peak;
  for (const Event& e : trace.events) {
    if (e.phase != "C") continue;
    double sum = 0;
    for (const auto& [use, value] : e.args) sum += std::stod(value);
    peak[e.name] = std::max(peak[e.name], sum);
  }
  for (std::size_t s = 0; s < made.e.stores.size(); ++s)
    EXPECT_EQ(peak[made.chip.machine.stores[s].name], made.e.stores[s].peak_bytes);
}

void expect_no_overlap(const Read& trace) {
  std::map<std::pair<int, int>, double> end;
  for (const Event& e : trace.events) {
    if (e.phase != "X") continue;
    double& last = end[{e.process, e.track}];
    EXPECT_GE(e.time, last - 1e-6) << e.name;
    last = std::max(last, e.time + e.length);
  }
}

TEST(Trace, NamesEveryUnitChannelAndStore) {
  const Read trace = read(trace_json(small().graph, small().chip, small().e).json);
  std::set<std::string> units, channels, stores;
  for (const auto& [key, name] : tracks(trace, false)) (key.first == 1 ? units : channels).insert(name);
  for (const Event& e : trace.events)
    if (e.phase == "C") stores.insert(e.name);
  ASSERT_FALSE(small().chip.machine.units.empty());
  for (const auto& unit : small().chip.machine.units) EXPECT_TRUE(units.count(unit.name)) << unit.name;
  for (const auto& channel : small().chip.machine.channels) EXPECT_TRUE(channels.count(channel.name)) << channel.name;
  for (const auto& store : small().chip.machine.stores) EXPECT_TRUE(stores.count(store.name)) << store.name;
}

// A counter is a mean over a stretch, in whole percent.
TEST(Trace, PortsAreCountersWhoseMeanIsTheirUse) {
  const Evaluation& e = small().e;
  const Read trace = read(trace_json(small().graph, small().chip, e).json);
  std::map<std::string, double> use, last, since;
  double us = 0;
  for (const Event& event : trace.events) us = std::max(us, event.time + event.length);
  for (const Event& event : trace.events) {
    if (event.phase != "C" || event.process != 4) continue;
    use[event.name] += last[event.name] * (event.time - since[event.name]);
    last[event.name] = event.number("percent");
    since[event.name] = event.time;
  }
  std::size_t used = 0;
  for (std::size_t p = 0; p < e.port_cycles.size(); ++p) {
    if (e.port_cycles[p] == 0) continue;
    ++used;
    const std::string& name = small().chip.machine.ports[p].name;
    EXPECT_NEAR(use[name] / us, 100 * e.port_cycles[p] / e.latency, 1) << name;
  }
  EXPECT_GT(used, 0u);
}

TEST(Trace, EveryTileIsAnEventAndLengthsAreBusyTime) {
  const Trace made = trace_json(small().graph, small().chip, small().e);
  EXPECT_EQ(made.merged, "");
  const Read trace = read(made.json);
  EXPECT_EQ(trace.events.size(), made.events);
  std::size_t tiles = 0;
  std::map<int, double> length;
  for (const Event& e : trace.events) {
    if (e.phase != "X" || e.process != 1) continue;
    ++tiles;
    length[e.track] += e.length;
    for (const char* key : {"core", "cycles", "energy_pj", "box", "began"}) EXPECT_TRUE(e.args.count(key)) << key;
  }
  EXPECT_EQ(tiles, small().e.timeline.tiles.size());
  ASSERT_GT(small().e.clock_hz, 0);
  for (std::size_t u = 0; u < small().e.units.size(); ++u)
    EXPECT_NEAR(length[static_cast<int>(u)], small().e.units[u].busy * 1e6 / small().e.clock_hz,
                1e-6 * static_cast<double>(tiles));
  expect_sums(small(), trace);
  expect_no_overlap(trace);
}

TEST(Trace, EventsStandInTheOrderOfTimeAndBytesAreTheSameAgain) {
  const Trace made = trace_json(small().graph, small().chip, small().e);
  const Read trace = read(made.json);
  double last = 0;
  for (const Event& e : trace.events) {
    if (e.phase == "M") continue;
    EXPECT_GE(e.time, last);
    last = e.time;
  }
  EXPECT_GT(last, 0);
  EXPECT_EQ(made.json, trace_json(small().graph, small().chip, small().e).json);
}

TEST(Trace, TransfersSayWhatFromWhereToWhereAndWhy) {
  const Read trace = read(trace_json(small().graph, small().chip, small().e).json);
  std::set<std::string> tensors, stores;
  for (const Tensor& tensor : small().graph.tensors) tensors.insert(tensor.name);
  for (const auto& store : small().chip.machine.stores) stores.insert(store.name);
  std::size_t moves = 0;
  for (const Event& e : trace.events) {
    if (e.phase != "X" || e.process != 2) continue;
    ++moves;
    EXPECT_TRUE(tensors.count(e.name)) << e.name;
    EXPECT_TRUE(stores.count(e.args.at("from"))) << e.args.at("from");
    EXPECT_TRUE(e.args.count("to") && e.args.count("purpose") && e.args.count("for"));
  }
  EXPECT_GT(moves, 0u);
}

TEST(Trace, MergedTracesKeepBusyTimeBytesAndPeaksAndTheGuardHolds) {
  const std::size_t all = trace_json(small().graph, small().chip, small().e).events;
  for (const std::size_t most : {all - 1, all / 2, all / 4}) {
    const Trace made = trace_json(small().graph, small().chip, small().e, {.most_events = most});
    EXPECT_LE(made.events, most);
    EXPECT_GT(made.events, most / 8) << "far fewer than there is room for";
    EXPECT_NE(made.merged, "");
    const Read trace = read(made.json);
    EXPECT_EQ(trace.events.size(), made.events);
    EXPECT_EQ(trace.other.at("merged"), made.merged);
    expect_sums(small(), trace);
    expect_no_overlap(trace);
  }
}

TEST(Trace, OneEventForEveryTrackIsLeftHoweverSmallTheGuard) {
  const Trace made = trace_json(small().graph, small().chip, small().e, {.most_events = 1});
  const Read trace = read(made.json);
  const plan::Machine& machine = small().chip.machine;
  EXPECT_LE(made.events, 4 + 2 * machine.units.size() + 2 * machine.channels.size() + machine.stores.size());
  expect_sums(small(), trace);
}

TEST(Trace, WithoutAClockOneMicrosecondIsOneCycle) {
  Evaluation e = small().e;
  e.clock_hz = 0;
  const Read trace = read(trace_json(small().graph, small().chip, e).json);
  EXPECT_NE(trace.other.at("time_unit").find("one cycle"), std::string::npos);
  double end = 0;
  for (const Event& event : trace.events) end = std::max(end, event.time + event.length);
  EXPECT_NEAR(end, e.latency, 1e-6);
}

TEST(Trace, AMulticastIsShownOnceWithAllItGoesTo) {
  Evaluation e = small().e;
  ASSERT_FALSE(e.timeline.transfers.empty());
  const Read before = read(trace_json(small().graph, small().chip, e).json);
  schedule::Transfer copy = e.timeline.transfers[0];
  const auto& stores = small().chip.machine.stores;
  for (std::uint32_t s = 0; s < stores.size(); ++s)
    if (schedule::StoreId{s} != copy.to && schedule::StoreId{s} != copy.from) copy.to = schedule::StoreId{s};
  copy.carried_by = 0;
  e.timeline.transfers.push_back(copy);
  const Read after = read(trace_json(small().graph, small().chip, e).json);
  const auto slices = [](const Read& trace) {
    return std::count_if(trace.events.begin(), trace.events.end(),
                         [](const Event& event) { return event.phase == "X"; });
  };
  EXPECT_EQ(slices(before), slices(after));
  const std::string both = stores[e.timeline.transfers[0].to.index()].name + ", " + stores[copy.to.index()].name;
  EXPECT_TRUE(std::any_of(after.events.begin(), after.events.end(),
                          [&](const Event& event) { return event.args.count("to") && event.args.at("to") == both; }));
}

TEST(Trace, WhatPassesAtOnceStandsOnFurtherTracks) {
  Evaluation e = small().e;
  ASSERT_FALSE(e.timeline.transfers.empty());
  schedule::Transfer twin = e.timeline.transfers[0];
  ASSERT_EQ(twin.carried_by, 0u);
  ASSERT_GT(twin.end, twin.start);
  twin.carried_by = static_cast<std::uint32_t>(e.timeline.transfers.size());
  e.timeline.transfers.push_back(twin);
  const Read trace = read(trace_json(small().graph, small().chip, e).json);
  expect_no_overlap(trace);
  const auto names = tracks(trace, false);
  EXPECT_TRUE(std::any_of(names.begin(), names.end(), [](const auto& n) { return n.second.ends_with(" #2"); }));
}

TEST(Trace, WhatFlowsPastAStoreIsShownAsLongAsItsTile) {
  Evaluation e = small().e;
  schedule::Problem& p = e.tiled.problem;
  p.tiles[0].first_flow = static_cast<std::uint32_t>(p.flows.size());
  p.tiles[0].flows = 1;
  const plan::StoreId store = small().chip.cores[e.tiled.tiles[0].core].stores[0];
  p.flows.push_back({.block = schedule::BlockId{0}, .store = store, .in = 12345});
  const Read trace = read(trace_json(small().graph, small().chip, e).json);
  std::size_t found = 0;
  for (const Event& event : trace.events) {
    if (!event.args.count("purpose") || event.args.at("purpose") != "flow") continue;
    ++found;
    EXPECT_EQ(event.number("bytes"), 12345);
    EXPECT_EQ(event.number("cycles"), e.timeline.tiles[0].end - e.timeline.tiles[0].start);
    EXPECT_EQ(event.args.at("to"), small().chip.machine.stores[store.index()].name);
  }
  EXPECT_EQ(found, p.machine.route(p.machine.home, store).channels.size());
}

TEST(Trace, NamesOfAnyBytesAreValid) {
  Graph graph = small().graph;
  const std::string wild = "<a href=\"x\">&'\\\n\x01\xff/";
  for (Node& node : graph.nodes) node.name = wild + node.name;
  for (Tensor& tensor : graph.tensors) tensor.name = wild + tensor.name;
  const Read trace = read(trace_json(graph, small().chip, small().e).json);
  EXPECT_TRUE(std::any_of(trace.events.begin(), trace.events.end(),
                          [](const Event& e) { return e.name.starts_with("<a href=\"x\">&'\\\n\x01\xEF\xBF\xBD/"); }));
}

TEST(Trace, NothingAtAllIsATraceToo) {
  const Trace made = trace_json(Graph{}, plan::Chip{}, Evaluation{});
  EXPECT_EQ(read(made.json).events.size(), made.events);
}

}  // namespace
}  // namespace monet
