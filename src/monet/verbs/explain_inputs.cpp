#include "monet/verbs/explain_inputs.h"

#include <fmt/format.h>

#include "monet/base/config_number.h"
#include "monet/hardware/verify.h"
#include "monet/verbs/explain_flow.h"

namespace monet {

using hardware::Core;
using hardware::Memory;

ChipInputs::ChipInputs(const MapRun& run) : run_(run), core_(run.chosen_core()), own_(core_.memories.size()) {
  const hardware::Hardware& chip = run.chip.hardware;
  if (chip.offchip && chip.offchip->index() != run.core) own_ -= chip[*chip.offchip].memories.size();
}

std::string ChipInputs::path_of(std::size_t memory) const {
  if (memory < own_) return hardware::memory_path(run_.core, memory);
  return hardware::memory_path(run_.chip.hardware.offchip->index(), memory - own_);
}

const Memory& ChipInputs::original(std::size_t memory) const {
  if (memory < own_) return core_.memories[memory];
  return run_.chip.hardware[*run_.chip.hardware.offchip].memories[memory - own_];
}

ExplainedInput ChipInputs::of(std::string name, const hardware::Figure& figure, std::string unit,
                              const std::string& path) const {
  return {.name = std::move(name),
          .value = figure.value,
          .unit = std::move(unit),
          .provenance = figure.provenance,
          .origin = run_.chip.origins.find(path),
          .source = figure.source};
}

ExplainedInput ChipInputs::plain(std::string name, double value, std::string unit, const std::string& path) const {
  ExplainedInput input{.name = std::move(name), .value = value, .unit = std::move(unit)};
  input.origin = run_.chip.origins.find(path);
  if (!input.origin) input.source = "not stated by the file";
  return input;
}

ExplainedInput ChipInputs::read_energy(std::size_t m) const {
  const Memory& memory = core_.memories[m];
  ExplainedInput input = of(memory.name + ".read_energy", memory.read_energy_pj, "pJ", path_of(m) + ".read_energy_pj");
  if (original(m).read_energy_pj.value != memory.read_energy_pj.value)
    input.source =
        fmt::format("{} pJ for the part of a word that the link carries at once{}{}",
                    config::shortest(original(m).read_energy_pj.value), input.source.empty() ? "" : "; ", input.source);
  return input;
}

ExplainedInput ChipInputs::write_energy(std::size_t m) const {
  const Memory& memory = core_.memories[m];
  ExplainedInput input =
      of(memory.name + ".write_energy", memory.write_energy_pj, "pJ", path_of(m) + ".write_energy_pj");
  if (original(m).write_energy_pj.value != memory.write_energy_pj.value)
    input.source = fmt::format("{} pJ for the part of a word that the link carries at once{}{}",
                               config::shortest(original(m).write_energy_pj.value), input.source.empty() ? "" : "; ",
                               input.source);
  return input;
}

ExplainedInput ChipInputs::leakage(std::size_t m) const {
  return of(core_.memories[m].name + ".leakage", core_.memories[m].leakage_mw, "mW", path_of(m) + ".leakage_mw");
}

ExplainedInput ChipInputs::size(std::size_t m) const {
  return plain(core_.memories[m].name + ".size", static_cast<double>(core_.memories[m].size_bits), "bits",
               path_of(m) + ".size_bits");
}

ExplainedInput ChipInputs::first_word(std::size_t m) const {
  return plain(core_.memories[m].name + ".latency", static_cast<double>(core_.memories[m].latency_cycles), "cycles",
               path_of(m) + ".latency_cycles");
}

ExplainedInput ChipInputs::width(std::size_t m, std::size_t port) const {
  const hardware::Port& p = core_.memories[m].ports[port];
  ExplainedInput input =
      plain(fmt::format("{}.{}", core_.memories[m].name, p.name), static_cast<double>(p.max_bits_per_cycle),
            "bits/cycle", fmt::format("{}.ports[{}].max_bits_per_cycle", path_of(m), port));
  if (stated_width(m, port) != p.max_bits_per_cycle)
    input.source = fmt::format("{} bits/cycle, but no more than the link to it carries", stated_width(m, port));
  return input;
}

std::int64_t ChipInputs::stated_width(std::size_t m, std::size_t port) const {
  return original(m).ports[port].max_bits_per_cycle;
}

ExplainedInput ChipInputs::width(const cost::Problem& problem, std::size_t port) const {
  return width(problem.ports[port].memory, problem.ports[port].port);
}

ExplainedInput ChipInputs::clock() const { return of("clock", run_.chip.hardware.clock_hz, "Hz", "clock_hz"); }

std::vector<ExplainedInput> ChipInputs::lanes() const {
  std::vector<ExplainedInput> out;
  for (std::size_t a = 0; a < core_.array->dimensions.size(); ++a)
    out.push_back(plain("array." + core_.array->dimensions[a].name,
                        static_cast<double>(core_.array->dimensions[a].size), "lanes",
                        fmt::format("{}.array.dimensions[{}]", hardware::core_path(run_.core), a)));
  return out;
}

ExplainedInput ChipInputs::mac_energy(const cost::Problem& problem) const {
  const std::string path = hardware::core_path(run_.core) + ".array";
  const hardware::Array& array = *core_.array;
  for (std::size_t i = 0; i < array.formats.size(); ++i) {
    const hardware::MacCost& format = array.formats[i];
    if (format.energy_pj.value == problem.mac_pj && static_cast<double>(format.cycles) == problem.cycles_per_mac)
      return of(
          fmt::format("array.mac_energy in {}/{}", monet::name(format.multiplicand), monet::name(format.accumulator)),
          format.energy_pj, "pJ", fmt::format("{}.formats[{}].energy_pj", path, i));
  }
  if (array.mac_energy_pj.value == problem.mac_pj)
    return of("array.mac_energy", array.mac_energy_pj, "pJ", path + ".mac_energy_pj");
  return {.name = "array.mac_energy",
          .value = problem.mac_pj,
          .unit = "pJ",
          .provenance = hardware::Provenance::Modelled,
          .source = "the model of in-memory arrays, docs/cost.md (18)"};
}

std::string text(const ExplainedInput& input) {
  std::string where = input.origin ? fmt::format("{}:{}", input.origin->file, input.origin->line) : "";
  if (input.provenance != hardware::Provenance::Given)
    where = fmt::format("{}{}{}", hardware::name(input.provenance), where.empty() ? "" : ", ", where);
  if (where.empty()) where = "by default";
  return fmt::format("{} {} {} ({})", input.name, exact_number(input.value), input.unit, where);
}

}  // namespace monet
