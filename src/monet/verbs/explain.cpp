#include "monet/verbs/explain.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "monet/base/file.h"
#include "monet/base/nearest.h"
#include "monet/report/nest.h"
#include "monet/verbs/explain_flow.h"

namespace monet {
namespace {

using cost::Evaluation;
using cost::Mapped;
using hardware::Core;

std::string number(double value) { return exact_number(value); }

class Explainer {
 public:
  Explainer(const MapRun& run, const Mapped& mapped) : run_(run), m_(mapped), core_(run.chosen_core()) {}

  std::vector<ExplainedLine> latency() {
    const Evaluation& e = m_.evaluation;
    ideal();
    stalls();
    first_loads();
    add(16, "latency_cycles",
        fmt::format("{} + {} + {} + {} + {}", number(e.ideal_cycles), number(e.temporal_cycles - e.ideal_cycles),
                    number(e.stall), number(e.onload), number(e.offload)),
        e.latency, "ideal + idle lanes + stalls + first loads + last stores");
    return std::move(lines_);
  }

  std::vector<ExplainedLine> energy() {
    const Evaluation& e = m_.evaluation;
    add(7, "mac_energy_pj", fmt::format("{} x {}", number(m_.problem.macs), number(m_.problem.mac_pj)), e.mac_energy_pj,
        fmt::format("multiply-accumulates x pJ; {}", source(core_.array->mac_energy_pj)));
    std::vector<std::string> parts{number(e.mac_energy_pj)};
    for (std::size_t i = core_.memories.size(); i-- > 0;) {
      const double pj = memory_energy(i);
      parts.push_back(number(pj));
    }
    parts.push_back(number(e.static_energy_pj));
    add(8, "static_energy_pj", fmt::format("{} x {}", number(m_.problem.leakage_pj_per_cycle), number(e.latency)),
        e.static_energy_pj, "leakage of all memories, pJ a cycle, x cycles");
    add(9, "energy_pj", fmt::format("{}", fmt::join(parts, " + ")), e.energy_pj, "arithmetic + memories + leakage");
    return std::move(lines_);
  }

  std::vector<ExplainedLine> stall() {
    stalls();
    for (std::size_t i = 0; i < m_.problem.ports.size(); ++i) {
      double busy = 0;
      std::vector<std::string> parts;
      for (const cost::PortUser& user : m_.problem.ports[i].users) {
        const cost::Flow& f = m_.evaluation.levels[user.operand][user.level].flows[user.direction];
        if (f.periods == 0) continue;
        const double cycles = m_.problem.quirks.uniform_tiles ? f.busy * f.periods : f.cycles;
        busy += cycles;
        parts.push_back(number(cycles));
      }
      if (parts.empty()) continue;
      add(11, fmt::format("busy cycles of {}", port_name(m_, core_, i)), fmt::format("{}", fmt::join(parts, " + ")),
          busy,
          fmt::format("{:.3g} % of {} cycles", 100 * busy / m_.evaluation.latency, number(m_.evaluation.latency)));
    }
    return std::move(lines_);
  }

  std::vector<ExplainedLine> at(std::optional<std::size_t> operand, std::optional<std::size_t> memory, bool brief) {
    for (std::size_t o = 0; o < m_.layer.operands.size(); ++o)
      for (std::size_t l = 0; l < m_.problem.operands[o].memories; ++l) {
        const std::size_t index = m_.problem.operands[o].memory[l];
        if ((operand && *operand != o) || (memory && *memory != index)) continue;
        explain_level(m_, core_, o, l, brief, lines_);
      }
    if (memory && !operand) capacity(*memory);
    return std::move(lines_);
  }

 private:
  void add(int equation, std::string name, std::string terms, double value, std::string remark = "") {
    lines_.push_back({equation, std::move(name), std::move(terms), value, std::move(remark)});
  }

  void ideal() {
    const Evaluation& e = m_.evaluation;
    add(10, "ideal_cycles",
        fmt::format("ceil({} / {}) x {}", number(m_.problem.macs), number(m_.problem.lanes),
                    number(m_.problem.cycles_per_mac)),
        e.ideal_cycles, "multiply-accumulates / lanes, x cycles of one");
    std::vector<std::string> loops;
    for (const cost::TemporalLoop& loop : m_.order) loops.push_back(number(loop.factor));
    add(10, "steps", fmt::format("{} x {}", fmt::join(loops, " x "), number(m_.problem.cycles_per_mac)),
        e.temporal_cycles, "product of the temporal loops");
    add(10, "idle_lanes", fmt::format("{} - {}", number(e.temporal_cycles), number(e.ideal_cycles)),
        e.temporal_cycles - e.ideal_cycles, "what the lanes without work cost");
  }

  void stalls() {
    const Evaluation& e = m_.evaluation;
    if (m_.problem.quirks.worst_port) {
      for (std::size_t i = 0; i < e.ports.size(); ++i)
        if (e.ports[i].stall > 0)
          add(12, fmt::format("stall of {}", port_name(m_, core_, i)), "", e.ports[i].stall, "quirk worst_port");
      add(12, "stall_cycles", "", e.stall, "of the port that stalls most alone (quirk worst_port)");
      return;
    }
    std::vector<std::string> parts;
    double sum = 0;
    for (const cost::Wait& wait : e.waits) {
      sum += wait.cycles * wait.periods;
      if (wait.period > e.temporal_cycles) {  // not a period of the nest: all of it
        add(13, fmt::format("what {} still has to carry", port_name(m_, core_, wait.port)),
            fmt::format("{} - {}", number(e.ports[wait.port].busy), number(wait.period)), wait.cycles,
            "cycles the port is busy, less all that the rest takes");
        parts.push_back(number(wait.cycles));
        continue;
      }
      add(12, fmt::format("wait for {}", port_name(m_, core_, wait.port)),
          fmt::format("{} x {}", number(wait.cycles), number(wait.periods)), wait.cycles * wait.periods,
          fmt::format("cycles, after every {} steps, so many times", number(wait.period)));
      parts.push_back(number(wait.cycles * wait.periods));
    }
    if (parts.empty()) parts.push_back("0");
    // Waits are means over tiles of different sizes.
    if (const double rest = e.stall - sum; std::abs(rest) > 1e-9) parts.push_back(number(rest));
    add(13, "stall_cycles", fmt::format("{}", fmt::join(parts, " + ")), e.stall, "all waits, up to whole cycles");
  }

  void first_loads() {
    const Evaluation& e = m_.evaluation;
    for (std::size_t o = 0; o < m_.layer.operands.size(); ++o) {
      const bool output = m_.problem.operands[o].is_output;
      const auto down =
          static_cast<std::size_t>(output ? hardware::Direction::ReadToHigh : hardware::Direction::WriteFromHigh);
      const auto up =
          static_cast<std::size_t>(output ? hardware::Direction::WriteFromLow : hardware::Direction::ReadToLow);
      for (std::size_t l = 0; l + 1 < m_.problem.operands[o].memories; ++l) {
        const double lower = e.levels[o][l].flows[down].waited, upper = e.levels[o][l + 1].flows[up].waited;
        add(14,
            fmt::format("{} {} {}", m_.layer.operands[o].name, output ? "last store, to" : "first load, from",
                        core_.memories[m_.problem.operands[o].memory[l + 1]].name),
            fmt::format("max({}, {})", number(lower), number(upper)), std::max(lower, upper),
            "the longer of its two ports");
      }
    }
    add(15, "onload_cycles", onload_terms(), e.onload,
        "first loads of the inputs: one after the other where both ports are shared, else side by side");
    std::vector<std::string> stores;
    for (const ExplainedLine& line : lines_)
      if (line.equation == 14 && line.name.find("last store") != std::string::npos)
        stores.push_back(number(line.value));
    if (stores.empty()) stores.push_back("0");
    add(15, "offload_cycles", fmt::format("{}", fmt::join(stores, " + ")), e.offload,
        "last stores, one memory after the other");
  }

  struct Loads {
    double shared = 0, half_shared = 0, separate = 0;
  };
  Loads loads_of(std::size_t o) const {
    Loads loads;
    const cost::OperandProblem& operand = m_.problem.operands[o];
    const auto fill = static_cast<std::size_t>(hardware::Direction::WriteFromHigh),
               read = static_cast<std::size_t>(hardware::Direction::ReadToLow);
    for (std::size_t l = 0; l + 1 < operand.memories; ++l) {
      const double longer =
          std::max(m_.evaluation.levels[o][l].flows[fill].waited, m_.evaluation.levels[o][l + 1].flows[read].waited);
      const bool lower = m_.problem.ports[operand.ports[l][fill].port].serves_both_inputs;
      const bool upper = m_.problem.ports[operand.ports[l + 1][read].port].serves_both_inputs;
      if (lower != upper)
        loads.half_shared = longer + (m_.problem.quirks.last_half_shared ? 0 : loads.half_shared);
      else
        (lower ? loads.shared : loads.separate) += longer;
    }
    return loads;
  }
  std::string onload_terms() const {
    const Loads a = loads_of(1);
    if (m_.layer.operands.size() == 2) return number(a.separate);
    const Loads b = loads_of(2);
    const auto one_first = [](const Loads& x, const Loads& y) {
      return fmt::format("{} + max({} + {} + {}, {} + {})", number(x.shared), number(y.shared), number(y.half_shared),
                         number(y.separate), number(x.half_shared), number(x.separate));
    };
    return fmt::format("min({}, {})", one_first(a, b), one_first(b, a));
  }

  double memory_energy(std::size_t i) {
    const cost::MemoryProblem& memory = m_.problem.memories[i];
    double reads = 0, writes = 0;
    for (std::size_t k = 0; k < memory.operands.size(); ++k)
      for (const hardware::Direction d : hardware::kDirections)
        (is_read(d) ? reads : writes) +=
            m_.evaluation.levels[memory.operands[k]][memory.level[k]].flows[static_cast<std::size_t>(d)].words;
    const double pj = reads * memory.read_pj + writes * memory.write_pj;
    add(6, fmt::format("energy of {}, pJ", core_.memories[i].name),
        fmt::format("{} x {} + {} x {}", number(reads), number(memory.read_pj), number(writes),
                    number(memory.write_pj)),
        pj, "words read x pJ + words written x pJ; " + sources(core_.memories[i]));
    return pj;
  }

  void capacity(std::size_t i) {
    const cost::MemoryProblem& memory = m_.problem.memories[i];
    double used = 0;
    std::vector<std::string> parts;
    for (std::size_t k = 0; k < memory.operands.size(); ++k) {
      const cost::MemoryLevel& level = m_.evaluation.levels[memory.operands[k]][memory.level[k]];
      parts.push_back(number(level.tile_bits));
      used += level.tile_bits;
      if (!level.is_double_buffered) continue;
      parts.push_back(number(second_buffer_bits(m_, level)));
      used += second_buffer_bits(m_, level);
    }
    if (parts.empty()) return;
    add(2, "bits held", fmt::format("{}", fmt::join(parts, " + ")), used,
        fmt::format("tiles and second buffers, of {} bits", number(memory.size_bits)));
  }

  std::string sources(const hardware::Memory& memory) const {
    const std::string read = source(memory.read_energy_pj), write = source(memory.write_energy_pj);
    return read == write ? "both " + read : fmt::format("read {}; write {}", read, write);
  }
  std::string source(const hardware::Figure& figure) const { return figure_source(figure, run_.chip); }

  const MapRun& run_;
  const Mapped& m_;
  const Core& core_;
  std::vector<ExplainedLine> lines_;
};

std::vector<ExplainedLine> lines_for(const MapRun& run, const Mapped& m, const std::string& what) {
  const Core& core = run.chosen_core();
  Explainer explainer(run, m);
  if (what == "latency") return explainer.latency();
  if (what == "energy") return explainer.energy();
  if (what == "stall") return explainer.stall();
  if (what == "accesses") return explainer.at(std::nullopt, std::nullopt, true);
  std::vector<std::string> words{"latency", "energy", "accesses", "stall"};
  const auto operand = [&](const std::string& name) -> std::optional<std::size_t> {
    for (std::size_t o = 0; o < m.layer.operands.size(); ++o)
      if (m.layer.operands[o].name == name) return o;
    return std::nullopt;
  };
  const auto memory = [&](const std::string& name) -> std::optional<std::size_t> {
    for (std::size_t i = 0; i < core.memories.size(); ++i)
      if (core.memories[i].name == name) return i;
    return std::nullopt;
  };
  const std::size_t at = what.find('@');
  if (at != std::string::npos) {
    const auto o = operand(what.substr(0, at)), i = memory(what.substr(at + 1));
    if (o && i) {
      std::vector<ExplainedLine> lines = explainer.at(o, i, false);
      if (!lines.empty()) return lines;
    }
  } else if (const auto o = operand(what)) {
    return explainer.at(o, std::nullopt, false);
  } else if (const auto i = memory(what)) {
    return explainer.at(std::nullopt, i, false);
  }
  for (std::size_t o = 0; o < m.layer.operands.size(); ++o) {
    words.push_back(m.layer.operands[o].name);
    for (std::size_t l = 0; l < m.problem.operands[o].memories; ++l)
      words.push_back(m.layer.operands[o].name + "@" + core.memories[m.problem.operands[o].memory[l]].name);
  }
  for (const hardware::Memory& each : core.memories) words.push_back(each.name);
  throw InputError(Diagnostic{.where = "WHAT",
                              .message = fmt::format("nothing is called '{}'", what.substr(0, 60)),
                              .hint = did_you_mean(what, words, fmt::format("there are {}", fmt::join(words, ", ")))});
}

}  // namespace

Explanation explain(const ExplainRequest& request) {
  MapRequest asked = request.map;
  if (asked.hardware.empty()) {
    const std::string path = request.run + "/result.json";
    std::error_code error;
    if (!std::filesystem::is_directory(request.run, error))
      throw InputError(Diagnostic{.where = "RUN",
                                  .message = fmt::format("'{}' is no folder", request.run.substr(0, 80)),
                                  .hint = "monet map … --out DIR writes one; or give a LAYER with --on"});
    asked = request_of(read_file(path), path);
  } else {
    asked.layer.layer = request.run;
  }
  Explanation out{.map = map_layers(asked)};
  if (out.map.layers.empty())
    throw InputError(Diagnostic{.where = "RUN",
                                .message = "element-wise work has no loop nest to explain",
                                .hint = "monet map shows all there is to it"});
  for (std::size_t i = out.map.layers.size(); i-- > 0;)
    if (out.map.layers[i].mapped) out.layer = i;
  if (!out.map.layers[out.layer].mapped) return out;
  out.lines = lines_for(out.map, *out.map.layers[out.layer].mapped, request.what);
  return out;
}

std::string text(const Explanation& explanation, const std::string& what) {
  const MapRun& run = explanation.map;
  const MappedLayer& layer = run.layers[explanation.layer];
  std::string out =
      fmt::format("{} of {} on {}/{}\n", what, layer.layer.name, run.chip.hardware.name, run.chosen_core().name);
  if (!layer.mapped) {
    out += "infeasible: " + layer.reason + "\n";
    for (const std::string& lever : layer.levers) out += "  " + lever + "\n";
    return out;
  }
  for (const ExplainedLine& line : explanation.lines) {
    if (line.equation == 0) {
      out += fmt::format("\n{}\n", line.name);
      continue;
    }
    const std::string terms = line.terms.empty() ? "" : fmt::format(" = {}", line.terms);
    out += fmt::format("  ({}) {}{} = {}\n", line.equation, line.name, terms, number(line.value));
    if (!line.remark.empty()) out += fmt::format("       {}\n", line.remark);
  }
  return out + "\n(n) is equation n of docs/cost.md\n";
}

Json json(const Explanation& explanation, const std::string& what) {
  const MappedLayer& layer = explanation.map.layers[explanation.layer];
  Json lines = Json::array();
  for (const ExplainedLine& line : explanation.lines) {
    if (line.equation == 0) continue;
    lines.push(Json::object()
                   .set("equation", line.equation)
                   .set("name", line.name)
                   .set("terms", line.terms)
                   .set("value", line.value)
                   .set("remark", line.remark));
  }
  return Json::object()
      .set("layer", layer.layer.name)
      .set("what", what)
      .set("feasible", layer.mapped.has_value())
      .set("lines", std::move(lines));
}

}  // namespace monet
