#include "monet/verbs/zigzag_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "monet/base/config_section.h"
#include "monet/base/nearest.h"
#include "monet/cost/allocate.h"
#include "monet/cost/imc.h"
#include "monet/cost/zigzag_files.h"
#include "monet/hardware/load.h"
#include "monet/hardware/stream_files.h"
#include "monet/verbs/case_values.h"

namespace monet {
namespace {

using config::Findings;
using config::Value;

// A key whose value is not null.
std::optional<Value> get(const Value& map, std::string_view key) {
  if (!map.is_map()) return std::nullopt;
  const std::optional<Value> found = map.find(key);
  return found && !found->is_null() ? found : std::nullopt;
}

std::optional<double> number_at(const Value& map, std::string_view key) { return number_of(get(map, key)); }

bool is_true(const Value& value) { return value.is_scalar() && value.text() == "true"; }

// ---- What a case asks for ----

struct CaseInputs {
  cost::Layer layer{};
  cost::MappingRequest request{};
  cost::MapOptions options{};
  std::vector<cost::LoopPattern> order{};  // the only one, if it is given
};

cost::Criterion criterion_of(const std::string& name) {
  if (name == "energy") return cost::Criterion::Energy;
  return name == "EDP" || name == "edp" ? cost::Criterion::Edp : cost::Criterion::Latency;
}

cost::MapOptions options_of(const Value& search) {
  cost::MapOptions o{.criterion = criterion_of(text_of(search, "criterion", "latency")), .quirks = cost::kZigzagQuirks};
  o.limit = static_cast<std::size_t>(std::clamp(number_at(search, "lpf_limit").value_or(6), 1.0, 64.0));
  o.even = text_of(search, "mapping_type", "uneven") == "even";
  o.spatial.generated =
      static_cast<std::size_t>(std::clamp(number_at(search, "nb_spatial_mappings").value_or(3), 1.0, 1e6));
  if (const std::optional<Value> mixed = get(search, "mixed_spatial")) o.spatial.mixed = is_true(*mixed);
  o.spatial.quirks = o.quirks;
  return o;
}

// Feasible cases have their mapping spread over the inputs, infeasible ones under `mapping`.
CaseInputs read_inputs(const Value& inputs, Findings& findings) {
  const Value mapping = get(inputs, "mapping").value_or(inputs);
  const auto either = [&](std::string_view here, std::string_view there) {
    const std::optional<Value> found = get(mapping, there);
    return found ? found : get(inputs, here);
  };
  CaseInputs asked;
  if (const auto links = either("memory_operand_links", "memory_operand_links"))
    asked.request.slots = cost::read_links(*links, findings);
  if (const auto spatial = either("spatial_mapping_user", "spatial_mapping"))
    asked.request.spatial = cost::read_spatial_mapping(*spatial, findings);
  if (const auto hints = either("spatial_mapping_hint", "spatial_mapping_hint"))
    asked.request.hints = cost::read_spatial_hints(*hints, findings);
  if (const auto pattern = either("temporal_ordering_user_inner_to_outer", "temporal_ordering"))
    asked.request.ordering = cost::read_ordering(*pattern, findings);
  if (const auto order = either("temporal_ordering_inner_to_outer", "ordering"))
    asked.order = cost::read_ordering(*order, findings);
  else if (const auto other = get(inputs, "ordering"))
    asked.order = cost::read_ordering(*other, findings);
  asked.options = options_of(get(inputs, "search").value_or(inputs));
  asked.layer = cost::read_zigzag_layer(*inputs.find("layer"), asked.request.slots, findings);
  return asked;
}

// ---- Running it ----

// The loops of a complete ordering, or nothing if it is only a pattern.
std::optional<std::vector<cost::TemporalLoop>> loops_of(const std::vector<cost::LoopPattern>& pattern,
                                                        const cost::Layer& layer) {
  std::vector<cost::TemporalLoop> loops;
  for (const cost::LoopPattern& entry : pattern) {
    if (!entry.dimension || !entry.factor) return std::nullopt;
    const auto at = std::find_if(layer.dimensions.begin(), layer.dimensions.end(),
                                 [&](const work::Dimension& d) { return d.name == *entry.dimension; });
    if (at == layer.dimensions.end()) continue;
    loops.push_back({.dimension = static_cast<std::uint32_t>(at - layer.dimensions.begin()),
                     .factor = static_cast<double>(*entry.factor)});
  }
  return loops.size() <= cost::kMaxLoops ? std::optional(std::move(loops)) : std::nullopt;
}

// A given ordering is taken as it is, whatever its product: so does the reference.
cost::MapResult run_ordering(const CaseInputs& asked, const hardware::Core& core,
                             const std::vector<cost::TemporalLoop>& order) {
  cost::MapResult best;
  for (const cost::Spatial& spatial :
       cost::spatial_mappings(asked.layer, core, asked.request, asked.options.spatial, &best.reason)) {
    cost::Mapped m{.layer = asked.layer, .spatial = spatial, .order = order, .spatials = 1, .evaluated = 1};
    m.problem = cost::make_problem(asked.layer, core, spatial, asked.options.quirks);
    cost::Misfit misfit;
    if (!cost::allocate_greedily(m.problem, order, asked.options.even, m.evaluation.cuts, misfit))
      return {.reason = to_string(misfit, asked.layer, core)};
    const cost::Costs costs = cost::evaluate(m.problem, order, m.evaluation);
    if (best.mapped && !is_better(asked.options.criterion, costs,
                                  {best.mapped->evaluation.energy_pj, best.mapped->evaluation.latency}))
      continue;
    best.mapped = std::move(m);
  }
  if (best.mapped) best.reason.clear();
  return best;
}

cost::MapResult run(const Value& inputs, const hardware::Core& core) {
  Findings findings;
  const CaseInputs asked = read_inputs(inputs, findings);
  findings.throw_if_failed();
  if (!asked.order.empty())
    if (const auto order = loops_of(asked.order, asked.layer)) return run_ordering(asked, core, *order);
  return map_layer(asked.layer, core, asked.request, asked.options);
}

// ---- Comparing ----

constexpr std::array<std::pair<std::string_view, hardware::Direction>, 4> kDirections{
    {{"rd_out_to_low", hardware::Direction::ReadToLow},
     {"wr_in_by_low", hardware::Direction::WriteFromLow},
     {"rd_out_to_high", hardware::Direction::ReadToHigh},
     {"wr_in_by_high", hardware::Direction::WriteFromHigh}}};

void compare_accesses(const cost::Mapped& m, std::size_t o, const Value& levels, Comparison& c) {
  const std::string& name = m.layer.operands[o].name;
  const std::size_t memories = m.problem.operands[o].memories;
  if (!levels.is_sequence() || levels.size() != memories)
    return c.differ(name + " memories", static_cast<double>(memories),
                    levels.is_sequence() ? static_cast<double>(levels.size()) : 0.0);
  for (std::size_t l = 0; l < memories; ++l)
    for (const auto& [key, direction] : kDirections)
      if (const std::optional<double> theirs = number_at(levels[l], key))
        c.compare(fmt::format("accesses {} {} {}", name, l, key),
                  m.evaluation.levels[o][l].flows[static_cast<std::size_t>(direction)].words, *theirs);
}

void compare_levels(const cost::Mapped& m, const Value& outputs, const Value& derived, Comparison& c) {
  for (std::size_t o = 0; o < m.layer.operands.size(); ++o) {
    const std::string& name = m.layer.operands[o].name;
    const std::size_t memories = m.problem.operands[o].memories;
    if (const auto accesses = get(outputs, "word_accesses"))
      if (const auto levels = get(*accesses, name)) compare_accesses(m, o, *levels, c);
    if (const auto energies = get(outputs, "mem_energy_pJ"))
      if (const auto levels = get(*energies, name); levels && levels->is_sequence())
        for (std::size_t l = 0; l < std::min(memories, levels->size()); ++l) {
          if (!(*levels)[l].is_scalar()) continue;
          const config::NumberReading theirs = config::read_number((*levels)[l].text(), config::Dialect::PyYaml);
          if (theirs.number)
            c.compare(fmt::format("energy {} {}", name, l), m.evaluation.levels[o][l].energy_pj, theirs.number->value,
                      kEnergyTolerance);
        }
    if (const auto buffers = get(derived, "double_buffer"))  // the first is the array
      if (const auto levels = get(*buffers, name); levels && levels->is_sequence())
        for (std::size_t l = 0; l + 1 < levels->size() && l < memories; ++l)
          c.compare(fmt::format("double buffer {} {}", name, l), m.evaluation.levels[o][l].is_double_buffered ? 1 : 0,
                    is_true((*levels)[l + 1]) ? 1 : 0);
  }
}

void compare_totals(const cost::Mapped& m, const hardware::Core& core, const Value& outputs, Comparison& c) {
  const cost::Evaluation& e = m.evaluation;
  const auto compare = [&](std::string_view key, double ours, double tolerance = 0) {
    if (const std::optional<double> theirs = number_at(outputs, key))
      c.compare(std::string(key), ours, *theirs, tolerance);
  };
  compare("total_mac_count", m.problem.macs);
  compare("ideal_cycles", e.ideal_cycles);
  compare("ideal_temporal_cycles", e.temporal_cycles);
  compare("stall_cycles", e.stall);
  compare("onload_cycles", e.onload);
  compare("offload_cycles", e.offload);
  compare("latency_total0", e.temporal_cycles + e.stall);
  compare("latency_total1", e.temporal_cycles + e.stall + e.onload);
  compare("latency_total2", e.latency);
  compare("mem_energy_total_pJ", e.memory_energy_pj, kEnergyTolerance);
  compare("mac_energy_pJ", e.mac_energy_pj, kEnergyTolerance);
  compare("energy_total_pJ", e.energy_pj, kEnergyTolerance);
  if (!core.array || !core.array->imc) return;
  compare("imc_tclk", cost::imc_clock_ns(*core.array), kEnergyTolerance);
  double area = cost::imc_area_mm2(core);
  for (const hardware::Memory& memory : core.memories) area += memory.area_mm2.value;
  compare("imc_area_total", area, kEnergyTolerance);
}

std::string first_line(const InputError& error) {
  return error.diagnostics().empty() ? "refused" : error.diagnostics()[0].message;
}

std::string one_line(std::string text) {
  std::string out;
  for (const char c : text) {
    const char plain = c == '\n' || c == '\t' ? ' ' : c;
    if (plain != ' ' || out.empty() || out.back() != ' ') out += plain;
  }
  return out;
}

// Where the reference fails by accident (a Python error, not one of its own verdicts) there is nothing to agree with.
bool is_verdict(const std::string& error) { return error.substr(0, error.find(':')).ends_with("Exception"); }

ValidationRow refused_row(const ZigzagCase& c, const cost::MapResult& result) {
  const std::string theirs = one_line(text_of(c.value, "error"));
  ValidationRow row{.id = c.id, .figure = "feasible", .theirs = theirs, .figures = 1};
  if (result.mapped)
    row.ours = result.mapped->evaluation.latency;
  else
    row.ours = result.reason;
  row.matches = !result.mapped;
  row.comparable = row.matches || is_verdict(theirs);
  row.error = row.matches || !row.comparable ? 0 : 1;
  return row;
}

}  // namespace

std::string_view name(CaseKind kind) {
  switch (kind) {
    case CaseKind::Fixed: return "fixed";
    case CaseKind::Searched: return "searched";
    case CaseKind::Infeasible: return "infeasible";
  }
  return "";
}

void Accelerators::add_json(const Value& accelerators) {
  if (!accelerators.is_map()) return;
  for (std::size_t i = 0; i < accelerators.size(); ++i)
    values_.insert_or_assign(std::string(accelerators.key(i).text()), accelerators[i]);
}

void Accelerators::add_file(const std::string& path) {
  const hardware::Loaded loaded = hardware::load_hardware(path);
  const hardware::Core core = without_dataflow(loaded.hardware.cores.at(0));
  const std::size_t slash = path.find_last_of('/');
  std::string stem = slash == std::string::npos ? path : path.substr(slash + 1);
  stem = stem.substr(0, stem.find_last_of('.'));
  cores_.insert_or_assign(stem, core);
  cores_.insert_or_assign(loaded.hardware.name, core);
}

std::vector<std::string> Accelerators::names() const {
  std::vector<std::string> out;
  for (const auto& entry : values_) out.push_back(entry.first);
  for (const auto& entry : cores_)
    if (!values_.contains(entry.first)) out.push_back(entry.first);
  return out;
}

const hardware::Core& Accelerators::core(const std::string& name) {
  if (const auto found = cores_.find(name); found != cores_.end()) return found->second;
  const auto value = values_.find(name);
  if (value == values_.end())
    throw InputError(Diagnostic{.where = "--accelerators",
                                .message = fmt::format("no accelerator '{}'", name),
                                .hint = did_you_mean(name, names(), "give the file that has it")});
  Findings findings;
  const hardware::Hardware read = hardware::read_zigzag(value->second, findings);
  findings.throw_if_failed();
  return cores_.emplace(name, without_dataflow(read.cores.at(0))).first->second;
}

hardware::Core without_dataflow(hardware::Core core) {
  core.unrollings.clear();
  core.dataflow = hardware::Dataflow::Reconfigurable;
  return core;
}

std::vector<ZigzagCase> read_cases(const Value& cases, Findings& findings) {
  std::vector<ZigzagCase> out;
  if (!cases.is_sequence()) {
    findings.error(cases, "'cases' must be a list");
    return out;
  }
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Value value = cases[i];
    const std::optional<Value> inputs = get(value, "inputs");
    if (!inputs || !get(*inputs, "layer") || !get(*inputs, "accelerator")) {
      findings.error(value, "a case needs 'inputs' with 'layer' and 'accelerator'");
      continue;
    }
    ZigzagCase c{.id = text_of(value, "id", fmt::format("case {}", i)),
                 .accelerator = text_of(*inputs, "accelerator"),
                 .value = value};
    if (get(value, "error")) {
      c.kind = CaseKind::Infeasible;
    } else if (get(value, "outputs")) {
      c.kind = get(*inputs, "temporal_ordering_inner_to_outer") ? CaseKind::Fixed : CaseKind::Searched;
    } else {
      findings.error(value, "a case needs 'outputs' or 'error'");
      continue;
    }
    out.push_back(std::move(c));
  }
  return out;
}

ValidationRow run_case(const ZigzagCase& c, Accelerators& accelerators) {
  const Value inputs = *c.value.find("inputs");
  Comparison comparison(c.id);
  cost::MapResult result;
  const hardware::Core* core = nullptr;
  try {
    core = &accelerators.core(c.accelerator);
    result = run(inputs, *core);
  } catch (const InputError& error) {
    result.reason = first_line(error);
  }
  if (c.kind == CaseKind::Infeasible) return refused_row(c, result);
  const Value outputs = *c.value.find("outputs");
  if (!result.mapped) {
    comparison.differ("feasible", result.reason, number_at(outputs, "latency_total2").value_or(0));
    return comparison.finish("feasible");
  }
  compare_levels(*result.mapped, outputs, get(c.value, "derived").value_or(outputs), comparison);
  compare_totals(*result.mapped, *core, outputs, comparison);
  if (c.kind == CaseKind::Searched)
    if (const auto run_of = get(c.value, "run"))
      if (const auto theirs = number_at(*run_of, "evaluated_mappings"))
        comparison.compare("evaluated_mappings", static_cast<double>(result.mapped->evaluated), *theirs);
  return comparison.finish("latency_total2");
}

}  // namespace monet
