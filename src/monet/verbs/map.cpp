#include "monet/verbs/map.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "monet/base/file.h"
#include "monet/base/nearest.h"
#include "monet/base/parallel.h"
#include "monet/base/sha256.h"
#include "monet/cost/fit.h"
#include "monet/cost/zigzag_files.h"
#include "monet/hardware/library.h"
#include "monet/hardware/offchip.h"
#include "monet/verbs/hardware.h"
#include "monet/verbs/map_search.h"
#include "monet/verbs/mapping_options.h"
#include "monet/verbs/refuse.h"

namespace monet {
namespace {

// ---- Which core ----

// {"chip.yaml", "core"}: the chip is a name without a slash, or a path that ends in .yaml, .yml or .json.
std::pair<std::string, std::string> split_core(const std::string& text) {
  for (const std::string_view end : {".yaml", ".yml", ".json"})
    for (std::size_t at = text.find(end); at != std::string::npos; at = text.find(end, at + 1)) {
      const std::size_t after = at + end.size();
      if (after == text.size()) return {text, ""};
      if (text[after] == '/') return {text.substr(0, after), text.substr(after + 1)};
    }
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) return {text, ""};
  return {text.substr(0, slash), text.substr(slash + 1)};
}

std::size_t choose_core(const hardware::Hardware& chip, const std::string& name, std::vector<std::string>& notes) {
  std::vector<std::string> names;
  for (const hardware::Core& core : chip.cores) names.push_back(core.name);
  for (std::size_t i = 0; i < names.size(); ++i)
    if (!name.empty() && names[i] == name) return i;
  if (!name.empty())
    refuse("--on", fmt::format("chip '{}' has no core '{}'", chip.name, name.substr(0, 40)),
           did_you_mean(name, names, fmt::format("it has {}", fmt::join(names, ", "))));
  std::size_t chosen = chip.cores.size(), arrays = 0;
  for (std::size_t i = chip.cores.size(); i-- > 0;)
    if (chip.cores[i].array) {
      chosen = i;
      ++arrays;
    }
  if (arrays == 0) refuse("--on", fmt::format("no core of chip '{}' has an array", chip.name));
  if (arrays > 1)
    notes.push_back(fmt::format("the first of {} cores with an array; {}/NAME chooses another: {}", arrays, chip.name,
                                fmt::join(names, ", ")));
  return chosen;
}

// ---- What is asked ----

std::size_t limit_of(const std::string& text) {
  if (text.empty()) return cost::MapOptions{}.limit;
  if (text == "none") return 0;
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 1 || value > 64)
    refuse("--lpf", fmt::format("'{}' is neither a number of loops nor 'none'", text.substr(0, 40)));
  return value;
}

cost::MapOptions options_of(const MapRequest& request, double clock_hz, std::vector<std::string>& notes) {
  cost::MapOptions o{.criterion = parse_criterion(request.criterion), .quirks = parse_quirks(request.quirks)};
  o.limit = limit_of(request.lpf);
  o.even = request.even;
  o.spatial = {.generated = static_cast<std::size_t>(request.spatials), .mixed = request.mixed, .quirks = o.quirks};
  o.clock_hz = clock_hz;
  if (!o.quirks.greedy_allocation && (!request.lpf.empty() || request.even))
    notes.push_back(
        "--lpf and --even are for --quirks greedy-allocation: without it the optimum over all factors and "
        "allocations is found");
  return o;
}

cost::MappingRequest asked_of(const MapRequest& request, const std::vector<cost::MappingRequest>& entries,
                              const cost::Layer& layer, const hardware::Core& core) {
  cost::MappingRequest asked;
  if (const cost::MappingRequest* entry = cost::find_request(entries, layer)) asked = *entry;
  if (!request.order.empty()) asked.ordering = parse_order(request.order, layer);
  if (!request.spatial.empty()) {
    asked.spatial = parse_spatial(request.spatial, layer, core);
    asked.hints.clear();
  }
  if (!request.placement.empty()) asked.placements = parse_placements(request.placement, layer, core);
  return asked;
}

// ---- Why nothing fits ----

double elements_of(const cost::Operand& operand) {
  double elements = 1;
  for (const work::Axis& axis : operand.axes) elements *= static_cast<double>(axis.extent);
  return elements;
}

// What each memory must hold at least: one element of each operand, all of those whose highest memory it is.
void explain_infeasible(const hardware::Core& core, MappedLayer& m) {
  for (std::size_t i = 0; i < core.memories.size(); ++i) {
    const hardware::Memory& memory = core.memories[i];
    double needed = 0;
    std::vector<std::string> parts;
    for (const cost::Operand& operand : m.layer.operands) {
      const auto holds = [&](const hardware::Memory& other) {
        return std::find(other.slots.begin(), other.slots.end(), operand.slot) != other.slots.end();
      };
      if (!holds(memory)) continue;
      const bool is_top =
          std::none_of(core.memories.begin() + static_cast<std::ptrdiff_t>(i) + 1, core.memories.end(), holds);
      const double bits = is_top ? elements_of(operand) * operand.bits : operand.partial_bits;
      needed += bits;
      parts.push_back(fmt::format("{}{} {:.0f}", is_top ? "all of " : "one element of ", operand.name, bits));
    }
    if (needed <= static_cast<double>(memory.size_bits)) continue;
    m.levers.push_back(fmt::format("{}: needs {:.0f} bits ({}) > has {} bits", memory.name, needed,
                                   fmt::join(parts, ", "), memory.size_bits));
  }
  // That nothing fits is no reason: the inequality is.
  if (!m.levers.empty() && m.reason.find(" bits") == std::string::npos) {
    m.reason = m.levers.front();
    m.levers.erase(m.levers.begin());
  }
  m.levers.push_back(
      "a larger memory, fewer bits (--bits STORED/SUMS), a smaller layer, or fewer loops given by the user");
}

}  // namespace

bool MapRun::is_feasible() const {
  return std::all_of(layers.begin(), layers.end(), [](const MappedLayer& m) { return m.mapped.has_value(); });
}

bool MapRun::is_infeasible() const {
  return std::any_of(layers.begin(), layers.end(), [](const MappedLayer& m) { return !m.mapped && !m.is_stopped; });
}

MapRun map_layers(const MapRequest& request, const MapObserver& observer) {
  MapObserver timed = observer;
  if (request.time_s) timed.watch.deadline = observer.watch.deadline.within(*request.time_s);
  MapRun run;
  const auto [chip, core_name] = split_core(request.hardware);
  run.chip = describe_hardware({.hardware = chip, .parameters = request.parameters});
  run.core = choose_core(run.chip.hardware, core_name, run.notes);
  // A layer alone comes from off the chip and goes back there.
  run.chip.hardware.cores[run.core] =
      hardware::with_offchip(run.chip.hardware, hardware::CoreId{static_cast<std::uint32_t>(run.core)});
  const std::vector<hardware::Memory>& memories = run.chosen_core().memories;
  if (std::any_of(memories.begin(), memories.end(),
                  [](const hardware::Memory& m) { return m.transposed_read != hardware::TransposedRead::Free; }))
    run.notes.push_back(
        "tiles are read at full bandwidth in any order: transposed reads are counted for vector work only");
  if (!run.chip.hardware.offchip_efficiency.empty())
    run.notes.push_back(
        "off-chip memory at its full bandwidth: its efficiency by burst and stride is not counted here");
  const hardware::Core& core = run.chosen_core();
  run.options = options_of(request, run.chip.hardware.clock_hz.value, run.notes);
  FoundLayers found = find_layers(request.layer);
  if (!core.array && !found.layers.empty())
    refuse("--on", fmt::format("core '{}' has no array, only vector lanes or memories", core.name));
  run.inputs = document_inputs(run.chip);
  run.inputs.insert(run.inputs.end(), found.inputs.begin(), found.inputs.end());
  run.warnings = run.chip.warnings;
  run.warnings.insert(run.warnings.end(), found.warnings.begin(), found.warnings.end());
  run.notes.insert(run.notes.end(), found.notes.begin(), found.notes.end());
  std::vector<cost::MappingRequest> entries;
  if (!request.mapping.empty()) {
    const std::string bytes = read_file(request.mapping);
    cost::ParsedMapping parsed = cost::parse_mapping(bytes, request.mapping);
    run.inputs.push_back({"mapping", request.mapping, sha256_hex(bytes)});
    run.warnings.insert(run.warnings.end(), parsed.warnings.begin(), parsed.warnings.end());
    entries = std::move(parsed.file.requests);
  }
  run.layers.resize(found.layers.size());
  parallel_for(found.layers.size(), request.threads, [&](std::size_t i) {
    MappedLayer m{.layer = std::move(found.layers[i])};
    if (i < found.nests.size())
      if (const std::optional<std::string> note = cost::fit_form(m.layer, found.nests[i], core))
        m.notes.push_back(*note);
    if (!found.bits_are_given)
      if (const std::optional<std::string> note = cost::fit_formats(m.layer, core, found.is_bare))
        m.notes.push_back(*note + " (--bits says otherwise)");
    m.asked = asked_of(request, entries, m.layer, core);
    run.layers[i] = std::move(m);
  });
  search_layers(request, timed, run);
  for (MappedLayer& m : run.layers)
    if (!m.mapped && !m.is_stopped) explain_infeasible(core, m);
  for (VectorNode& node : found.vectors) {
    cost::VectorCost vector = cost::vector_cost(node.work, core, run.chip.hardware.clock_hz.value);
    run.vectors.push_back({std::move(node.name), std::move(node.work), std::move(vector)});
  }
  return run;
}

}  // namespace monet
