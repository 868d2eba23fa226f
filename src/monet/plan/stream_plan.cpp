#include "monet/plan/stream_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <utility>

#include "monet/base/config_section.h"
#include "monet/base/nearest.h"
#include "monet/cost/zigzag_files.h"

namespace monet::plan {
namespace {

using config::Findings;
using config::Value;

// The value of an entry and of what stands in it: the reader of mappings keeps no places.
struct Entry {
  std::string name{};
  std::optional<Value> value{};
  const cost::Allocation* allocation = nullptr;

  std::optional<Value> field(std::string_view key) const {
    const std::optional<Value> found = value && value->is_map() ? value->find(key) : std::nullopt;
    return found && !found->is_null() ? found : std::nullopt;
  }
};

// Items of a list, and of lists in it.
std::vector<Value> flat(const std::optional<Value>& list) {
  std::vector<Value> items;
  if (!list) return items;
  if (!list->is_sequence()) return {*list};
  for (std::size_t i = 0; i < list->size(); ++i) {
    const Value item = (*list)[i];
    if (!item.is_sequence()) {
      items.push_back(item);
      continue;
    }
    for (std::size_t k = 0; k < item.size(); ++k) items.push_back(item[k]);
  }
  return items;
}

// D6, Conv.D0: loops as Stream of 2026 counts them.
bool is_numbered(std::string_view dimension) {
  const std::size_t dot = dimension.rfind('.');
  if (dot != std::string_view::npos) dimension.remove_prefix(dot + 1);
  return dimension.size() > 1 && dimension[0] == 'D' &&
         dimension.find_first_not_of("0123456789", 1) == std::string_view::npos;
}

class StreamReader {
 public:
  StreamReader(const Value& root, const StreamContext& context, ParsedPlan& parsed, Findings& findings)
      : root_(root), context_(context), parsed_(parsed), findings_(findings) {}

  void run() {
    file_ = cost::read_mapping(root_, findings_);
    if (findings_.failed()) return;
    std::map<std::string_view, const cost::Allocation*> allocations;
    for (const cost::Allocation& allocation : file_.allocations) allocations.emplace(allocation.name, &allocation);
    const std::optional<Value> list = root_.is_map() ? root_.find("layers") : root_;
    std::vector<std::string> names;  // in the order of the file
    for (std::size_t i = 0; list && list->is_sequence() && i < list->size(); ++i) {
      const std::optional<Value> name = (*list)[i].find("name");
      if (!name || entries_.contains(std::string(name->text()))) continue;  // of several the first one counts
      Entry entry{.name = std::string(name->text()), .value = (*list)[i]};
      warn_of_mapping(entry);
      const auto found = allocations.find(entry.name);
      if (found == allocations.end()) continue;
      entry.allocation = found->second;
      names.push_back(entry.name);
      entries_.emplace(entry.name, std::move(entry));
    }
    for (const std::string& name : names) check_cores(entries_.at(name));
    if (findings_.failed()) return;
    for (const std::string& name : names) check_splits(entries_.at(name));
    for (const StreamNode& node : context_.nodes) types_.insert(node.types.begin(), node.types.end());
    for (const StreamNode& node : context_.nodes)
      if (const Entry* entry = entry_for(node)) plan_node(node, *entry);
    warn_unused(names);
    add_groups();
  }

 private:
  void warn_of_mapping(const Entry& entry) {
    for (const std::string_view key :
         {"spatial_mapping", "spatial_mapping_hint", "temporal_ordering", "memory_operand_links"})
      if (const std::optional<Value> at = entry.field(key))
        findings_.warning(*at, fmt::format("'{}' is not taken over: a plan does not say how a core is filled", key),
                          "unrollings stand in the hardware file, orders are searched");
  }

  void check_cores(const Entry& entry) {
    const std::vector<Value> items = flat(entry.field("core_allocation"));
    for (const Value& item : items) {
      const config::NumberReading id = config::read_number(item.text(), config::Dialect::PyYaml);
      if (!id.number || !id.number->whole || *id.number->whole < 0) continue;  // the reader said so
      const auto core = static_cast<std::size_t>(*id.number->whole);
      if (core >= context_.cores.size())
        findings_.error(item, fmt::format("there is no core {}", core),
                        context_.cores.empty() ? "" : fmt::format("cores are 0 to {}", context_.cores.size() - 1));
      else if (context_.offchip == core)
        findings_.error(item, fmt::format("core {} is the off-chip memory '{}'", core, context_.cores[core]),
                        "give cores that compute");
    }
    if (entry.allocation->cores.size() > 1)
      findings_.warning(*entry.field("core_allocation"), "cores in several groups are taken as one list");
  }

  void check_splits(const Entry& entry) {
    for (const std::string_view key : {"intra_core_tiling", "inter_core_tiling"})
      for (const cost::Tiling& tiling :
           key == "intra_core_tiling" ? entry.allocation->intra_core : entry.allocation->inter_core)
        if (is_numbered(tiling.dimension)) {
          findings_.warning(*entry.field(key),
                            fmt::format("'{}' counts loops as Stream of 2026 does and is not taken over",
                                        tiling.dimension.substr(0, kNameShown)),
                            "name them: B, G, K, C, OX, OY, FX, FY, H, D");
          break;
        }
    const Entry& inter = inter_of(entry);
    const std::size_t cores = cores_of(entry).size();
    double parts = 1;
    for (const cost::Tiling& tiling : inter.allocation->inter_core) {
      if (is_numbered(tiling.dimension)) return;
      if (!tiling.factor && &inter == &entry && cores > 1)
        findings_.warning(
            *entry.field("inter_core_tiling"),
            fmt::format("over how many cores '{}' is cut is left open", tiling.dimension.substr(0, kNameShown)),
            fmt::format("all {} are taken; Stream searches", cores));
      parts *= tiling.factor ? static_cast<double>(*tiling.factor) : static_cast<double>(cores);
    }
    const std::optional<Value> at = entry.field("core_allocation");
    if (at && cuts_channels(entry))
      findings_.warning(*at, "no 'inter_core_tiling' says how it is cut over these cores",
                        fmt::format("it is taken to be 'K, {}'", cores));
    else if (at && parts < static_cast<double>(cores))
      findings_.warning(*at,
                        fmt::format("{} for {} cores: which of them run is left open",
                                    parts == 1 ? std::string("one part") : fmt::format("{} parts", parts), cores),
                        "nodes are dealt out to them in turn; Stream searches");
  }

  // Fixed cores are one for each part, and parts are of channels where nothing else is said.
  bool cuts_channels(const Entry& entry) const {
    return entry.allocation->is_fixed && inter_of(entry).allocation->inter_core.empty() && cores_of(entry).size() > 1;
  }

  // An entry without tilings has those of `default`.
  const Entry& inter_of(const Entry& entry) const {
    const Entry* const otherwise = find("default");
    return entry.allocation->inter_core.empty() && otherwise ? *otherwise : entry;
  }
  const Entry& intra_of(const Entry& entry) const {
    const Entry* const otherwise = find("default");
    return entry.allocation->intra_core.empty() && otherwise ? *otherwise : entry;
  }

  // None given: core 0.
  std::vector<std::size_t> cores_of(const Entry& entry) const {
    std::vector<std::size_t> cores;
    for (const std::vector<std::int64_t>& group : entry.allocation->cores)
      for (const std::int64_t id : group) cores.push_back(static_cast<std::size_t>(id));
    if (cores.empty() && !context_.cores.empty()) cores.push_back(0);
    return cores;
  }

  const Entry* find(const std::string& name) const {
    const auto found = entries_.find(name);
    return found == entries_.end() ? nullptr : &found->second;
  }

  // By name, by the name of what it was made of ("softmax" of "softmax.max", "conv1" of "conv1.gradient"), by operator
  // type, by default.
  const Entry* entry_for(const StreamNode& node) const {
    if (const Entry* entry = find(node.name)) return entry;
    for (std::size_t end = node.name.rfind('.'); end != std::string::npos && end > 0;
         end = node.name.rfind('.', end - 1)) {
      const std::string name = node.name.substr(0, end);
      if (name == "default" || types_.contains(name)) continue;
      if (const Entry* entry = find(name)) return entry;
    }
    for (const std::string& type : node.types)
      if (const Entry* entry = find(type)) return entry;
    return node.only_moves ? nullptr : find("default");
  }

  void plan_node(const StreamNode& node, const Entry& entry) {
    used_.insert(entry.name);
    const Entry &intra = intra_of(entry), &inter = inter_of(entry);
    const std::string part = "nodes/" + node.name;
    NodePlan plan{.node = node.name};
    parsed_.places[part] = entry.value->find("name")->at();
    for (const std::size_t core : cores_of(entry))
      if (core < context_.cores.size()) plan.cores.push_back(context_.cores[core]);
    if (const std::optional<Value> at = entry.field("core_allocation")) parsed_.places[part + "/cores"] = at->at();

    const auto cores = static_cast<std::int64_t>(plan.cores.size());
    for (const cost::Tiling& tiling : inter.allocation->inter_core)
      add_split(node, inter, tiling, cores, {}, plan.across);
    if (cuts_channels(entry)) add_split(node, entry, {.dimension = "K"}, cores, {}, plan.across);
    // The first one is the innermost loop in Stream.
    const std::vector<cost::Tiling>& tilings = intra.allocation->intra_core;
    for (auto tiling = tilings.rbegin(); tiling != tilings.rend(); ++tiling)
      add_split(node, intra, *tiling, {}, plan.across, plan.tiles);
    drop_unbound(node, intra, plan);
    take_turns(node, entry, plan);
    note_splits(inter, "inter_core_tiling", part + "/across");
    note_splits(intra, "intra_core_tiling", part + "/tiles");
    parsed_.plan.nodes.push_back(std::move(plan));
  }

  // Fewer parts than cores: the next ones. A node without any of the loops is cut over all of them by default.
  void take_turns(const StreamNode& node, const Entry& entry, NodePlan& plan) {
    const std::vector<cost::Tiling>& tilings = inter_of(entry).allocation->inter_core;
    const bool is_meant =
        std::any_of(tilings.begin(), tilings.end(), [&](const cost::Tiling& t) { return dimension(node, t); });
    double parts = 1;
    for (const Split& split : plan.across) parts *= static_cast<double>(split.parts);
    if (!is_meant || parts >= static_cast<double>(plan.cores.size())) return;
    const std::vector<std::string> all = std::exchange(plan.cores, {});
    std::size_t& next = next_[entry.name];
    for (; parts > 0; --parts) plan.cores.push_back(all[next++ % all.size()]);
  }

  void note_splits(const Entry& entry, std::string_view key, const std::string& part) {
    if (const std::optional<Value> at = entry.field(key)) parsed_.places[part] = at->at();
  }

  static const StreamDimension* dimension(const StreamNode& node, const cost::Tiling& tiling) {
    const auto found = std::find_if(node.dimensions.begin(), node.dimensions.end(),
                                    [&](const StreamDimension& d) { return d.name == tiling.dimension; });
    return found == node.dimensions.end() ? nullptr : &*found;
  }

  // Dimensions that the layer does not have are passed over, as Stream does. `open`: parts where the file gives none;
  // all of the loop if there are none either. What other cores take of the loop cannot be cut here.
  void add_split(const StreamNode& node, const Entry& entry, const cost::Tiling& tiling,
                 std::optional<std::int64_t> open, const std::vector<Split>& across, std::vector<Split>& to) {
    const StreamDimension* const found = dimension(node, tiling);
    if (!found) return;
    const Loop& loop = found->loop;
    std::int64_t most = std::max<std::int64_t>(loop.size, 1);
    for (const Split& split : across)
      if (split.loop == loop.name) most = std::max<std::int64_t>(1, most / split.parts);
    const std::int64_t parts = std::min(most, std::max<std::int64_t>(1, tiling.factor.value_or(open.value_or(most))));
    if (parts == 1) return;
    if (loop.kind == LoopKind::Fixed) return warn_uncut(node, entry, loop.name, loop.why);
    const auto twice = std::find_if(to.begin(), to.end(), [&](const Split& s) { return s.loop == loop.name; });
    if (twice != to.end()) {  // two factors of one loop are one
      std::int64_t product = 0;
      twice->parts = __builtin_mul_overflow(twice->parts, parts, &product) ? most : std::min(most, product);
      return;
    }
    to.push_back({.loop = loop.name, .parts = parts});
  }

  // Channels of groups are cut only where every group is a part of its own.
  void drop_unbound(const StreamNode& node, const Entry& entry, NodePlan& plan) {
    const auto parts_of = [&](const std::string& loop) {
      std::int64_t parts = 1;
      for (const auto* list : {&plan.across, &plan.tiles})
        for (const Split& split : *list)
          if (split.loop == loop) parts *= split.parts;  // at most the size of the loop
      return parts;
    };
    for (const StreamDimension& d : node.dimensions) {
      if (d.loop.within.empty() || parts_of(d.loop.name) == 1) continue;
      const auto outer = std::find_if(node.dimensions.begin(), node.dimensions.end(),
                                      [&](const StreamDimension& o) { return o.loop.name == d.loop.within; });
      if (outer == node.dimensions.end() || parts_of(d.loop.within) == outer->loop.size) continue;
      for (auto* list : {&plan.across, &plan.tiles})
        std::erase_if(*list, [&](const Split& split) { return split.loop == d.loop.name; });
      warn_uncut(node, entry, d.loop.name, fmt::format("only where each step of {} is a part", d.loop.within));
    }
  }

  // Once for an entry.
  void warn_uncut(const StreamNode& node, const Entry& entry, const std::string& loop, std::string_view why) {
    if (!uncut_.insert(entry.name).second) return;
    findings_.warning(
        *entry.value,
        fmt::format("loop {} of node '{}' cannot be cut and is left whole", loop, node.name.substr(0, kNameShown)),
        std::string(why));
  }

  // Files list operator types that a model need not have; names of nodes are another matter.
  void warn_unused(const std::vector<std::string>& names) {
    std::vector<const Entry*> unused;
    for (const std::string& name : names) {
      const bool is_type =
          name.empty() || (name[0] >= 'A' && name[0] <= 'Z' &&
                           std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) != 0; }));
      if (!used_.contains(name) && !is_type && name != "default") unused.push_back(&entries_.at(name));
    }
    if (unused.empty()) return;
    std::vector<std::string> known;
    for (const StreamNode& node : context_.nodes) known.push_back(node.name);
    const std::string& first = unused[0]->name;
    const std::string more = unused.size() == 1   ? ""
                             : unused.size() == 2 ? ", nor that of another entry"
                                                  : fmt::format(", nor those of {} more entries", unused.size() - 1);
    findings_.warning(*unused[0]->value->find("name"),
                      fmt::format("there is no node '{}'{}", first.substr(0, kNameShown), more),
                      did_you_mean(first, known));
  }

  // Of 2026: groups of layers by name. By operator type they say which kinds, not which nodes.
  void add_groups() {
    const std::optional<Value> list = root_.is_map() ? root_.find("fused_groups") : std::nullopt;
    std::set<std::string> names, taken;
    for (const StreamNode& node : context_.nodes) names.insert(node.name);
    for (std::size_t i = 0; list && list->is_sequence() && i < list->size() && i < file_.groups.size(); ++i) {
      const cost::FusedGroup& group = file_.groups[i];
      std::set<std::string> members;
      const bool are_nodes = std::all_of(group.layers.begin(), group.layers.end(), [&](const std::string& layer) {
        return names.contains(layer) && !taken.contains(layer) && members.insert(layer).second;
      });
      if (!are_nodes || group.layers.empty()) {
        findings_.warning((*list)[i], fmt::format("group '{}' is not taken over", group.name.substr(0, kNameShown)),
                          "its layers must be names of nodes that no other group has");
        continue;
      }
      if (!group.intra_core.empty())
        findings_.warning((*list)[i],
                          fmt::format("how group '{}' is cut is not taken over", group.name.substr(0, kNameShown)),
                          "give the nodes an 'intra_core_tiling'");
      taken.merge(members);
      parsed_.places[fmt::format("groups/{}", parsed_.plan.groups.size())] = (*list)[i].at();
      parsed_.plan.groups.push_back({.nodes = group.layers});
    }
  }

  const Value root_;
  const StreamContext& context_;
  ParsedPlan& parsed_;
  Findings& findings_;
  cost::MappingFile file_;
  std::map<std::string, Entry> entries_;
  std::set<std::string> types_, used_, uncut_;
  std::map<std::string, std::size_t> next_;  // core of an entry whose turn it is
};

}  // namespace

ParsedPlan parse_stream_plan(std::string_view text, const std::string& path, const StreamContext& context) {
  const config::Tree tree = config::parse(text, path);
  ParsedPlan parsed{.file = path};
  Findings findings;
  if (!cost::looks_like_mapping(tree.root()))
    findings.error(tree.root(), "not a mapping file of Stream",
                   "a list of entries with 'name' and 'core_allocation', or a map with 'layers'");
  else
    StreamReader(tree.root(), context, parsed, findings).run();
  findings.throw_if_failed();
  parsed.warnings = findings.list();
  std::stable_sort(parsed.warnings.begin(), parsed.warnings.end(), [](const Diagnostic& a, const Diagnostic& b) {
    return std::pair(a.line, a.column) < std::pair(b.line, b.column);
  });
  return parsed;
}

}  // namespace monet::plan
