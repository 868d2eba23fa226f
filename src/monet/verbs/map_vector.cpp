#include "monet/verbs/map_vector.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "monet/report/table.h"

namespace monet {
namespace {

std::string joules(double pj) {
  if (pj >= 1e9) return fmt::format("{:.4g} mJ", pj / 1e9);
  if (pj >= 1e6) return fmt::format("{:.4g} uJ", pj / 1e6);
  if (pj >= 1e3) return fmt::format("{:.4g} nJ", pj / 1e3);
  return fmt::format("{:.4g} pJ", pj);
}

std::string_view worded(hardware::Direction direction) {
  switch (direction) {
    case hardware::Direction::WriteFromHigh: return "filled from above";
    case hardware::Direction::ReadToLow: return "read for below";
    case hardware::Direction::WriteFromLow: return "written from below";
    case hardware::Direction::ReadToHigh: return "read for above";
  }
  return "";
}

std::string whole_cycles(double value) { return grouped(static_cast<std::uint64_t>(value)); }

}  // namespace

std::string vector_text(const MapRun& run, const MappedVector& v) {
  const hardware::Core& core = run.chosen_core();
  const cost::VectorCost& c = v.cost;
  std::string out = fmt::format("{} on {}/{}\n", v.name, run.chip.hardware.name, core.name);
  if (v.work.is_view) return out + "work     a view: another shape of the same storage, nothing moves\n";
  std::string functions;
  for (const work::FunctionCount& f : v.work.functions)
    functions += fmt::format("{}{} {}", functions.empty() ? "" : ", ", grouped(f.count), name(f.function));
  out += fmt::format("work     {}{}{}\n\n", functions.empty() ? "data movement only" : functions,
                     v.work.permutes ? ", transposed" : "", v.work.indirect ? ", by index" : "");
  Table table({"accesses", "words", "pJ each", "energy"});
  for (const cost::VectorAccess& a : c.accesses) {
    const hardware::Memory& memory = core.memories[a.memory];
    const double pj = is_read(a.direction) ? memory.read_energy_pj.value : memory.write_energy_pj.value;
    table.row({fmt::format("{}: {} {}", memory.name, name(a.slot), worded(a.direction)),
               a.words == std::floor(a.words) ? whole_cycles(a.words) : fmt::format("{:.1f}", a.words),
               fmt::format("{:.4g}", pj), joules(a.energy_pj)});
  }
  out += table.text("  ");
  out += fmt::format("\nlatency  {} cycles, bound by {} (the lanes need {})\n", whole_cycles(c.latency), c.bound_by,
                     whole_cycles(c.compute_cycles));
  out += fmt::format("energy   {} = {} arithmetic + {} memories + {} leakage\n", joules(c.energy_pj),
                     joules(c.compute_energy_pj), joules(c.memory_energy_pj), joules(c.static_energy_pj));
  for (const cost::StandIn& s : c.stand_ins)
    out +=
        fmt::format("assumed  {}: no figure of this core, taken as {} multiply-adds\n", name(s.function), s.operations);
  return out;
}

std::string vector_list(const MapRun& run) {
  constexpr std::size_t kShown = 12;
  std::vector<const MappedVector*> longest;
  double all_cycles = 0, all_energy = 0;
  for (const MappedVector& v : run.vectors) {
    longest.push_back(&v);
    all_cycles += v.cost.latency;
    all_energy += v.cost.energy_pj;
  }
  std::stable_sort(longest.begin(), longest.end(),
                   [](const MappedVector* x, const MappedVector* y) { return x->cost.latency > y->cost.latency; });
  Table table({"element-wise work, longest first", "cycles", "energy", "bound by", ""});
  for (std::size_t i = 0; i < longest.size() && i < kShown; ++i)
    table.row({longest[i]->name, whole_cycles(longest[i]->cost.latency), joules(longest[i]->cost.energy_pj),
               longest[i]->cost.bound_by, longest[i]->cost.stand_ins.empty() ? "" : "partly assumed"});
  if (longest.size() > kShown) table.row({fmt::format("… {} more (--json lists all)", longest.size() - kShown)});
  table.row({fmt::format("all {}", longest.size()), whole_cycles(all_cycles), joules(all_energy)});
  return table.text("  ");
}

Json vector_json(const MapRun& run, const MappedVector& v) {
  const hardware::Core& core = run.chosen_core();
  const cost::VectorCost& c = v.cost;
  Json accesses = Json::array(), memories = Json::object(), stand_ins = Json::array();
  for (const hardware::Memory& memory : core.memories) {
    double sum = 0;
    for (const cost::VectorAccess& a : c.accesses)
      if (core.memories[a.memory].name == memory.name) sum += a.energy_pj;
    memories.set(memory.name, sum);
  }
  for (const cost::VectorAccess& a : c.accesses)
    accesses.push(Json::object()
                      .set("operand", name(a.slot))
                      .set("level", core.memories[a.memory].name)
                      .set("direction", name(a.direction))
                      .set("count_words", a.words)
                      .set("bits", a.bits));
  for (const cost::StandIn& s : c.stand_ins)
    stand_ins.push(Json::object().set("function", name(s.function)).set("multiply_adds", s.operations));
  return Json::object()
      .set("node", v.name)
      .set("core", core.name)
      .set("feasible", true)
      .set("latency_cycles", c.latency)
      .set("ideal_cycles", c.compute_cycles)
      .set("bound_by", c.bound_by)
      .set("energy_pj", c.energy_pj)
      .set("compute_energy_pj", c.compute_energy_pj)
      .set("memory_energy_pj", std::move(memories))
      .set("static_energy_pj", c.static_energy_pj)
      .set("accesses", std::move(accesses))
      .set("assumed_functions", std::move(stand_ins));
}

}  // namespace monet
