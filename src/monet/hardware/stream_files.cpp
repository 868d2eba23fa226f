#include "monet/hardware/stream_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "monet/base/config_section.h"

namespace monet::hardware {
namespace {

namespace fs = std::filesystem;
using config::Dialect;
using config::Findings;
using config::Section;
using config::Value;

constexpr config::IntegerRange kIds{.least = 0, .most = static_cast<std::int64_t>(kMostCores)};
const Figure kUnknown{.value = 0, .provenance = Provenance::Assumed, .source = "not stated"};
const Figure kAssumedNode{
    .value = 28, .provenance = Provenance::Assumed, .source = "not stated; ZigZag's own constants are of 28 nm"};

// ---- Core files ----

// By name in the folders below; the first in the order of names. Bounded, since folders may be large.
std::optional<std::string> search_below(const fs::path& folder, const std::string& name) {
  constexpr int kMost = 20'000;
  std::vector<std::string> found;
  std::error_code error;
  int seen = 0;
  for (fs::recursive_directory_iterator it(folder, fs::directory_options::skip_permission_denied, error), end;
       !error && it != end && ++seen < kMost; it.increment(error)) {
    if (it.depth() > 6) it.disable_recursion_pending();
    if (it->path().filename() == name && it->is_regular_file(error)) found.push_back(it->path().string());
  }
  if (found.empty()) return std::nullopt;
  return *std::min_element(found.begin(), found.end());
}

// As given, beside the accelerator, in cores/ beside it, by name below; Stream's own paths start at its repository.
std::optional<std::string> find_core(const std::string& name, const std::string& accelerator, const Sources& sources) {
  const fs::path given(name), folder = fs::path(accelerator).parent_path();
  const fs::path base = given.filename();
  std::vector<fs::path> candidates{folder / given};
  if (given.is_absolute()) candidates = {given};
  candidates.insert(candidates.end(), {folder / "cores" / given, folder / "cores" / base, folder / base, given});
  for (const fs::path& candidate : candidates)
    for (const std::string_view ending : {"", ".yaml", ".yml"})
      if (const std::string path = fs::path(candidate.string() + std::string(ending)).lexically_normal().string();
          sources.exists(path))
        return path;
  if (!sources.is_on_disk()) return std::nullopt;
  return search_below(folder.empty() ? fs::path(".") : folder, base.string());
}

// ---- The accelerator ----

class StreamReader {
 public:
  StreamReader(const Value& root, Sources& sources, Findings& findings)
      : root_(root), sources_(sources), findings_(findings), s_(root, "the accelerator", Dialect::PyYaml, findings) {}

  Hardware run() {
    hardware_.name = s_.require_text("name").value_or("");
    hardware_.node_nm = kAssumedNode;
    hardware_.clock_hz = hardware_.supply_v = kUnknown;
    cores();
    const std::optional<Value> graph = s_.has("graph") ? s_.find("graph") : s_.find("bus");
    if (graph) return of_graph(*graph);
    offchip();
    if (findings_.failed()) return std::move(hardware_);
    name_apart();
    unit_energy_ = s_.number("unit_energy_cost", {.least = 0, .most = kMostFigure}).value_or(0);
    bandwidth();
    connectivity();
    sharing();
    if (joins_all_) join_offchip(*s_.find("offchip_core"));
    unused();
    s_.finish();
    if (!findings_.failed()) report(hardware_, places_, root_, findings_);
    return std::move(hardware_);
  }

  const Places& places() const { return places_; }

 private:
  // A core is a file or, in files of 2026, written in place.
  void add_core(const Value& entry) {
    const std::size_t index = hardware_.cores.size();
    std::optional<Value> core;
    if (entry.is_map()) {
      core = entry;
    } else if (const std::optional<std::string> name = config::read_text(entry, "cores", findings_)) {
      const std::optional<std::string> path = find_core(*name, root_.file(), sources_);
      if (!path) {
        findings_.error(entry, fmt::format("no core file '{}'", name->substr(0, 200)),
                        "looked beside the accelerator, in cores/ and in the folders below");
      } else {
        try {
          core = sources_.open(*path).root();
        } catch (const InputError& error) {
          for (const Diagnostic& d : error.diagnostics()) findings_.add(d);
          findings_.error(entry, fmt::format("core file '{}' cannot be read", *path));
        }
      }
    }
    StreamCore read;
    if (core) {
      // The same file several times: what is wrong with it is said once.
      Findings again;
      const bool repeated = std::find(read_.begin(), read_.end(), *core) != read_.end();
      read = read_stream_core(*core, index, places_, repeated ? again : findings_);
      read_.push_back(*core);
    }
    if (read.kind == "offchip") kind_offchip_ = CoreId{static_cast<std::uint32_t>(index)};
    hardware_.cores.push_back(std::move(read.core));
  }

  void cores() {
    const std::optional<Value> cores = s_.require("cores");
    if (!cores) return;
    if (!cores->is_map() && !cores->is_sequence()) {
      findings_.error(*cores, "'cores' must be a map from core ids to files");
      return;
    }
    std::vector<std::pair<std::int64_t, Value>> entries;
    for (std::size_t i = 0; i < cores->size(); ++i) {
      const std::optional<std::int64_t> id =
          cores->is_map() ? config::read_integer(cores->key(i), "core id", kIds, Dialect::PyYaml, findings_)
                          : std::optional(static_cast<std::int64_t>(i));
      if (id) entries.emplace_back(*id, (*cores)[i]);
    }
    std::stable_sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (entries[i].first != static_cast<std::int64_t>(i)) {
        findings_.error(entries[i].second, "core ids must count 0, 1, 2, … without gaps and repetitions");
        return;
      }
      add_core(entries[i].second);
    }
  }

  void offchip() {
    const std::optional<std::int64_t> id = s_.integer("offchip_core_id", kIds);
    const std::optional<Value> file = s_.find("offchip_core");
    if (id && file) findings_.error(*file, "both 'offchip_core' and 'offchip_core_id' are given", "keep one of them");
    if (file) {
      hardware_.offchip = CoreId{static_cast<std::uint32_t>(hardware_.cores.size())};
      joins_all_ = true;  // Stream of 2025 joins every core with it by itself
      add_core(*file);
    } else if (id) {
      if (static_cast<std::size_t>(*id) >= hardware_.cores.size())
        findings_.error(*s_.find("offchip_core_id"), fmt::format("there is no core {}", *id));
      else
        hardware_.offchip = CoreId{static_cast<std::uint32_t>(*id)};
    } else if (kind_offchip_) {
      hardware_.offchip = kind_offchip_;
    }
    if (!hardware_.offchip) return;
    if (const std::optional<Value> at = file ? file : s_.find("offchip_core_id")) places_.note("offchip", *at);
    if (hardware_.offchip->index() < hardware_.cores.size())
      for (Memory& memory : hardware_.cores[hardware_.offchip->index()].memories) memory.kind = MemoryKind::Dram;
  }

  // Several cores of one file have one name there; ours differ.
  void name_apart() {
    std::vector<std::string> names;
    for (const Core& core : hardware_.cores) names.push_back(core.name);
    for (std::size_t i = 0; i < names.size(); ++i)
      if (std::count(names.begin(), names.end(), names[i]) > 1 || names[i].empty())
        hardware_.cores[i].name = fmt::format("{}_{}", names[i].empty() ? "core" : names[i], i);
  }

  // Files of 2024 say the kind of network instead of its links: a bus, or a mesh of rows and columns.
  Hardware of_graph(const Value& value) {
    Section s(value, "the graph", Dialect::PyYaml, findings_);
    const std::vector<std::string> kinds{"bus", "2d_mesh"};
    const bool is_mesh = s.choice("type", kinds).value_or(0) == 1;
    const std::optional<Value> width = s.require("bandwidth");
    bandwidth_ = width ? positive(*width, "bandwidth") : std::nullopt;
    unit_energy_ = s.number("unit_energy_cost", {.least = 0, .most = kMostFigure}).value_or(0);
    const std::int64_t rows = s.integer("nb_rows", kIds).value_or(1), columns = s.integer("nb_cols", kIds).value_or(1);
    std::vector<CoreId> helpers, mesh, all;
    const auto special = [&](std::string_view key) -> std::optional<CoreId> {
      const std::optional<std::int64_t> id = s.integer(key, kIds);
      if (id && static_cast<std::size_t>(*id) >= hardware_.cores.size())
        findings_.error(*s.find(key), fmt::format("there is no core {}", *id));
      return id ? std::optional(CoreId{static_cast<std::uint32_t>(*id)}) : std::nullopt;
    };
    for (const std::string_view key : {"pooling_core_id", "simd_core_id"})
      if (const std::optional<CoreId> id = special(key)) helpers.push_back(*id);
    hardware_.offchip = special("offchip_core_id");
    s.finish();
    if (findings_.failed()) return std::move(hardware_);
    name_apart();
    for (std::uint32_t i = 0; i < hardware_.cores.size(); ++i) {
      if (hardware_.offchip == CoreId{i}) continue;
      all.push_back(CoreId{i});
      if (std::find(helpers.begin(), helpers.end(), CoreId{i}) == helpers.end()) mesh.push_back(CoreId{i});
    }
    const std::int64_t bits = bandwidth_.value_or(1);
    const auto link = [&](CoreId a, CoreId b) {
      add_link({.cores = {a, b}, .bits_per_cycle = bits}, unit_energy_, value);
    };
    if (!is_mesh && all.size() > 1)
      add_link({.cores = all, .is_bus = true, .bits_per_cycle = bits}, unit_energy_, value);
    if (is_mesh && static_cast<std::size_t>(rows * columns) != mesh.size())
      findings_.error(value,
                      fmt::format("{} rows and {} columns are not the {} cores there are", rows, columns, mesh.size()));
    else if (is_mesh)
      for (std::size_t i = 0; i < mesh.size(); ++i) {
        const std::size_t across = static_cast<std::size_t>(columns);
        if ((i + 1) % across != 0) link(mesh[i], mesh[i + 1]);
        if (i + across < mesh.size()) link(mesh[i], mesh[i + across]);
        for (const CoreId helper : helpers) link(mesh[i], helper);
      }
    if (hardware_.offchip) join_offchip(value);
    unused();
    s_.finish();
    if (!findings_.failed()) report(hardware_, places_, root_, findings_);
    return std::move(hardware_);
  }

  // One number for every link, or in newest files measured shares per core, which we do not model.
  void bandwidth() {
    const std::optional<Value> at = s_.find("bandwidth");
    if (!at) return;
    if (at->is_map())
      findings_.warning(*at, "measured bandwidths are not used", "ports and links say their own");
    else
      bandwidth_ = positive(*at, "bandwidth");
  }

  std::optional<std::int64_t> positive(const Value& at, std::string_view what) {
    const std::optional<double> value = config::read_number(
        at, what, {.least = 1, .most = static_cast<double>(kMostBitsPerCycle)}, Dialect::PyYaml, findings_);
    if (!value) return std::nullopt;
    const auto whole = static_cast<std::int64_t>(*value);
    if (static_cast<double>(whole) != *value) findings_.warning(at, fmt::format("'{}' is taken as {}", what, whole));
    return whole;
  }

  // "0, 1", or a list of ids.
  std::vector<CoreId> read_ids(const Value& value, std::string_view what) {
    std::vector<CoreId> ids;
    const auto add = [&](std::string_view text, const Value& at) {
      while (text.starts_with(' ')) text.remove_prefix(1);
      while (text.ends_with(' ')) text.remove_suffix(1);
      const config::NumberReading id = config::read_number(text, Dialect::Strict);
      if (!id.number || !id.number->whole) {
        findings_.error(at, fmt::format("'{}' in '{}' is no core id", text.substr(0, 40), what));
      } else if (*id.number->whole < 0 || static_cast<std::size_t>(*id.number->whole) >= hardware_.cores.size()) {
        findings_.error(at, fmt::format("there is no core {}", *id.number->whole),
                        fmt::format("cores are 0 to {}", hardware_.cores.size() - 1));
      } else {
        ids.push_back(CoreId{static_cast<std::uint32_t>(*id.number->whole)});
      }
    };
    if (value.is_sequence()) {
      for (std::size_t i = 0; i < value.size(); ++i) add(value[i].text(), value[i]);
    } else if (value.is_scalar()) {
      std::string_view rest = value.text();
      for (std::size_t comma = 0; comma != std::string_view::npos;) {
        comma = rest.find(',');
        add(rest.substr(0, comma), value);
        if (comma != std::string_view::npos) rest.remove_prefix(comma + 1);
      }
    } else {
      findings_.error(value, fmt::format("'{}' must list core ids", what));
    }
    return ids;
  }

  // Stream charges a link per cycle of use, whatever the width that is used.
  Figure energy_per_bit(double per_cycle, std::int64_t bits_per_cycle) const {
    return {.value = per_cycle / static_cast<double>(bits_per_cycle)};
  }

  void add_link(Link link, double unit_energy, const Value& at) {
    link.energy_pj_per_bit = energy_per_bit(unit_energy, std::max<std::int64_t>(link.bits_per_cycle, 1));
    const std::string path = link_path(hardware_.links.size());
    places_.note(path, at);
    // What the link does not say itself, the accelerator says for all.
    if (bandwidth_ == link.bits_per_cycle) places_.note_fields(path, root_, {{"bits_per_cycle", "bandwidth"}});
    places_.note_fields(path, root_, {{"energy_pj_per_bit", "unit_energy_cost"}});
    places_.note_fields(path, at, {{"bits_per_cycle", "bandwidth"}, {"energy_pj_per_bit", "unit_energy_cost"}});
    hardware_.links.push_back(std::move(link));
  }

  void connectivity() {
    s_.find("core_connectivity");
    for (const Value& entry : s_.list("core_connectivity")) {
      if (!entry.is_map()) {
        Link link{.cores = read_ids(entry, "core_connectivity")};
        link.is_bus = link.cores.size() > 2;
        if (!bandwidth_ && !told_) findings_.error(entry, "no 'bandwidth' says how wide this link is");
        told_ = told_ || !bandwidth_;
        link.bits_per_cycle = bandwidth_.value_or(1);
        add_link(std::move(link), unit_energy_, entry);
        continue;
      }
      Section s(entry, "the link", Dialect::PyYaml, findings_);
      const std::vector<std::string> kinds{"link", "bus"};
      Link link{.is_bus = s.choice("type", kinds).value_or(0) == 1};
      if (const std::optional<Value> ids = s.require("cores")) link.cores = read_ids(*ids, "cores");
      if (!link.is_bus && link.cores.size() > 2) link.is_bus = true;
      const std::optional<Value> width = bandwidth_ ? s.find("bandwidth") : s.require("bandwidth");
      link.bits_per_cycle = width ? positive(*width, "bandwidth").value_or(1) : bandwidth_.value_or(1);
      const double energy = s.number("unit_energy_cost", {.least = 0, .most = kMostFigure}).value_or(unit_energy_);
      s.finish();
      add_link(std::move(link), energy, entry);
    }
  }

  void sharing() {
    for (const Value& entry : s_.list("core_memory_sharing")) {
      places_.note(fmt::format("shared_memories[{}]", hardware_.shared_memories.size()), entry);
      hardware_.shared_memories.push_back(read_ids(entry, "core_memory_sharing"));
    }
  }

  // As wide as the memory's widest port.
  void join_offchip(const Value& at) {
    Core& core = hardware_.cores[hardware_.offchip->index()];
    for (Memory& memory : core.memories) memory.kind = MemoryKind::Dram;
    Link bus{.is_bus = true};
    for (std::uint32_t i = 0; i < hardware_.cores.size(); ++i) bus.cores.push_back(CoreId{i});
    for (const Memory& memory : core.memories)
      for (const Port& port : memory.ports) bus.bits_per_cycle = std::max(bus.bits_per_cycle, port.max_bits_per_cycle);
    if (bus.cores.size() > 1 && bus.bits_per_cycle > 0) add_link(std::move(bus), unit_energy_, at);
  }

  // Known to Stream, of no use here.
  void unused() {
    if (const std::optional<Value> coordinates = s_.find("core_coordinates"))
      for (std::size_t i = 0; coordinates->is_map() && i < coordinates->size(); ++i) {
        const std::optional<std::int64_t> id =
            config::read_integer(coordinates->key(i), "core id", kIds, Dialect::PyYaml, findings_);
        if (id && static_cast<std::size_t>(*id) >= hardware_.cores.size())
          findings_.error(coordinates->key(i), fmt::format("there is no core {}", *id));
      }
    if (const std::optional<std::string> node = s_.text("technology_node")) {
      const std::string digits = node->starts_with("n") || node->starts_with("N") ? node->substr(1) : *node;
      if (const config::NumberReading n = config::read_number(digits, Dialect::Strict); n.number && n.number->value > 0)
        hardware_.node_nm = {.value = n.number->value};
      places_.note_fields("", root_, {{"node_nm", "technology_node"}});
    }
    for (const std::string_view key : {"kernel_library", "reconfiguration", "memory_aliases"}) s_.find(key);
  }

  const Value root_;
  Sources& sources_;
  Findings& findings_;
  Section s_;
  Places places_;
  Hardware hardware_;
  std::vector<Value> read_;
  std::optional<CoreId> kind_offchip_;
  std::optional<std::int64_t> bandwidth_;
  double unit_energy_ = 0;
  bool joins_all_ = false, told_ = false;
};

}  // namespace

bool looks_like_zigzag(const Value& root) {
  return root.is_map() && (root.find("memories") || root.find("memory")) && !root.find("cores") && !root.find("monet");
}

bool looks_like_stream(const Value& root) {
  return root.is_map() && root.find("cores") && !root.find("monet") &&
         (root.find("core_connectivity") || root.find("offchip_core") || root.find("offchip_core_id") ||
          root.find("graph") || root.find("bus"));
}

Hardware read_zigzag(const Value& root, Findings& findings, Places* found) {
  Places places;
  StreamCore read = read_stream_core(root, 0, places, findings);
  Hardware hardware{.name = read.core.name, .node_nm = kAssumedNode, .clock_hz = kUnknown, .supply_v = kUnknown};
  if (hardware.name.empty()) hardware.name = read.core.name = "core";
  // A file of an off-chip core alone describes no off-chip core: there is no chip it is off.
  hardware.cores.push_back(std::move(read.core));
  if (!findings.failed()) report(hardware, places, root, findings);
  if (found) *found = std::move(places);
  return hardware;
}

Hardware read_stream(const Value& root, Sources& sources, Findings& findings, Places* places) {
  StreamReader reader(root, sources, findings);
  Hardware hardware = reader.run();
  if (places) *places = reader.places();
  return hardware;
}

}  // namespace monet::hardware
