// Mapping files: lists of ZigZag and of Stream up to 2025, and the `layers:` and `fused_groups:` of Stream 2026.
#include <fmt/format.h>

#include <algorithm>

#include "monet/base/config_section.h"
#include "monet/cost/zigzag_files.h"
#include "monet/hardware/stream_files.h"

namespace monet::cost {
namespace {

using config::Dialect;
using config::Findings;
using config::Section;
using config::Value;

constexpr config::IntegerRange kFactors{.least = 1, .most = std::int64_t{1} << 40};
constexpr config::IntegerRange kCoreIds{.least = 0, .most = 1 << 20};

// "OY, all", "K, *", "K, 4", or {dim: D6, split: 4} and {dim: Conv.D0, tile: 1}.
std::optional<Tiling> read_tiling(const Value& value, Findings& findings) {
  if (value.is_map()) {
    Section s(value, "a tiling", Dialect::PyYaml, findings);
    Tiling tiling{.dimension = s.require_text("dim").value_or("")};
    const std::optional<std::int64_t> split = s.integer("split", kFactors), tile = s.integer("tile", kFactors);
    if (!split && !tile && !s.has("split") && !s.has("tile"))
      findings.error(value, "a tiling has neither 'split' nor 'tile'");
    tiling.factor = split ? split : tile;
    s.finish();
    return tiling;
  }
  const std::optional<std::string> text = config::read_text(value, "tiling", findings);
  if (!text) return std::nullopt;
  const auto parts = hardware::split_pair(*text);
  if (parts && (parts->second == "all" || parts->second == "*")) return Tiling{.dimension = parts->first};
  const config::NumberReading factor = config::read_number(parts ? parts->second : "", Dialect::Strict);
  if (!parts || !factor.number || !factor.number->whole || *factor.number->whole < 1) {
    findings.error(value, fmt::format("'{}' is no tiling", text->substr(0, 40)),
                   "a dimension and a factor, as in 'K, 4' or 'OY, all'");
    return std::nullopt;
  }
  return Tiling{.dimension = parts->first, .factor = factor.number->whole};
}

// A list of tilings; in files of 2026 a list of such lists.
std::vector<Tiling> read_tilings(Section& s, std::string_view key) {
  std::vector<Tiling> tilings;
  const auto add = [&](const Value& item) {
    if (std::optional<Tiling> tiling = read_tiling(item, s.findings())) tilings.push_back(std::move(*tiling));
  };
  for (const Value& item : s.list(key)) {
    if (item.is_sequence())
      for (std::size_t i = 0; i < item.size(); ++i) add(item[i]);
    else
      add(item);
  }
  return tilings;
}

Allocation read_allocation(Section& s, const std::string& name) {
  Allocation allocation{.name = name};
  std::vector<std::int64_t> flat;
  const auto id = [&](const Value& value, std::vector<std::int64_t>& to) {
    if (const std::optional<std::int64_t> core =
            config::read_integer(value, "core_allocation", kCoreIds, Dialect::PyYaml, s.findings()))
      to.push_back(*core);
  };
  for (const Value& item : s.list("core_allocation")) {
    if (!item.is_sequence()) {
      id(item, flat);
      continue;
    }
    allocation.cores.emplace_back();
    for (std::size_t i = 0; i < item.size(); ++i) id(item[i], allocation.cores.back());
  }
  if (!flat.empty()) allocation.cores.push_back(std::move(flat));
  allocation.is_fixed = s.boolean("core_allocation_is_fixed").value_or(false);
  allocation.inter_core = read_tilings(s, "inter_core_tiling");
  allocation.intra_core = read_tilings(s, "intra_core_tiling");
  return allocation;
}

void read_entry(const Value& value, MappingFile& file, Findings& findings) {
  Section s(value, "a mapping", Dialect::PyYaml, findings);
  MappingRequest request{.name = s.require_text("name").value_or("")};
  if (const std::optional<Value> at = s.find("spatial_mapping")) request.spatial = read_spatial_mapping(*at, findings);
  if (const std::optional<Value> at = s.find("spatial_mapping_hint")) request.hints = read_spatial_hints(*at, findings);
  if (const std::optional<Value> at = s.find("temporal_ordering")) request.ordering = read_ordering(*at, findings);
  if (const std::optional<Value> at = s.find("memory_operand_links")) request.slots = read_links(*at, findings);
  Allocation allocation = read_allocation(s, request.name);
  for (const std::string_view key : {"kernel", "kernel_name"}) s.find(key);  // of code generation
  s.finish();
  for (const MappingRequest& earlier : file.requests)
    if (earlier.name == request.name) {
      findings.warning(value, fmt::format("a second mapping is called '{}'", request.name), "the first one counts");
      break;
    }
  file.requests.push_back(std::move(request));
  if (allocation != Allocation{.name = allocation.name}) file.allocations.push_back(std::move(allocation));
}

void read_group(const Value& value, MappingFile& file, Findings& findings) {
  Section s(value, "a fused group", Dialect::PyYaml, findings);
  FusedGroup group{.name = s.require_text("name").value_or("")};
  s.require("layers");
  for (const Value& item : s.list("layers"))
    if (std::optional<std::string> name = config::read_text(item, "layers", findings))
      group.layers.push_back(std::move(*name));
  group.intra_core = read_tilings(s, "intra_core_tiling");
  s.finish();
  file.groups.push_back(std::move(group));
}

bool is_star(const Value& value) { return value.is_scalar() && value.text() == "*"; }

}  // namespace

Named<std::vector<hardware::Unrolling>> read_spatial_mapping(const Value& value, Findings& findings) {
  Named<std::vector<hardware::Unrolling>> mapping;
  Section s(value, "the spatial mapping", Dialect::PyYaml, findings);
  for (std::size_t i = 0; value.is_map() && i < value.size(); ++i) {
    const std::string dimension(value.key(i).text());
    std::vector<hardware::Unrolling> loops = hardware::read_loops(value[i], "spatial_mapping", findings);
    const auto found =
        std::find_if(mapping.begin(), mapping.end(), [&](const auto& entry) { return entry.first == dimension; });
    if (found == mapping.end())
      mapping.emplace_back(dimension, std::move(loops));
    else
      found->second = std::move(loops);
  }
  return mapping;
}

Named<std::vector<std::string>> read_spatial_hints(const Value& value, Findings& findings) {
  Named<std::vector<std::string>> hints;
  Section s(value, "the spatial mapping hint", Dialect::PyYaml, findings);
  for (std::size_t i = 0; value.is_map() && i < value.size(); ++i) {
    std::vector<std::string> names;
    for (const Value& item : s.list(value.key(i).text()))
      if (std::optional<std::string> name = config::read_text(item, "spatial_mapping_hint", findings))
        names.push_back(std::move(*name));
    hints.emplace_back(std::string(value.key(i).text()), std::move(names));
  }
  return hints;
}

std::vector<LoopPattern> read_ordering(const Value& value, Findings& findings) {
  std::vector<LoopPattern> ordering;
  if (!value.is_sequence()) {
    findings.error(value, fmt::format("'temporal_ordering' must be a list of [dimension, factor], not {}",
                                      describe(value.kind())));
    return ordering;
  }
  for (std::size_t i = 0; i < value.size(); ++i) {
    const Value loop = value[i];
    if (!loop.is_sequence() || loop.size() != 2 || !loop[0].is_scalar()) {
      findings.error(loop, "a loop of 'temporal_ordering' must be [dimension, factor], as in [K, 4] or [K, \"*\"]");
      continue;
    }
    LoopPattern pattern;
    if (!is_star(loop[0])) pattern.dimension = std::string(loop[0].text());
    if (!is_star(loop[1]))
      pattern.factor = config::read_integer(loop[1], "factor", kFactors, Dialect::PyYaml, findings);
    ordering.push_back(std::move(pattern));
  }
  return ordering;
}

Named<hardware::Slot> read_links(const Value& value, Findings& findings) {
  Named<hardware::Slot> links;
  Section s(value, "'memory_operand_links'", Dialect::PyYaml, findings);
  for (std::size_t i = 0; value.is_map() && i < value.size(); ++i) {
    const std::optional<hardware::Slot> slot = hardware::zigzag_slot(value[i].text());
    if (!slot)
      findings.error(value[i], fmt::format("unknown memory operand '{}'", value[i].text().substr(0, 40)),
                     "known: I1, I2, O");
    else
      links.emplace_back(std::string(value.key(i).text()), *slot);
  }
  return links;
}

bool looks_like_mapping(const Value& root) {
  if (root.is_map()) return root.find("layers") || root.find("fused_groups");
  if (!root.is_sequence() || root.size() == 0 || !root[0].is_map()) return false;
  if (root[0].find("equation") || root[0].find("loop_dims")) return false;
  for (const std::string_view key : {"spatial_mapping", "spatial_mapping_hint", "memory_operand_links",
                                     "temporal_ordering", "core_allocation", "intra_core_tiling", "inter_core_tiling"})
    if (root[0].find(key)) return true;
  return root[0].find("name").has_value();
}

MappingFile read_mapping(const Value& root, Findings& findings) {
  MappingFile file;
  if (root.is_sequence()) {
    for (std::size_t i = 0; i < root.size(); ++i) read_entry(root[i], file, findings);
    if (std::none_of(file.requests.begin(), file.requests.end(),
                     [](const MappingRequest& r) { return r.name == "default"; }))
      findings.warning(root, "there is no mapping called 'default'",
                       "layers of other names and operator types have none");
    return file;
  }
  Section s(root, "the mapping file", Dialect::PyYaml, findings);
  for (const Value& item : s.list("layers")) read_entry(item, file, findings);
  for (const Value& item : s.list("fused_groups")) read_group(item, file, findings);
  s.find("runtime_args");  // of code generation
  s.finish();
  return file;
}

const MappingRequest* find_request(const std::vector<MappingRequest>& requests, const Layer& layer) {
  for (const std::string& name : {layer.name, layer.operator_type, std::string("default")})
    for (const MappingRequest& request : requests)
      if (request.name == name) return &request;
  return nullptr;
}

ParsedMapping parse_mapping(std::string_view text, const std::string& path) {
  const config::Tree tree = config::parse(text, path);
  Findings findings;
  ParsedMapping parsed;
  if (!looks_like_mapping(tree.root()))
    findings.error(tree.root(), "not a mapping file",
                   "a list of entries with 'name' and 'spatial_mapping' or 'core_allocation', or a map with 'layers'");
  else
    parsed.file = read_mapping(tree.root(), findings);
  findings.throw_if_failed();
  parsed.warnings = findings.list();
  return parsed;
}

}  // namespace monet::cost
