#include "monet/verbs/explain.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "monet/base/file.h"
#include "monet/base/nearest.h"
#include "monet/report/nest.h"
#include "monet/verbs/explain_bound.h"
#include "monet/verbs/explain_flow.h"
#include "monet/verbs/explain_inputs.h"
#include "monet/verbs/explain_levers.h"

namespace monet {
namespace {

using cost::Mapped;
using hardware::Core;

class Explainer {
 public:
  Explainer(const MapRun& run, const Mapped& mapped) : m_(mapped), core_(run.chosen_core()), inputs_(run) {}

  std::vector<ExplainedLine> latency() {
    const cost::Evaluation& e = m_.evaluation;
    ideal();
    stalls();
    first_loads();
    add(16, "latency_cycles",
        fmt::format("{} + {} + {} + {} + {}", exact_number(e.ideal_cycles),
                    exact_number(e.temporal_cycles - e.ideal_cycles), exact_number(e.stall), exact_number(e.onload),
                    exact_number(e.offload)),
        e.latency, "ideal + idle lanes + stalls + first loads + last stores");
    return std::move(lines_);
  }

  std::vector<ExplainedLine> energy() {
    const cost::Evaluation& e = m_.evaluation;
    add(7, "mac_energy_pj", fmt::format("{} x {}", exact_number(m_.problem.macs), exact_number(m_.problem.mac_pj)),
        e.mac_energy_pj, "multiply-accumulates x pJ of one", {inputs_.mac_energy(m_.problem)});
    std::vector<std::string> parts{exact_number(e.mac_energy_pj)};
    for (std::size_t i = core_.memories.size(); i-- > 0;) {
      const double pj = memory_energy(i);
      parts.push_back(exact_number(pj));
    }
    parts.push_back(exact_number(e.static_energy_pj));
    std::vector<ExplainedInput> leaks;
    if (m_.problem.leakage_pj_per_cycle > 0) leaks.push_back(inputs_.clock());
    for (std::size_t i = 0; i < core_.memories.size() && !leaks.empty(); ++i)
      if (core_.memories[i].leakage_mw.value > 0) leaks.push_back(inputs_.leakage(i));
    add(8, "static_energy_pj",
        fmt::format("{} x {}", exact_number(m_.problem.leakage_pj_per_cycle), exact_number(e.latency)),
        e.static_energy_pj, "leakage of all memories, pJ a cycle, x cycles", std::move(leaks));
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
        parts.push_back(exact_number(cycles));
      }
      if (parts.empty()) continue;
      add(11, fmt::format("busy cycles of {}", port_name(m_, core_, i)), fmt::format("{}", fmt::join(parts, " + ")),
          busy,
          fmt::format("{:.3g} % of {} cycles", 100 * busy / m_.evaluation.latency, exact_number(m_.evaluation.latency)),
          {inputs_.width(m_.problem, i)});
    }
    return std::move(lines_);
  }

  std::vector<ExplainedLine> at(std::optional<std::size_t> operand, std::optional<std::size_t> memory, bool brief) {
    for (std::size_t o = 0; o < m_.layer.operands.size(); ++o)
      for (std::size_t l = 0; l < m_.problem.operands[o].memories; ++l) {
        const std::size_t index = m_.problem.operands[o].memory[l];
        if ((operand && *operand != o) || (memory && *memory != index)) continue;
        explain_level(m_, core_, inputs_, o, l, brief, lines_);
      }
    if (memory && !operand) capacity(*memory);
    return std::move(lines_);
  }

 private:
  void add(int equation, std::string name, std::string terms, double value, std::string remark = "",
           std::vector<ExplainedInput> inputs = {}) {
    lines_.push_back({equation, std::move(name), std::move(terms), value, std::move(remark), std::move(inputs)});
  }

  void ideal() {
    const cost::Evaluation& e = m_.evaluation;
    add(10, "ideal_cycles",
        fmt::format("ceil({} / {}) x {}", exact_number(m_.problem.macs), exact_number(m_.problem.lanes),
                    exact_number(m_.problem.cycles_per_mac)),
        e.ideal_cycles, "multiply-accumulates / lanes, x cycles of one", inputs_.lanes());
    std::vector<std::string> loops;
    for (const cost::TemporalLoop& loop : m_.order) loops.push_back(exact_number(loop.factor));
    add(10, "steps", fmt::format("{} x {}", fmt::join(loops, " x "), exact_number(m_.problem.cycles_per_mac)),
        e.temporal_cycles, "product of the temporal loops");
    add(10, "idle_lanes", fmt::format("{} - {}", exact_number(e.temporal_cycles), exact_number(e.ideal_cycles)),
        e.temporal_cycles - e.ideal_cycles, "what the lanes without work cost");
  }

  void stalls() {
    const cost::Evaluation& e = m_.evaluation;
    if (m_.problem.quirks.worst_port) {
      for (std::size_t i = 0; i < e.ports.size(); ++i)
        if (e.ports[i].stall > 0)
          add(12, fmt::format("stall of {}", port_name(m_, core_, i)), "", e.ports[i].stall, "quirk worst_port",
              {inputs_.width(m_.problem, i)});
      add(12, "stall_cycles", "", e.stall, "of the port that stalls most alone (quirk worst_port)");
      return;
    }
    std::vector<std::string> parts;
    double sum = 0;
    for (const cost::Wait& wait : e.waits) {
      sum += wait.cycles * wait.periods;
      if (wait.period > e.temporal_cycles) {  // not a period of the nest: all of it
        add(13, fmt::format("what {} still has to carry", port_name(m_, core_, wait.port)),
            fmt::format("{} - {}", exact_number(e.ports[wait.port].busy), exact_number(wait.period)), wait.cycles,
            "cycles the port is busy, less all that the rest takes", {inputs_.width(m_.problem, wait.port)});
        parts.push_back(exact_number(wait.cycles));
        continue;
      }
      add(12, fmt::format("wait for {}", port_name(m_, core_, wait.port)),
          fmt::format("{} x {}", exact_number(wait.cycles), exact_number(wait.periods)), wait.cycles * wait.periods,
          fmt::format("cycles, after every {} steps, so many times", exact_number(wait.period)),
          {inputs_.width(m_.problem, wait.port)});
      parts.push_back(exact_number(wait.cycles * wait.periods));
    }
    if (parts.empty()) parts.push_back("0");
    // Waits are means over tiles of different sizes.
    if (const double rest = e.stall - sum; std::abs(rest) > 1e-9) parts.push_back(exact_number(rest));
    add(13, "stall_cycles", fmt::format("{}", fmt::join(parts, " + ")), e.stall, "all waits, up to whole cycles");
  }

  void first_loads() {
    const cost::Evaluation& e = m_.evaluation;
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
            fmt::format("max({}, {})", exact_number(lower), exact_number(upper)), std::max(lower, upper),
            "the longer of its two ports",
            {inputs_.width(m_.problem, m_.problem.operands[o].ports[l + 1][up].port),
             inputs_.width(m_.problem, m_.problem.operands[o].ports[l][down].port),
             inputs_.first_word(m_.problem.operands[o].memory[l + 1])});
      }
    }
    add(15, "onload_cycles", onload_terms(), e.onload,
        "first loads of the inputs: one after the other where both ports are shared, else side by side");
    std::vector<std::string> stores;
    for (const ExplainedLine& line : lines_)
      if (line.equation == 14 && line.name.find("last store") != std::string::npos)
        stores.push_back(exact_number(line.value));
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
    if (m_.layer.operands.size() == 2) return exact_number(a.separate);
    const Loads b = loads_of(2);
    const auto one_first = [](const Loads& x, const Loads& y) {
      return fmt::format("{} + max({} + {} + {}, {} + {})", exact_number(x.shared), exact_number(y.shared),
                         exact_number(y.half_shared), exact_number(y.separate), exact_number(x.half_shared),
                         exact_number(x.separate));
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
        fmt::format("{} x {} + {} x {}", exact_number(reads), exact_number(memory.read_pj), exact_number(writes),
                    exact_number(memory.write_pj)),
        pj, "words read x pJ + words written x pJ", {inputs_.read_energy(i), inputs_.write_energy(i)});
    return pj;
  }

  void capacity(std::size_t i) {
    const cost::MemoryProblem& memory = m_.problem.memories[i];
    double used = 0;
    std::vector<std::string> parts;
    for (std::size_t k = 0; k < memory.operands.size(); ++k) {
      const cost::MemoryLevel& level = m_.evaluation.levels[memory.operands[k]][memory.level[k]];
      parts.push_back(exact_number(level.tile_bits));
      used += level.tile_bits;
      if (!level.is_double_buffered) continue;
      parts.push_back(exact_number(second_buffer_bits(m_, level)));
      used += second_buffer_bits(m_, level);
    }
    if (parts.empty()) return;
    add(2, "bits held", fmt::format("{}", fmt::join(parts, " + ")), used,
        fmt::format("tiles and second buffers, of {} bits", exact_number(memory.size_bits)), {inputs_.size(i)});
  }

  const Mapped& m_;
  const Core& core_;
  const ChipInputs inputs_;
  std::vector<ExplainedLine> lines_;
};

// What WHAT is about. Throws InputError if it is nothing.
struct ExplainedPart {
  std::string word{};  // latency, energy, accesses, stall, levers; empty: an operand, a memory or both
  std::optional<std::size_t> operand{}, memory{};
};

const std::vector<std::string> kWords{"latency", "energy", "accesses", "stall", "levers"};

std::optional<ExplainedPart> part_named(const MapRun& run, const Mapped& m, const std::string& what) {
  const Core& core = run.chosen_core();
  const std::size_t at = what.find('@');
  ExplainedPart subject;
  const std::string operand = what.substr(0, at), memory = at == std::string::npos ? what : what.substr(at + 1);
  for (std::size_t o = m.layer.operands.size(); o-- > 0;)
    if (m.layer.operands[o].name == operand) subject.operand = o;
  for (std::size_t i = core.memories.size(); i-- > 0;)
    if (core.memories[i].name == memory) subject.memory = i;
  if (at == std::string::npos) {
    if (subject.operand) subject.memory.reset();  // an operand goes before a memory of its name
    return subject.operand || subject.memory ? std::optional(subject) : std::nullopt;
  }
  if (!subject.operand || !subject.memory) return std::nullopt;
  const std::vector<std::size_t>& held = m.problem.memories[*subject.memory].operands;
  const bool goes_there = std::find(held.begin(), held.end(), *subject.operand) != held.end();
  return goes_there ? std::optional(subject) : std::nullopt;
}

ExplainedPart subject_of(const MapRun& run, const Mapped& m, const std::string& what) {
  if (std::find(kWords.begin(), kWords.end(), what) != kWords.end()) return {.word = what};
  if (const std::optional<ExplainedPart> part = part_named(run, m, what)) return *part;
  std::vector<std::string> words = kWords;
  const Core& core = run.chosen_core();
  for (std::size_t o = 0; o < m.layer.operands.size(); ++o) {
    words.push_back(m.layer.operands[o].name);
    for (std::size_t l = 0; l < m.problem.operands[o].memories; ++l)
      words.push_back(m.layer.operands[o].name + "@" + core.memories[m.problem.operands[o].memory[l]].name);
  }
  for (const hardware::Memory& each : core.memories) words.push_back(each.name);
  std::string fallback = fmt::format("there are {}", fmt::join(words, ", "));
  if (run.layers.size() + run.vectors.size() > 1 && what.find('/') != std::string::npos) {
    const std::size_t slash = what.rfind('/');
    std::vector<std::string> layers;
    for (const MappedLayer& layer : run.layers) layers.push_back(layer.layer.name);
    for (const MappedVector& v : run.vectors)
      if (v.name == what.substr(0, slash))
        throw InputError(Diagnostic{
            .where = "WHAT",
            .message = fmt::format("'{}' is element-wise work: it has no loop nest to explain", v.name.substr(0, 60)),
            .hint = fmt::format("it is bound by {}; monet map shows all there is to it", v.cost.bound_by)});
    throw InputError(Diagnostic{.where = "WHAT",
                                .message = fmt::format("no layer is called '{}'", what.substr(0, slash).substr(0, 60)),
                                .hint = did_you_mean(what.substr(0, slash), layers, "monet map lists them")});
  }
  throw InputError(Diagnostic{.where = "WHAT",
                              .message = fmt::format("nothing is called '{}'", what.substr(0, 60)),
                              .hint = did_you_mean(what, words, fallback)});
}

std::vector<ExplainedLine> lines_for(const MapRun& run, const Mapped& m, const ExplainedPart& subject) {
  Explainer explainer(run, m);
  if (subject.word == "latency") return explainer.latency();
  if (subject.word == "energy") return explainer.energy();
  if (subject.word == "stall") return explainer.stall();
  if (subject.word == "accesses") return explainer.at(std::nullopt, std::nullopt, true);
  if (subject.word == "levers") return {};
  return explainer.at(subject.operand, subject.memory, false);
}

MapRequest asked_of(const ExplainRequest& request) {
  if (!request.map.hardware.empty()) {
    MapRequest asked = request.map;
    asked.layer.layer = request.run;
    return asked;
  }
  std::error_code error;
  if (!std::filesystem::is_directory(request.run, error))
    throw InputError(Diagnostic{.where = "RUN",
                                .message = fmt::format("'{}' is no folder", request.run.substr(0, 80)),
                                .hint = "monet map … --out DIR writes one; or give a LAYER with --on"});
  const std::string path = request.run + "/result.json";
  return request_of(read_file(path), path);
}

std::vector<LayerShare> shares_of(const MapRun& run) {
  std::vector<LayerShare> shares;
  for (const MappedLayer& layer : run.layers) {
    LayerShare share{.name = layer.layer.name,
                     .is_feasible = layer.mapped.has_value(),
                     .bound = layer.is_stopped ? "not known" : "infeasible"};
    if (layer.mapped) {
      share.latency = layer.mapped->evaluation.latency;
      share.energy_pj = layer.mapped->evaluation.energy_pj;
      share.bound = find_bound(*layer.mapped, run.chosen_core()).resource;
    }
    shares.push_back(std::move(share));
  }
  for (const MappedVector& v : run.vectors)
    shares.push_back({v.name, true, v.cost.latency, v.cost.energy_pj, v.cost.bound_by});
  return shares;
}

// The layer WHAT begins with, and what is left of it; without one the layer that has most of WHAT.
std::size_t choose_layer(const MapRun& run, std::string& what, bool& is_named) {
  std::optional<std::size_t> named;
  const auto length = [&](std::size_t i) { return run.layers[i].layer.name.size(); };
  for (std::size_t i = 0; i < run.layers.size(); ++i)
    if (what.starts_with(run.layers[i].layer.name + "/") && (!named || length(i) > length(*named))) named = i;
  if (named) {
    what.erase(0, length(*named) + 1);
    is_named = true;
    return *named;
  }
  std::size_t most = 0;
  double most_has = -1;
  for (std::size_t i = 0; i < run.layers.size(); ++i) {
    if (!run.layers[i].mapped) continue;
    const cost::Evaluation& e = run.layers[i].mapped->evaluation;
    const double has = what == "energy" ? e.energy_pj : what == "stall" ? e.stall : e.latency;
    if (has > most_has) most = i, most_has = has;
  }
  return most;
}

}  // namespace

Explanation explain(const ExplainRequest& request) {
  const MapRequest asked = asked_of(request);
  Explanation out{.map = map_layers(asked), .what = request.what};
  if (out.map.layers.empty())
    throw InputError(Diagnostic{.where = "RUN",
                                .message = "element-wise work has no loop nest to explain",
                                .hint = "monet map shows all there is to it"});
  if (out.map.layers.size() + out.map.vectors.size() > 1) out.layers = shares_of(out.map);
  out.layer = choose_layer(out.map, out.what, out.is_named);
  const MappedLayer& layer = out.map.layers[out.layer];
  if (!layer.mapped) return out;
  const ExplainedPart subject = subject_of(out.map, *layer.mapped, out.what);
  out.operand = subject.operand;
  out.memory = subject.memory;
  out.lines = lines_for(out.map, *layer.mapped, subject);
  out.bound = find_bound(*layer.mapped, out.map.chosen_core());
  const bool is_one = subject.word == "latency" || subject.word == "stall" || subject.word == "energy";
  out.by_energy = subject.word == "energy" || (!is_one && out.map.options.criterion == cost::Criterion::Energy);
  out.levers = find_levers(out.map, layer,
                           {.operand = subject.operand,
                            .memory = subject.memory,
                            .by_energy = out.by_energy,
                            .only_that = is_one,
                            .threads = asked.threads});
  return out;
}

}  // namespace monet
