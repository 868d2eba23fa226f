#include "monet/cost/cached_mapping.h"

#include <algorithm>
#include <cmath>

#include "monet/base/config_section.h"
#include "monet/base/sha256.h"
#include "monet/cost/loops.h"

namespace monet::cost {
namespace {

using config::Dialect;
using config::Findings;
using config::NumberRange;
using config::Section;
using config::Value;

// ---- Is it legal? ----

// Every dimension is gone through once, by whole loops.
bool covers(const Problem& p, std::span<const TemporalLoop> order) {
  std::array<double, kMaxDimensions> product;
  product.fill(1);
  if (order.empty() || order.size() > kMaxLoops) return false;
  for (const TemporalLoop& loop : order) {
    if (loop.dimension >= p.dimensions || loop.factor < 1 || loop.factor != std::floor(loop.factor)) return false;
    product[loop.dimension] *= loop.factor;
  }
  for (std::size_t d = 0; d < p.dimensions; ++d)
    if (product[d] != std::max(1.0, p.temporal[d])) return false;
  return true;
}

bool is_in_order(const Problem& p, const Cuts& cuts, std::size_t loops) {
  for (std::size_t o = 0; o < p.operands.size(); ++o) {
    std::size_t last = 0;
    for (std::size_t level = 0; level < p.operands[o].memories; ++level) {
      if (cuts[o][level] < last || cuts[o][level] > loops) return false;
      last = cuts[o][level];
    }
    if (last != loops) return false;
  }
  return true;
}

bool fits(const Problem& p, const Evaluation& e) {
  for (const MemoryProblem& memory : p.memories) {
    double bits = 0;
    for (std::size_t i = 0; i < memory.operands.size(); ++i) {
      const MemoryLevel& level = e.levels[memory.operands[i]][memory.level[i]];
      bits += level.tile_bits * (level.is_double_buffered ? 2 : 1);
    }
    if (bits > memory.size_bits) return false;
  }
  return true;
}

// Pinned loops stand where the user wants them.
bool keeps_order(const Mapped& m, const MappingRequest& request, const MapOptions& options) {
  const PinnedLoops pinned = pinned_loops(m.problem, request.ordering, m.layer.dimensions,
                                          options.quirks.greedy_allocation ? options.limit : 0);
  if (!pinned.reason.empty()) return false;
  return pinned.complete.empty() ? meets(m.order, pinned.pins) : m.order == pinned.complete;
}

// ---- Files ----

Json numbers(std::span<const double> list) {
  Json row = Json::array();
  for (const double x : list) row.push(x);
  return row;
}

Json unsealed(const std::string& key, const CachedMapping& e) {
  Json item = Json::object().set("key", key);
  Json rooms = Json::array();
  for (const Room& room : e.rooms) {
    Json row = Json::array().push(room.held);
    if (std::isfinite(room.refused)) row.push(room.refused);  // JSON has no word for infinity
    rooms.push(std::move(row));
  }
  item.set("rooms", std::move(rooms));
  if (!e.reason.empty()) return item.set("reason", e.reason);
  Json spatial = Json::array(), order = Json::array(), cuts = Json::array(), doubled = Json::array();
  for (const auto& loops : e.spatial) {
    Json row = Json::array();
    for (const SpatialLoop& loop : loops)
      row.push(Json::array().push(std::uint64_t{loop.dimension}).push(loop.factor).push(loop.turn));
    spatial.push(std::move(row));
  }
  for (const TemporalLoop& loop : e.order) order.push(Json::array().push(loop.dimension).push(loop.factor));
  for (std::size_t o = 0; o < kMaxOperands; ++o) {
    Json row = Json::array(), flags = Json::array();
    for (std::size_t level = 0; level < kMaxMemories; ++level) {
      row.push(std::uint64_t{e.cuts[o][level]});
      flags.push(std::uint64_t{e.doubled[o][level]});
    }
    cuts.push(std::move(row));
    doubled.push(std::move(flags));
  }
  return item.set("spatial", std::move(spatial))
      .set("order", std::move(order))
      .set("cuts", std::move(cuts))
      .set("doubled", std::move(doubled))
      .set("spatials", std::uint64_t{e.spatials})
      .set("evaluated", e.evaluated)
      .set("orderings", e.orderings)
      .set("proven", e.is_proven)
      .set("bound", e.bound)
      .set("costs", numbers(std::array{e.costs.latency, e.costs.energy_pj}));
}

// `count` numbers, whole ones unless `parts`, from 0 to `most`; anything else is reported.
std::vector<double> read_numbers(const Value& value, std::size_t count, double most, bool parts, Findings& findings) {
  std::vector<double> list;
  if (!value.is_sequence() || value.size() != count) {
    findings.error(value, "expected a list of " + std::to_string(count) + " numbers");
    return std::vector<double>(count, 0);
  }
  for (std::size_t i = 0; i < count; ++i) {
    list.push_back(config::read_number(value[i], "entry", NumberRange{0, most}, Dialect::Strict, findings).value_or(0));
    if (!parts && list.back() != std::floor(list.back())) findings.error(value[i], "expected a whole number");
  }
  return list;
}

constexpr double kLargest = 0x1p53;  // whole numbers a double tells apart

void read_loops(Section& s, Findings& findings, CachedMapping& e) {
  for (const Value& row : s.list("spatial")) {
    e.spatial.emplace_back();
    if (!row.is_sequence()) findings.error(row, "expected a list of loops");
    for (std::size_t i = 0; row.is_sequence() && i < row.size(); ++i) {
      const std::vector<double> loop = read_numbers(row[i], 3, kLargest, false, findings);
      e.spatial.back().push_back({.dimension = static_cast<std::size_t>(loop[0]),
                                  .factor = static_cast<std::int64_t>(loop[1]),
                                  .turn = static_cast<std::uint32_t>(std::min(loop[2], 0x1p31))});
    }
  }
  for (const Value& row : s.list("order")) {
    const std::vector<double> loop = read_numbers(row, 2, kLargest, false, findings);
    e.order.push_back({static_cast<std::uint32_t>(std::min(loop[0], 0x1p31)), loop[1]});
  }
  const std::vector<Value> cuts = s.list("cuts"), doubled = s.list("doubled");
  if (cuts.size() != kMaxOperands || doubled.size() != kMaxOperands) {
    findings.error(s.value(), "'cuts' and 'doubled' need a row for each of three operands");
    return;
  }
  for (std::size_t o = 0; o < kMaxOperands; ++o) {
    const std::vector<double> row = read_numbers(cuts[o], kMaxMemories, kMaxLoops, false, findings),
                              flags = read_numbers(doubled[o], kMaxMemories, 1, false, findings);
    for (std::size_t level = 0; level < kMaxMemories; ++level) {
      e.cuts[o][level] = static_cast<std::uint8_t>(row[level]);
      e.doubled[o][level] = flags[level] == 1;
    }
  }
}

}  // namespace

CachedMapping cached(const MapResult& result, const std::vector<std::size_t>& roomy) {
  std::vector<Room> rooms;
  for (const std::size_t m : roomy) rooms.push_back(m < result.rooms.size() ? result.rooms[m] : Room{});
  if (!result.mapped) return {.reason = result.reason, .is_stopped = result.is_stopped, .rooms = std::move(rooms)};
  const Mapped& m = *result.mapped;
  return {.is_stopped = m.is_stopped,
          .spatial = m.spatial,
          .order = m.order,
          .cuts = m.evaluation.cuts,
          .doubled = m.evaluation.doubled,
          .spatials = m.spatials,
          .spatials_left = m.spatials_left,
          .evaluated = m.evaluated,
          .orderings = m.orderings,
          .is_proven = m.is_proven,
          .bound = m.bound,
          .costs = {m.evaluation.energy_pj, m.evaluation.latency},
          .rooms = std::move(rooms)};
}

std::optional<MapResult> rebuild(const CachedMapping& entry, const Layer& layer, const hardware::Core& core,
                                 const MappingRequest& request, const MapOptions& options) {
  if (!entry.reason.empty()) return MapResult{.reason = entry.reason, .is_stopped = entry.is_stopped};
  if (!core.array) return std::nullopt;
  if (!entry.is_own) {
    const std::vector<Spatial> unrollings = unrollings_of(layer, core, request, options);
    if (std::find(unrollings.begin(), unrollings.end(), entry.spatial) == unrollings.end()) return std::nullopt;
  }
  Mapped m{.layer = with_slots(layer, request), .spatial = entry.spatial, .order = entry.order};
  m.problem = make_problem(m.layer, core, m.spatial, options.quirks, options.clock_hz);
  if (!covers(m.problem, m.order) || !is_in_order(m.problem, entry.cuts, m.order.size()) ||
      !keeps_order(m, request, options))
    return std::nullopt;
  m.evaluation.cuts = entry.cuts;
  m.evaluation.doubled = entry.doubled;
  if (options.quirks.greedy_allocation) {
    Cuts cuts = entry.cuts;
    Misfit misfit;
    if (!allocate_greedily(m.problem, m.order, options.even, cuts, misfit) || cuts != entry.cuts) return std::nullopt;
  }
  evaluate(m.problem, m.order, m.evaluation);
  const Evaluation& e = m.evaluation;
  if (e.latency != entry.costs.latency || e.energy_pj != entry.costs.energy_pj) return std::nullopt;
  if (options.quirks == Quirks{} && !fits(m.problem, e)) return std::nullopt;
  m.spatials = entry.spatials;
  m.spatials_left = entry.spatials_left;
  m.evaluated = entry.evaluated;
  m.orderings = entry.orderings;
  m.is_proven = entry.is_proven;
  m.is_stopped = entry.is_stopped;
  m.bound = entry.bound;
  return MapResult{.mapped = std::move(m)};
}

Json to_json(const std::string& key, const CachedMapping& entry) {
  Json item = unsealed(key, entry);
  const std::string digest = sha256_hex(item.dump());
  return item.set("digest", digest.substr(0, 16));
}

KeyedMapping read_cached(const config::Value& value, bool sealed, Findings& findings) {
  Section s(value, "an entry", Dialect::Strict, findings);
  const std::size_t before = findings.errors();
  KeyedMapping read{.key = s.require_text("key").value_or("")};
  CachedMapping& e = read.mapping;
  const std::string digest = s.require_text("digest").value_or("");
  for (const Value& row : s.list("rooms")) {
    const std::vector<double> sizes =
        read_numbers(row, row.is_sequence() && row.size() == 2 ? 2 : 1, kLargest, true, findings);
    e.rooms.push_back({.held = sizes[0]});
    if (sizes.size() == 2) e.rooms.back().refused = sizes[1];
  }
  if (s.has("reason")) {
    e.reason = s.require_text("reason").value_or("");
    if (e.reason.empty()) findings.error(value, "an entry without a mapping needs a reason");
  } else {
    read_loops(s, findings, e);
    e.spatials = static_cast<std::size_t>(s.require_integer("spatials", {0, 1 << 30}).value_or(0));
    e.evaluated = static_cast<std::uint64_t>(s.require_integer("evaluated", {0, std::int64_t{1} << 62}).value_or(0));
    e.orderings = s.number("orderings", {0, 1e300}).value_or(0);
    e.is_proven = s.boolean("proven").value_or(false);
    e.bound = s.number("bound", {0, 1e300}).value_or(0);
    if (const std::optional<Value> costs = s.require("costs")) {
      const std::vector<double> pair = read_numbers(*costs, 2, 1e300, true, findings);
      e.costs = {.energy_pj = pair[1], .latency = pair[0]};
    }
  }
  s.finish();
  if (sealed && findings.errors() == before && to_json(read.key, e) != unsealed(read.key, e).set("digest", digest))
    findings.error(value, "an entry does not match its digest: the file is damaged",
                   "delete the file, or restore it from a copy");
  return read;
}

}  // namespace monet::cost
