#include "monet/cost/cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "monet/base/config.h"
#include "monet/base/config_section.h"
#include "monet/base/diagnostic.h"
#include "monet/base/json.h"
#include "monet/base/sha256.h"
#include "monet/hardware/yaml.h"

namespace monet::cost {
namespace {

constexpr std::string_view kKind = "monet cost cache";
constexpr std::int64_t kVersion = 1;

void append(std::string& text, const Layer& layer) {
  for (const work::Dimension& d : layer.dimensions) text += fmt::format("d {} {}\n", d.name, d.size);
  for (const Operand& o : layer.operands) {
    text += fmt::format("o {} {} {} {}\n", o.name, name(o.slot), o.bits, o.partial_bits);
    for (const work::Axis& axis : o.axes) {
      text += fmt::format("a {} {}", axis.extent, axis.offset);
      for (const work::Term& term : axis.terms) text += fmt::format(" {}*{}", term.coefficient, term.dimension);
      text += '\n';
    }
  }
  text += fmt::format("stored {}\n", layer.starts_from_stored);
}

void append(std::string& text, const MappingRequest& request) {
  for (const auto& [dimension, loops] : request.spatial) {
    text += "s " + dimension;
    for (const hardware::Unrolling& u : loops) text += fmt::format(" {}{}", u.dimension, u.factor);
    text += '\n';
  }
  for (const auto& [dimension, names] : request.hints) {
    text += "h " + dimension;
    for (const std::string& n : names) text += " " + n;
    text += '\n';
  }
  for (const LoopPattern& loop : request.ordering)
    text += fmt::format("t {} {}\n", loop.dimension.value_or("*"), loop.factor.value_or(0));
  for (const Placement& placement : request.placements) {
    text += fmt::format("p {} {}", placement.operand, placement.memory);
    for (const hardware::Unrolling& u : placement.loops) text += fmt::format(" {}{}", u.dimension, u.factor);
    text += '\n';
  }
  for (const auto& [operand, slot] : request.slots) text += fmt::format("l {} {}\n", operand, name(slot));
}

void append(std::string& text, const MapOptions& o) {
  const Quirks& q = o.quirks;
  text += fmt::format("c {} {} {} {} {} {} {}\n", static_cast<int>(o.criterion), o.limit, o.even, o.spatial.generated,
                      o.spatial.mixed, o.clock_hz, o.most_labels);
  for (const auto& [label, quirk] : kQuirkNames) text += fmt::format("q {} {}\n", label, q.*quirk);
}

Json pairs(const std::vector<std::pair<std::uint64_t, double>>& list) {
  Json json = Json::array();
  for (const auto& [a, b] : list) json.push(Json::array().push(a).push(b));
  return json;
}

}  // namespace

std::string content_key(const Layer& layer, const hardware::Core& core, const MappingRequest& request,
                        const MapOptions& options) {
  hardware::Hardware chip;
  chip.cores.push_back(core);
  std::string text = hardware::print(chip);
  append(text, layer);
  append(text, request);
  append(text, options);
  return sha256_hex(text);
}

MapResult Cache::map(const Layer& layer, const hardware::Core& core, const MappingRequest& request,
                     const MapOptions& options) {
  const std::string key = content_key(layer, core, request, options);
  {
    const std::shared_lock lock(mutex_);
    if (const auto found = entries_.find(key); found != entries_.end())
      if (std::optional<MapResult> result = rebuild(found->second, layer, core, request, options)) {
        hits_.fetch_add(1);
        return std::move(*result);
      }
  }
  MapResult result = map_layer(layer, core, request, options);
  Entry entry{.reason = result.reason};
  if (result.mapped) {
    const Mapped& m = *result.mapped;
    entry = {.spatial = m.spatial,
             .order = m.order,
             .cuts = m.evaluation.cuts,
             .doubled = m.evaluation.doubled,
             .spatials = m.spatials,
             .evaluated = m.evaluated,
             .is_proven = m.is_proven,
             .bound = m.bound};
  }
  const std::unique_lock lock(mutex_);
  entries_.insert_or_assign(key, std::move(entry));
  return result;
}

// A stored mapping costed again, or nothing if it does not fit the layer: files can be wrong.
std::optional<MapResult> Cache::rebuild(const Entry& entry, const Layer& layer, const hardware::Core& core,
                                        const MappingRequest& request, const MapOptions& options) {
  if (!entry.reason.empty()) return MapResult{.mapped = {}, .reason = entry.reason};
  if (!core.array || entry.spatial.size() != core.array->dimensions.size()) return std::nullopt;
  for (const auto& loops : entry.spatial)
    for (const SpatialLoop& loop : loops)
      if (loop.dimension >= layer.dimensions.size() || loop.factor < 1 ||
          loop.factor > layer.dimensions[loop.dimension].size)
        return std::nullopt;
  Mapped m{.layer = with_slots(layer, request), .spatial = entry.spatial, .order = entry.order};
  m.problem = make_problem(m.layer, core, m.spatial, options.quirks, options.clock_hz);
  std::array<double, kMaxDimensions> product;
  product.fill(1);
  for (const TemporalLoop& loop : entry.order) {
    if (loop.dimension >= m.problem.dimensions) return std::nullopt;
    product[loop.dimension] *= loop.factor;
  }
  for (std::size_t d = 0; d < m.problem.dimensions; ++d)
    if (product[d] != std::max(1.0, m.problem.temporal[d])) return std::nullopt;
  for (std::size_t o = 0; o < m.problem.operands.size(); ++o) {
    std::size_t last = 0;
    for (std::size_t level = 0; level < m.problem.operands[o].memories; ++level) {
      if (entry.cuts[o][level] < last || entry.cuts[o][level] > entry.order.size()) return std::nullopt;
      last = entry.cuts[o][level];
    }
    if (last != entry.order.size()) return std::nullopt;
  }
  m.evaluation.cuts = entry.cuts;
  m.evaluation.doubled = entry.doubled;
  m.spatials = entry.spatials;
  m.evaluated = entry.evaluated;
  m.is_proven = entry.is_proven;
  m.bound = entry.bound;
  evaluate(m.problem, m.order, m.evaluation);
  return MapResult{.mapped = std::move(m), .reason = {}};
}

std::size_t Cache::size() const {
  const std::shared_lock lock(mutex_);
  return entries_.size();
}

std::string Cache::text() const {
  const std::shared_lock lock(mutex_);
  Json list = Json::array();
  for (const auto& [key, e] : entries_) {
    Json item = Json::object().set("key", key);
    if (!e.reason.empty()) {
      list.push(item.set("reason", e.reason));
      continue;
    }
    Json spatial = Json::array(), cuts = Json::array(), doubled = Json::array();
    for (const auto& loops : e.spatial) {
      Json row = Json::array();
      for (const SpatialLoop& loop : loops)
        row.push(Json::array().push(std::uint64_t{loop.dimension}).push(loop.factor).push(loop.turn));
      spatial.push(std::move(row));
    }
    std::vector<std::pair<std::uint64_t, double>> order;
    for (const TemporalLoop& loop : e.order) order.emplace_back(loop.dimension, loop.factor);
    for (std::size_t o = 0; o < kMaxOperands; ++o) {
      Json row = Json::array(), flags = Json::array();
      for (std::size_t level = 0; level < kMaxMemories; ++level) {
        row.push(std::uint64_t{e.cuts[o][level]});
        flags.push(e.doubled[o][level]);
      }
      cuts.push(std::move(row));
      doubled.push(std::move(flags));
    }
    list.push(item.set("spatial", std::move(spatial))
                  .set("order", pairs(order))
                  .set("cuts", std::move(cuts))
                  .set("doubled", std::move(doubled))
                  .set("spatials", std::uint64_t{e.spatials})
                  .set("evaluated", e.evaluated)
                  .set("proven", e.is_proven)
                  .set("bound_energy_pj", e.bound.energy_pj)
                  .set("bound_latency_cycles", e.bound.latency));
  }
  return Json::object().set("kind", kKind).set("version", kVersion).set("entries", std::move(list)).dump(1) + "\n";
}

namespace {

using config::Findings;
using config::Value;

// Reads numbers of a list within limits; anything else is reported.
std::vector<double> numbers(const Value& value, double most, Findings& findings) {
  std::vector<double> list;
  if (!value.is_sequence()) {
    findings.error(value, "expected a list of numbers");
    return list;
  }
  for (std::size_t i = 0; i < value.size(); ++i)
    list.push_back(
        config::read_number(value[i], "entry", config::NumberRange{0, most}, config::Dialect::Strict, findings)
            .value_or(0));
  return list;
}

}  // namespace

void Cache::add(std::string_view text, const std::string& path) {
  const config::Tree tree = config::parse_json(text, path);
  Findings findings;
  config::Section file(tree.root(), "the cost cache", config::Dialect::Strict, findings);
  const std::optional<std::string> kind = file.require_text("kind");
  const std::optional<std::int64_t> version = file.require_integer("version", {0, 1 << 20});
  const std::vector<Value> items = file.list("entries");
  file.finish();
  if (kind && *kind != kKind) findings.error(tree.root(), "not a cost cache");
  findings.throw_if_failed();
  if (*version != kVersion) return;
  std::map<std::string, Entry, std::less<>> read;
  for (const Value& item : items) {
    config::Section s(item, "an entry", config::Dialect::Strict, findings);
    const std::optional<std::string> key = s.require_text("key");
    Entry e;
    if (const auto reason = s.text("reason")) {
      e.reason = *reason;
    } else {
      for (const Value& row : s.list("spatial")) {
        e.spatial.emplace_back();
        for (std::size_t i = 0; row.is_sequence() && i < row.size(); ++i) {
          const std::vector<double> loop = numbers(row[i], 1e15, findings);
          if (loop.size() == 3)
            e.spatial.back().push_back({.dimension = static_cast<std::size_t>(loop[0]),
                                        .factor = static_cast<std::int64_t>(loop[1]),
                                        .turn = static_cast<std::uint32_t>(loop[2])});
        }
      }
      for (const Value& row : s.list("order")) {
        const std::vector<double> loop = numbers(row, 1e15, findings);
        if (loop.size() == 2 && e.order.size() < kMaxLoops)
          e.order.push_back({static_cast<std::uint32_t>(std::min(loop[0], 1e6)), loop[1]});
      }
      const std::vector<Value> cuts = s.list("cuts"), doubled = s.list("doubled");
      for (std::size_t o = 0; o < kMaxOperands && o < cuts.size() && o < doubled.size(); ++o) {
        const std::vector<double> row = numbers(cuts[o], kMaxLoops, findings);
        for (std::size_t level = 0; level < kMaxMemories && level < row.size(); ++level)
          e.cuts[o][level] = static_cast<std::uint8_t>(row[level]);
        for (std::size_t level = 0; doubled[o].is_sequence() && level < kMaxMemories && level < doubled[o].size();
             ++level)
          e.doubled[o][level] =
              config::read_bool(doubled[o][level], "entry", config::Dialect::Strict, findings).value_or(false);
      }
      e.spatials = static_cast<std::size_t>(s.integer("spatials", {0, 1 << 30}).value_or(0));
      e.evaluated = static_cast<std::uint64_t>(s.integer("evaluated", {0, std::int64_t{1} << 60}).value_or(0));
      e.is_proven = s.boolean("proven").value_or(false);
      e.bound = {s.number("bound_energy_pj", {}).value_or(0), s.number("bound_latency_cycles", {}).value_or(0)};
    }
    s.finish();
    if (key) read.insert_or_assign(*key, std::move(e));
  }
  findings.throw_if_failed();
  const std::unique_lock lock(mutex_);
  entries_.merge(read);
}

}  // namespace monet::cost
