#include "monet/verbs/stream_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "monet/base/config_section.h"
#include "monet/schedule/stream_file.h"
#include "monet/verbs/comparison.h"

namespace monet {
namespace {

using schedule::StreamEvent;
using schedule::StreamProblem;
using schedule::StreamResult;

constexpr std::array<const char*, schedule::kStreamBuckets> kBucketNames{"tiles' off-chip", "eviction",
                                                                         "sink write-back", "core to core"};

ValidationRow compare_tiles(const StreamProblem& p, const StreamResult& ours, const StreamResult& theirs) {
  Comparison row("tiles");
  for (std::size_t i = 0; i < p.tiles.size(); ++i) {
    const std::string tile = fmt::format("layer {} tile {}", p.tiles[i].layer, p.tiles[i].sub);
    row.compare(tile + " start", ours.start[i], theirs.start[i]);
    row.compare(tile + " end", ours.end[i], theirs.end[i]);
  }
  row.compare("latency", ours.latency, theirs.latency);
  return row.finish("latency");
}

ValidationRow compare_events(const StreamResult& ours, const StreamResult& theirs) {
  Comparison row("link events");
  row.compare("number", static_cast<double>(ours.events.size()), static_cast<double>(theirs.events.size()));
  for (std::size_t i = 0; i < std::min(ours.events.size(), theirs.events.size()); ++i) {
    const StreamEvent &a = ours.events[i], &b = theirs.events[i];
    const std::string event = fmt::format("event {} ", i);
    const auto compare = [&](const char* what, double x, double y, double tolerance = 0) {
      row.compare(event + what, x, y, tolerance);
    };
    compare("kind", a.is_block, b.is_block);
    compare("start", a.start, b.start);
    compare("end", a.end, b.end);
    compare("from", a.from, b.from);
    compare("to", a.to, b.to);
    compare("tensor's tile", a.owner, b.owner);
    compare("tensor's operand", a.operand, b.operand);
    compare("bits", static_cast<double>(a.bits), static_cast<double>(b.bits));
    compare("hops", a.hops, b.hops);
    compare("activity", a.activity, b.activity);
    compare("energy", a.energy_pj, b.energy_pj, kEnergyTolerance);
  }
  return row.finish("number");
}

ValidationRow compare_energies(const StreamResult& ours, const StreamResult& theirs) {
  Comparison row("energy");
  const auto compare = [&](const std::string& what, double x, double y) { row.compare(what, x, y, kEnergyTolerance); };
  compare("energy_pj", ours.energy_pj, theirs.energy_pj);
  compare("on chip", ours.onchip_pj, theirs.onchip_pj);
  for (std::size_t b = 0; b < schedule::kStreamBuckets; ++b) {
    compare(fmt::format("{}, links", kBucketNames[b]), ours.link_pj[b], theirs.link_pj[b]);
    compare(fmt::format("{}, memories", kBucketNames[b]), ours.memory_pj[b], theirs.memory_pj[b]);
  }
  return row.finish("energy_pj");
}

ValidationRow compare_peaks(const StreamProblem& p, const StreamResult& ours, const std::vector<StreamPeak>& theirs) {
  Comparison row("peak memory");
  for (const StreamPeak& peak : theirs)
    for (const schedule::StreamCore& core : p.cores)
      for (const std::uint32_t m : core.memories)
        if (core.id == peak.core && p.memories[m].name == peak.memory)
          row.compare(fmt::format("core {} {}", core.id, peak.memory), static_cast<double>(ours.peak_bits[m]),
                      peak.bits);
  return row.finish("");
}

}  // namespace

StreamPeaks read_stream_peaks(const config::Value& runs, config::Findings& findings) {
  StreamPeaks peaks;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto id = runs[i].find("id"), list = runs[i].find("peak_memory_bits");
    if (!id || !list || !list->is_sequence()) continue;
    for (std::size_t k = 0; k < list->size(); ++k) {
      const auto cores = (*list)[k].find("cores"), name = (*list)[k].find("instance"), bits = (*list)[k].find("peak");
      if (!cores || !name || !bits || !cores->is_sequence() || cores->size() == 0) {
        findings.error((*list)[k], "a peak has 'cores', 'instance' and 'peak'");
        continue;
      }
      const auto core = config::read_integer((*cores)[0], "core", {}, config::Dialect::PyYaml, findings);
      const auto peak = config::read_number(*bits, "peak", config::NumberRange{}, config::Dialect::PyYaml, findings);
      peaks[std::string(id->text())].push_back({core.value_or(0), std::string(name->text()), peak.value_or(0)});
    }
  }
  return peaks;
}

ValidationSuite run_stream_schedule(const std::string& name, const config::Value& root, const StreamPeaks& peaks) {
  config::Findings findings;
  const schedule::StreamCase c = schedule::read_stream_case(root, findings);
  findings.throw_if_failed();
  const StreamResult ours = schedule::run_stream(c.problem);
  ValidationSuite suite{.name = name};
  if (!ours.failure.empty()) {
    Comparison row("feasible");
    row.differ("feasible", ours.failure, c.expected.latency);
    suite.rows.push_back(row.finish(""));
    return suite;
  }
  suite.rows.push_back(compare_tiles(c.problem, ours, c.expected));
  suite.rows.push_back(compare_events(ours, c.expected));
  suite.rows.push_back(compare_energies(ours, c.expected));
  if (const auto known = peaks.find(name); known != peaks.end())
    suite.rows.push_back(compare_peaks(c.problem, ours, known->second));
  return suite;
}

}  // namespace monet
