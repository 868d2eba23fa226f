#include "monet/hardware/yaml.h"

#include <fmt/format.h>

#include <algorithm>

#include "monet/base/nearest.h"
#include "monet/hardware/yaml_fields.h"

namespace monet::hardware {
namespace {

using config::Dialect;
using config::Findings;
using config::Section;
using config::Value;

class MonetReader {
 public:
  MonetReader(const Value& root, Findings& findings)
      : root_(root), findings_(findings), s_(root, "the file", Dialect::Strict, findings) {}

  Hardware run() {
    if (const std::optional<std::string> form = s_.text("monet"); form && *form != "hardware")
      findings_.error(*s_.find("monet"), fmt::format("'{}' is no kind of file there is", form->substr(0, 40)),
                      "known: hardware");
    hardware_.name = s_.require_text("name").value_or("");
    hardware_.description = s_.text("description").value_or("");
    block_ = block_of(s_, {});
    hardware_.source = block_.source;
    const Figure unknown{.value = 0, .provenance = Provenance::Assumed, .source = "not stated"};
    hardware_.node_nm = above_zero("node", kLength)
                            .value_or(Figure{.value = 28, .provenance = Provenance::Assumed, .source = "not stated"});
    hardware_.clock_hz = above_zero("clock", kFrequency).value_or(unknown);
    hardware_.supply_v = read_figure(s_, "supply", kVoltage, block_).value_or(unknown);
    places_.note_fields("", root_, {{"node_nm", "node"}, {"clock_hz", "clock"}, {"supply_v", "supply"}});
    context_ = {.node_nm = hardware_.node_nm.value > 0 ? hardware_.node_nm.value : 28,
                .clock_hz = hardware_.clock_hz.value,
                .places = &places_,
                .findings = &findings_};
    cores();
    offchip();
    links();
    shared();
    efficiency();
    s_.finish();
    if (!findings_.failed()) report(hardware_, places_, root_, findings_);
    return std::move(hardware_);
  }

  const Places& places() const { return places_; }

 private:
  std::optional<Figure> above_zero(std::string_view key, const config::Quantity& quantity) {
    const std::optional<Figure> figure = read_figure(s_, key, quantity, block_);
    if (figure && figure->value == 0 && !findings_.failed()) {
      std::optional<Value> at = s_.find(key);
      for (const config::Unit& unit : quantity.units)
        if (!at && !unit.key.empty()) at = s_.find(fmt::format("{}{}", key, unit.key));
      findings_.error(at.value_or(root_), fmt::format("'{}' must be above zero", key),
                      "leave it out if nobody knows it");
    }
    return figure;
  }

  void cores() {
    const std::optional<Value> cores = s_.require("cores");
    if (!cores) return;
    Section repeated(*cores, "'cores'", Dialect::Strict, findings_);
    for (std::size_t i = 0; cores->is_map() && i < cores->size(); ++i) {
      const std::string name(cores->key(i).text());
      const std::size_t index = hardware_.cores.size();
      std::optional<std::int64_t> count;
      Core core = read_monet_core((*cores)[i], name, index, block_, context_, count);
      const auto copies = static_cast<std::size_t>(count.value_or(0));
      if (hardware_.cores.size() + copies > kMostCores) {
        findings_.error(cores->key(i), fmt::format("more than {} cores", kMostCores));
        return;
      }
      places_.note(core_path(index), cores->key(i));
      if (count) repeated_.push_back({name, index, copies});
      for (std::size_t k = 0; k < copies; ++k) {
        Core copy = core;
        copy.name = fmt::format("{}_{}", name, k);
        // What is wrong with one is wrong with all, and said of the first.
        places_.note(core_path(hardware_.cores.size()), cores->key(i));
        if (k > 0) places_.note_copy(hardware_.cores.size(), index);
        hardware_.cores.push_back(std::move(copy));
      }
      if (!count) hardware_.cores.push_back(std::move(core));
    }
    for (const Core& core : hardware_.cores) names_.push_back(core.name);
  }

  // Cores made of one description by `count`.
  struct Repeated {
    std::string name{};
    std::size_t first = 0, count = 0;
  };
  const Repeated* repeated_named(const Value& at) const {
    for (const Repeated& each : repeated_)
      if (at.is_scalar() && each.name == at.text()) return &each;
    return nullptr;
  }

  std::optional<CoreId> core_named(const Value& at) {
    const std::optional<std::size_t> index = config::read_choice(at, "core", names_, findings_);
    return index ? std::optional(CoreId{static_cast<std::uint32_t>(*index)}) : std::nullopt;
  }

  // A core, or all that were made of one description.
  std::vector<CoreId> each_named(const Value& at) {
    std::vector<CoreId> ids;
    if (const Repeated* all = repeated_named(at))
      for (std::size_t k = 0; k < all->count; ++k) ids.push_back(CoreId{static_cast<std::uint32_t>(all->first + k)});
    else if (const std::optional<CoreId> id = core_named(at))
      ids.push_back(*id);
    return ids;
  }

  std::vector<CoreId> cores_named(const Value& list) {
    std::vector<CoreId> ids;
    if (list.is_scalar() && list.text() == "all") {
      for (std::uint32_t i = 0; i < names_.size(); ++i) ids.push_back(CoreId{i});
    } else if (list.is_sequence()) {
      for (std::size_t i = 0; i < list.size(); ++i)
        for (const CoreId id : each_named(list[i])) ids.push_back(id);
    } else {
      findings_.error(list, fmt::format("must be a list of cores, not {}", describe(list.kind())));
    }
    return ids;
  }

  void offchip() {
    const std::optional<Value> at = s_.find("offchip");
    if (!at) return;
    places_.note("offchip", *at);
    hardware_.offchip = core_named(*at);
  }

  void links() {
    if (const std::optional<Value> at = s_.find("links"); at && !at->is_sequence())
      findings_.error(*at, "'links' must be a list");
    for (const Value& item : s_.list("links")) {
      Section s(item, "a link", Dialect::Strict, findings_);
      const Block block = block_of(s, block_);
      const std::optional<Value> pair = s.find("link"), bus = s.find("bus"), mesh = s.find("mesh");
      if (int(pair.has_value()) + int(bus.has_value()) + int(mesh.has_value()) != 1 && item.is_map())
        findings_.error(item, "a link has one of 'link', 'bus' and 'mesh', with its cores");
      Link link{.is_bus = bus.has_value()};
      std::vector<std::vector<CoreId>> joined;
      if (bus) joined.push_back(cores_named(*bus));
      if (pair) joined = pairs_named(*pair);
      if (mesh) joined = mesh_named(*mesh, s);
      const std::optional<std::int64_t> bits = read_bandwidth(s, "bandwidth", kBandwidth, context_.clock_hz);
      if (!bits && item.is_map() && !s.has("bandwidth") && !s.has("bits_per_cycle") && !s.has("bytes_per_cycle"))
        findings_.error(item, "the link has no 'bits_per_cycle'");
      link.bits_per_cycle = bits.value_or(1);
      link.energy_pj_per_bit =
          read_figure(s, "energy", kLinkEnergy, block)
              .value_or(Figure{.value = 0, .provenance = Provenance::Assumed, .source = "not stated: free"});
      s.finish();
      if (hardware_.links.size() + joined.size() > kMostLinks) {
        findings_.error(item, fmt::format("more than {} links", kMostLinks));
        return;
      }
      for (std::vector<CoreId>& cores : joined) {
        link.cores = std::move(cores);
        const std::string path = link_path(hardware_.links.size());
        places_.note(path, item);
        places_.note_fields(path, item,
                            {{"bits_per_cycle", "bandwidth"},
                             {"bits_per_cycle", "bits_per_cycle"},
                             {"bits_per_cycle", "bytes_per_cycle"},
                             {"energy_pj_per_bit", "energy"}});
        hardware_.links.push_back(link);
      }
    }
  }

  // A link for each core of the first name and each of the second.
  std::vector<std::vector<CoreId>> pairs_named(const Value& list) {
    if (!list.is_sequence() || list.size() != 2) return {cores_named(list)};
    std::vector<std::vector<CoreId>> pairs;
    const std::vector<CoreId> left = each_named(list[0]), right = each_named(list[1]);
    for (const CoreId a : left)
      for (const CoreId b : right) pairs.push_back({a, b});
    return pairs;
  }

  // Each core with its neighbours to the right and below, in rows of so many columns; the last row may be shorter. A
  // full mesh is numbered along its shorter side: its mirror image is the same chip.
  std::vector<std::vector<CoreId>> mesh_named(const Value& at, Section& s) {
    std::vector<std::vector<CoreId>> pairs;
    const Repeated* all = repeated_named(at);
    if (all == nullptr) {
      std::vector<std::string> names;
      for (const Repeated& each : repeated_) names.push_back(each.name);
      findings_.error(at, "a mesh is of cores made by 'count'",
                      names.empty() || !at.is_scalar()
                          ? "give their description a 'count'"
                          : did_you_mean(std::string(at.text()), names, "give their description a 'count'"));
    }
    const std::optional<std::int64_t> columns =
        s.require_integer("columns", {.least = 1, .most = static_cast<std::int64_t>(kMostCores)});
    if (all == nullptr || !columns) return pairs;
    auto width = static_cast<std::size_t>(*columns);
    if (all->count % width == 0) width = std::min(width, all->count / width);
    const auto id = [&](std::size_t k) { return CoreId{static_cast<std::uint32_t>(all->first + k)}; };
    for (std::size_t k = 0; k < all->count; ++k) {
      if (k % width + 1 < width && k + 1 < all->count) pairs.push_back({id(k), id(k + 1)});
      if (k + width < all->count) pairs.push_back({id(k), id(k + width)});
    }
    return pairs;
  }

  void shared() {
    for (const Value& item : s_.list("shared_memories")) {
      places_.note(fmt::format("shared_memories[{}]", hardware_.shared_memories.size()), item);
      hardware_.shared_memories.push_back(cores_named(item));
    }
  }

  void efficiency() {
    for (const Value& item : s_.list("offchip_efficiency")) {
      places_.note("offchip_efficiency", item);
      Section s(item, "an efficiency", Dialect::Strict, findings_);
      const Block block = block_of(s, block_);
      const auto bytes = [&](std::string_view key) -> std::int64_t {
        const std::optional<std::int64_t> bits = read_bits(s, key);
        if (bits && *bits % 8 != 0) findings_.error(item, fmt::format("'{}' must be whole bytes", key));
        return bits.value_or(0) / 8;
      };
      BurstEfficiency entry{.burst_bytes = bytes("burst"), .stride_bytes = bytes("stride")};
      if (std::optional<Figure> figure = read_figure(s, "efficiency", kFraction, block))
        entry.efficiency = std::move(*figure);
      else if (item.is_map())
        findings_.error(item, "an entry of 'offchip_efficiency' has no 'efficiency'");
      s.finish();
      hardware_.offchip_efficiency.push_back(std::move(entry));
    }
  }

  const Value root_;
  Findings& findings_;
  Section s_;
  Block block_;
  Context context_;
  Places places_;
  Hardware hardware_;
  std::vector<std::string> names_;
  std::vector<Repeated> repeated_;
};

}  // namespace

bool looks_like_monet(const Value& root) { return root.is_map() && root.find("monet").has_value(); }

Hardware read_monet(const Value& root, Findings& findings, Places* places) {
  MonetReader reader(root, findings);
  Hardware hardware = reader.run();
  if (places) *places = reader.places();
  return hardware;
}

}  // namespace monet::hardware
