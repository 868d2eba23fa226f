#include "monet/schedule/stream_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "monet/base/config_section.h"

namespace monet::schedule {
namespace {

using config::Value;

constexpr std::size_t kMostCores = 4096;
constexpr std::int64_t kMostUses = 1'000'000'000;

// Names and numbers of the file as dense indices.
template <class Key>
class Index {
 public:
  std::uint32_t add(const Key& key) {
    return map_.try_emplace(key, static_cast<std::uint32_t>(map_.size())).first->second;
  }
  std::optional<std::uint32_t> find(const Key& key) const {
    const auto at = map_.find(key);
    return at == map_.end() ? std::nullopt : std::optional(at->second);
  }

 private:
  std::map<Key, std::uint32_t> map_;
};

class Reader {
 public:
  Reader(const Value& root, config::Findings& findings) : root_(root), findings_(findings) {}
  StreamCase read();

 private:
  // A missing or misshapen value is reported once; what is returned then does not matter.
  std::optional<Value> get(const Value& map, std::string_view key) {
    const auto value = map.is_map() ? map.find(key) : std::nullopt;
    if (!value) findings_.error(map, fmt::format("'{}' is missing", key), "it is part of every schedule file");
    return value;
  }
  double number(const Value& map, std::string_view key) {
    const auto value = get(map, key);
    return value ? as_number(*value, key) : 0;
  }
  double as_number(const Value& value, std::string_view what) {
    return config::read_number(value, what, config::NumberRange{}, config::Dialect::PyYaml, findings_).value_or(0);
  }
  std::int64_t integer(const Value& map, std::string_view key) {
    const auto value = get(map, key);
    return value ? as_integer(*value, key) : 0;
  }
  // Stream writes whole numbers with a point, too.
  std::int64_t as_integer(const Value& value, std::string_view what) {
    constexpr double kMost = 1e15;
    const double number = as_number(value, what);
    if (std::abs(number) <= kMost && number == std::trunc(number)) return static_cast<std::int64_t>(number);
    findings_.error(value, fmt::format("'{}' must be a whole number of at most 15 digits", what));
    return 0;
  }
  std::int64_t positive(const Value& map, std::string_view key) {
    const std::int64_t number = integer(map, key);
    if (number < 0) findings_.error(map, fmt::format("'{}' must not be negative", key));
    return number;
  }
  double not_negative(const Value& map, std::string_view key) {
    const double value = number(map, key);
    if (value < 0) findings_.error(map, fmt::format("'{}' must not be negative", key));
    return value;
  }
  std::string text(const Value& map, std::string_view key) {
    const auto value = get(map, key);
    return value ? config::read_text(*value, key, findings_).value_or("") : "";
  }
  std::vector<Value> list(const Value& map, std::string_view key) {
    const auto value = get(map, key);
    std::vector<Value> out;
    if (!value) return out;
    if (!value->is_sequence()) {
      findings_.error(*value, fmt::format("'{}' must be a list", key));
      return out;
    }
    for (std::size_t i = 0; i < value->size(); ++i) out.push_back((*value)[i]);
    return out;
  }
  bool has_items(const Value& value, std::size_t count, std::string_view what) {
    if (value.is_sequence() && value.size() >= count) return true;
    findings_.error(value, fmt::format("{} must have {} items", what, count));
    return false;
  }
  std::uint32_t known(std::optional<std::uint32_t> index, const Value& at, std::string_view what) {
    if (!index) findings_.error(at, fmt::format("there is no such {}", what), "it must be listed in the same file");
    return index.value_or(0);
  }
  std::uint32_t slot(const std::string& name) {
    const std::uint32_t index = slots_.add(name);
    if (index == problem().slots.size()) problem().slots.push_back(name);
    return index;
  }
  std::uint32_t operand(const std::string& name) {
    const std::uint32_t index = operands_.add(name);
    if (index == problem().operands.size()) problem().operands.push_back(name);
    return index;
  }
  std::uint32_t dimension(std::string_view name) {
    const std::uint32_t index = dimensions_.add(std::string(name));
    if (index == problem().dimensions.size()) problem().dimensions.emplace_back(name);
    return index;
  }
  std::optional<std::uint32_t> tile_at(const Value& layer, const Value& sub) {
    return tiles_.find({as_integer(layer, "layer"), as_integer(sub, "tile")});
  }
  StreamRange range(const Value& value) {
    if (!has_items(value, 2, "a range")) return {};
    const StreamRange out{as_integer(value[0], "range"), as_integer(value[1], "range")};
    if (out.begin >= out.end) findings_.error(value, "a range must end after it begins");
    return out;
  }
  StreamProblem& problem() { return case_.problem; }

  void read_cores();
  void read_links();
  void read_tile(const Value& node);
  void read_operands(const Value& node, StreamTile& tile);
  void read_tensor(const Value& tensor, StreamOperand& o);
  void read_edges();
  void read_order();
  void read_expected();

  Value root_;
  config::Findings& findings_;
  StreamCase case_;
  Index<std::int64_t> cores_, physical_;
  Index<std::string> slots_, operands_, dimensions_;
  Index<std::pair<std::int64_t, std::int64_t>> tiles_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> tensors_;  // by owner and operand
  Index<std::tuple<std::int64_t, std::uint32_t, std::vector<StreamRange>>> contents_;
  std::vector<std::int64_t> layers_;  // of the tiles
};

void Reader::read_cores() {
  std::map<std::string, std::uint32_t> shared;
  for (const Value& core : list(root_, "cores")) {
    StreamCore out{.id = integer(core, "id")};
    cores_.add(out.id);
    for (const Value& memory : list(core, "top_memories")) {
      StreamMemory m{.name = text(memory, "name"),
                     .size = positive(memory, "size"),
                     .read_pj = number(memory, "r_cost"),
                     .write_pj = number(memory, "w_cost")};
      for (const Value& name : list(memory, "operands")) m.slots.push_back(slot(std::string(name.text())));
      const std::vector<Value> ports = list(memory, "ports");
      if (ports.empty() || !has_items(ports[0], 3, "a port [name, least, most bits a cycle]")) continue;
      m.min_bits = as_number(ports[0][1], "bandwidth");
      m.max_bits = as_number(ports[0][2], "bandwidth");
      if (m.min_bits <= 0 || m.max_bits <= 0) findings_.error(ports[0], "bandwidths must be positive");
      auto index = static_cast<std::uint32_t>(problem().memories.size());
      // Cores that name the same instance share it.
      if (const auto instance = memory.find("instance"))
        index = shared.try_emplace(std::string(instance->text()), index).first->second;
      if (index == problem().memories.size()) problem().memories.push_back(std::move(m));
      out.memories.push_back(index);
    }
    problem().cores.push_back(std::move(out));
  }
  if (const auto offchip = get(root_, "offchip_core"))
    problem().offchip = known(cores_.find(as_integer(*offchip, "offchip_core")), *offchip, "core");
}

void Reader::read_links() {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> edges;
  for (const Value& link : list(root_, "links")) {
    const std::uint32_t index = physical_.add(integer(link, "physical_link"));
    if (index == problem().links.size())
      problem().links.push_back({.bandwidth = number(link, "bandwidth"), .unit_pj = number(link, "unit_energy")});
    if (!(problem().links[index].bandwidth > 0)) findings_.error(link, "'bandwidth' must be positive");
    const auto from = get(link, "from"), to = get(link, "to");
    if (!from || !to) continue;
    edges[{known(cores_.find(as_integer(*from, "from")), *from, "core"),
           known(cores_.find(as_integer(*to, "to")), *to, "core")}] = index;
  }
  const std::size_t n = problem().cores.size();
  if (n > kMostCores) {
    findings_.error(root_, fmt::format("{} cores are more than {}", n, kMostCores));
    return;
  }
  problem().paths.assign(n, std::vector<std::vector<std::uint32_t>>(n));
  const auto paths = get(root_, "first_shortest_path");
  for (std::size_t i = 0; paths && i < paths->size(); ++i) {
    const Value path = (*paths)[i];
    std::vector<std::uint32_t> cores;
    for (std::size_t k = 0; path.is_sequence() && k < path.size(); ++k)
      cores.push_back(known(cores_.find(as_integer(path[k], "core")), path[k], "core"));
    if (cores.empty()) continue;
    std::vector<std::uint32_t>& out = problem().paths[cores.front()][cores.back()];
    for (std::size_t k = 1; k < cores.size(); ++k) {
      const auto at = edges.find({cores[k - 1], cores[k]});
      if (at == edges.end())
        findings_.error(path, "this path uses a link that is not there", "every step must be one of 'links'");
      else
        out.push_back(at->second);
    }
  }
}

void Reader::read_tensor(const Value& tensor, StreamOperand& o) {
  const std::vector<Value> owner = list(tensor, "owner");
  if (owner.size() < 2) return;
  const std::uint32_t owner_tile = known(tile_at(owner[0], owner[1]), tensor, "tile");
  const auto [at, is_new] =
      tensors_.try_emplace({owner_tile, o.operand}, static_cast<std::uint32_t>(problem().tensors.size()));
  o.tensor = at->second;
  if (!is_new) return;
  StreamTensor t{.owner = owner_tile, .operand = o.operand, .bits = positive(tensor, "bits")};
  for (const Value& d : list(tensor, "dims")) t.dimensions.push_back(dimension(d.text()));
  for (const Value& r : list(tensor, "ranges")) t.ranges.push_back(range(r));
  if (t.ranges.size() != t.dimensions.size()) findings_.error(tensor, "one range is needed for each dimension");
  if (const auto base = tensor.find("base_priority"); base && !base->is_null())
    t.base_priority = std::clamp(as_integer(*base, "base_priority"), -kMostUses, kMostUses);
  t.content = contents_.add({layers_[owner_tile], t.operand, t.ranges});
  problem().tensors.push_back(std::move(t));
}

void Reader::read_operands(const Value& node, StreamTile& tile) {
  const auto slots = get(node, "memory_links");
  const auto tensors = get(node, "tensors");
  if (!slots || !tensors || !slots->is_map() || !tensors->is_map()) return;
  std::vector<Value> partly;
  if (node.find("partially_constant_operands")) partly = list(node, "partially_constant_operands");
  const std::vector<Value> constants = list(node, "constant_operands");
  const auto names = [](const std::vector<Value>& all, std::string_view name) {
    return std::any_of(all.begin(), all.end(), [&](const Value& v) { return v.text() == name; });
  };
  bool has_output = false;
  for (std::size_t i = 0; i < tensors->size(); ++i) {
    const std::string name(tensors->key(i).text());
    const auto link = slots->find(name);
    if (!link) {
      findings_.error(tensors->key(i), fmt::format("'memory_links' does not say where {} goes", name));
      continue;
    }
    StreamOperand o{.operand = operand(name), .slot = slot(std::string(link->text()))};
    o.is_constant = names(constants, name) || names(partly, name);
    read_tensor((*tensors)[i], o);
    if (name == "O") {
      tile.output = static_cast<std::uint32_t>(tile.operands.size());
      has_output = true;
    }
    tile.operands.push_back(o);
  }
  if (!has_output) findings_.error(*tensors, "a tile must have an output 'O'");
  for (const Value& c : constants)
    for (std::uint32_t i = 0; i < tile.operands.size(); ++i)
      if (problem().operands[tile.operands[i].operand] == c.text()) tile.constants.push_back(i);
}

void Reader::read_tile(const Value& node) {
  StreamTile tile{.layer = integer(node, "id"), .sub = integer(node, "sub_id")};
  if (const auto core = get(node, "core")) tile.core = known(cores_.find(as_integer(*core, "core")), *core, "core");
  if (const auto ranges = get(node, "ranges"); ranges && ranges->is_map())
    for (std::size_t i = 0; i < ranges->size(); ++i)
      tile.ranges.emplace_back(dimension(ranges->key(i).text()), range((*ranges)[i]));
  for (const Value& cut : list(node, "intra_core_tiling"))
    if (has_items(cut, 2, "a tiling [dimension, factor]")) tile.intra.push_back(dimension(cut[0].text()));
  for (const Value& cut : list(node, "inter_core_tiling")) {
    if (!has_items(cut, 2, "a tiling [dimension, factor]")) continue;
    if (cut[1].text() == "*") {  // left open: counts as no split at all
      tile.split = 1;
      break;
    }
    tile.split *= std::max<std::int64_t>(1, as_integer(cut[1], "factor"));
  }
  tile.is_final = text(node, "produces_final_output") == "true";
  tile.runtime = not_negative(node, "runtime");
  tile.onchip_pj = number(node, "onchip_energy");
  tile.offchip_pj = number(node, "offchip_energy");
  read_operands(node, tile);
  const auto bandwidths = get(node, "offchip_bw");
  for (const Value& large : list(node, "too_large_operands")) {
    const auto rates = bandwidths && bandwidths->is_map() ? bandwidths->find(large.text()) : std::nullopt;
    if (!rates) {
      findings_.error(large, "'offchip_bw' has no bandwidth for this operand");
      continue;
    }
    tile.too_large.push_back(
        {slot(std::string(large.text())), number(*rates, large.text() == "O" ? "wr_in_by_low" : "rd_out_to_low")});
  }
  problem().tiles.push_back(std::move(tile));
}

void Reader::read_edges() {
  for (const Value& edge : list(root_, "edges_src_dst_operand_bits")) {
    if (!has_items(edge, 5, "an edge [layer, tile, layer, tile, operand, bits]")) continue;
    StreamEdge e{.from = known(tile_at(edge[0], edge[1]), edge, "tile"),
                 .to = known(tile_at(edge[2], edge[3]), edge, "tile")};
    if (!edge[4].is_null()) e.operand = known(operands_.find(std::string(edge[4].text())), edge[4], "operand");
    problem().edges.push_back(e);
  }
}

void Reader::read_order() {
  std::vector<bool> seen(problem().tiles.size(), false);
  for (const Value& entry : list(root_, "scheduling_order")) {
    if (!has_items(entry, 2, "an entry [layer, tile]")) continue;
    const std::uint32_t tile = known(tile_at(entry[0], entry[1]), entry, "tile");
    if (tile < seen.size() && seen[tile]) findings_.error(entry, "this tile is listed twice");
    if (tile < seen.size()) seen[tile] = true;
    problem().order.push_back(tile);
  }
  if (problem().order.size() != problem().tiles.size())
    findings_.error(
        root_, fmt::format("'scheduling_order' lists {} of {} tiles", problem().order.size(), problem().tiles.size()),
        "it must list each once");
}

void Reader::read_expected() {
  StreamResult& out = case_.expected;
  for (const Value& node : list(root_, "nodes")) {
    out.start.push_back(number(node, "start"));
    out.end.push_back(number(node, "end"));
  }
  for (const Value& event : list(root_, "comm_events")) {
    StreamEvent e{.is_block = text(event, "type") == "block",
                  .start = number(event, "start"),
                  .end = number(event, "end"),
                  .from = known(cores_.find(integer(event, "from")), event, "core"),
                  .to = known(cores_.find(integer(event, "to")), event, "core"),
                  .bits = integer(event, "bits"),
                  .hops = static_cast<std::uint32_t>(integer(event, "hops")),
                  .activity = number(event, "activity"),
                  .energy_pj = number(event, "energy")};
    const std::vector<Value> tensor = list(event, "tensor");
    if (tensor.size() >= 3) {
      e.owner = known(tile_at(tensor[0], tensor[1]), event, "tile");
      e.operand = known(operands_.find(std::string(tensor[2].text())), event, "operand");
    }
    out.events.push_back(e);
  }
  const auto result = get(root_, "result");
  if (!result) return;
  out.latency = number(*result, "latency");
  out.energy_pj = number(*result, "energy");
  out.onchip_pj = number(*result, "total_cn_onchip_energy");
  constexpr std::array<std::string_view, kStreamBuckets> kNames{"cn_offchip", "eviction_to_offchip",
                                                                "sink_layer_output_offchip", "core_to_core"};
  for (std::size_t b = 0; b < kStreamBuckets; ++b) {
    out.link_pj[b] = number(*result, fmt::format("total_{}_link_energy", kNames[b]));
    out.memory_pj[b] = number(*result, fmt::format("total_{}_memory_energy", kNames[b]));
  }
}

StreamCase Reader::read() {
  read_cores();
  if (problem().cores.empty()) findings_.error(root_, "there are no cores");
  if (findings_.failed()) return std::move(case_);
  read_links();
  const std::vector<Value> nodes = list(root_, "nodes");
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    layers_.push_back(integer(nodes[i], "id"));
    if (tiles_.add({layers_.back(), integer(nodes[i], "sub_id")}) != i)
      findings_.error(nodes[i], "there are two tiles of this number");
  }
  if (findings_.failed()) return std::move(case_);
  for (const Value& node : nodes) read_tile(node);
  problem().output_slot = slot("O");
  read_edges();
  read_order();
  read_expected();
  return std::move(case_);
}

}  // namespace

StreamCase read_stream_case(const Value& root, config::Findings& findings) { return Reader(root, findings).read(); }

}  // namespace monet::schedule
