#include "monet/schedule/tile_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <utility>

#include "monet/base/diagnostic.h"
#include "monet/base/parallel.h"
#include "monet/base/rng.h"
#include "monet/cost/fit.h"
#include "monet/cost/forms.h"

namespace monet::schedule {
namespace {

using hardware::Slot;

// Everything that tells two works apart.
std::string key_of(const work::Work& work) {
  std::string key;
  const auto format = [&](const Format& f) {
    key += fmt::format("f{}", bits_per_element(f)) + std::string(name(f.element));
  };
  if (const auto* nest = std::get_if<work::LoopNest>(&work)) {
    for (const work::Dimension& d : nest->dimensions) key += fmt::format("{}{} ", d.name, d.size);
    for (const work::Operand& o : nest->operands) {
      key += fmt::format("|{}", static_cast<int>(o.role));
      format(o.format);
      format(o.accumulator);
      for (const work::Axis& axis : o.axes) {
        key += fmt::format(";{},{}", axis.extent, axis.offset);
        for (const work::Term& t : axis.terms) key += fmt::format(":{}*{}", t.dimension, t.coefficient);
      }
    }
    return key;
  }
  const auto& vector = std::get<work::VectorWork>(work);
  key = fmt::format("v{}{}{}", vector.is_view ? 1 : 0, vector.permutes ? 1 : 0, vector.indirect ? 1 : 0);
  for (const std::int64_t i : vector.iteration) key += fmt::format(" {}", i);
  for (const bool r : vector.reduced) key += r ? 'r' : '.';
  for (const work::FunctionCount& f : vector.functions)
    key += fmt::format("|{}x{}", static_cast<int>(f.function), f.count);
  for (const auto* list : {&vector.reads, &vector.writes}) {
    key += '/';
    for (const work::Transfer& t : *list) {
      key += fmt::format("{}", t.elements);
      format(t.format);
    }
  }
  return key;
}

bool is_home_level(const plan::Chip& chip, const plan::CoreOnChip& core, Slot slot, std::size_t memory) {
  if (core.stores[static_cast<std::size_t>(slot)] != chip.machine.home) return false;
  for (std::size_t m = memory + 1; m < core.core.memories.size(); ++m) {
    const auto& slots = core.core.memories[m].slots;
    if (std::find(slots.begin(), slots.end(), slot) != slots.end()) return false;
  }
  return true;
}

void add_energy(std::vector<LevelEnergy>& levels, std::uint32_t memory, Slot slot, double pj) {
  for (LevelEnergy& level : levels)
    if (level.memory == memory && level.slot == slot) {
      level.pj += pj;
      return;
    }
  levels.push_back({memory, slot, pj});
}

// 0 … count - 1 in an order of its own for each seed; as they come for none.
std::vector<std::size_t> shuffled(std::size_t count, std::uint64_t seed) {
  std::vector<std::pair<std::uint64_t, std::size_t>> keyed;
  for (std::size_t i = 0; i < count; ++i) keyed.emplace_back(seed == 0 ? 0 : random_bits(seed, 0, i), i);
  std::sort(keyed.begin(), keyed.end());
  std::vector<std::size_t> out;
  for (const auto& [key, i] : keyed) out.push_back(i);
  return out;
}

}  // namespace

TileKinds::TileKinds(const plan::Chip& chip) : chip_(chip) {
  for (std::uint32_t c = 0; c < chip.cores.size(); ++c) {
    alike_.push_back(c);
    for (std::uint32_t other = 0; other < c; ++other) {
      hardware::Core core = chip.cores[other].core;
      core.name = chip.cores[c].core.name;
      const auto is_home = [&](std::uint32_t i, Slot slot) { return chip.store(i, slot) == chip.machine.home; };
      const bool same_slots = std::all_of(hardware::kSlots.begin(), hardware::kSlots.end(),
                                          [&](Slot slot) { return is_home(c, slot) == is_home(other, slot); });
      if (core == chip.cores[c].core && same_slots) {
        alike_[c] = other;
        break;
      }
    }
  }
}

std::uint32_t TileKinds::find(std::uint32_t core, const work::Work& work, bool adds_to_sums, bool leaves_sums,
                              const std::array<bool, 3>& at_lanes) {
  core = alike_[core];
  const auto [at, is_new] =
      known_.emplace(fmt::format("{} {}{}{}{}{} {}", core, adds_to_sums ? 1 : 0, leaves_sums ? 1 : 0,
                                 at_lanes[0] ? 1 : 0, at_lanes[1] ? 1 : 0, at_lanes[2] ? 1 : 0, key_of(work)),
                     static_cast<std::uint32_t>(kinds_.size()));
  if (is_new) {
    kinds_.push_back(
        {.core = core, .work = work, .adds_to_sums = adds_to_sums, .leaves_sums = leaves_sums, .at_lanes = at_lanes});
    keys_.push_back(&at->first);
  }
  return at->second;
}

void TileKinds::price(const CostOptions& options) {
  cost::Cache own;
  cost::Cache& cache = options.cache != nullptr ? *options.cache : own;
  std::map<std::pair<std::uint32_t, std::array<bool, 3>>, PricedCore> cores;
  for (const TileKind& kind : kinds_) {
    if (!std::holds_alternative<work::LoopNest>(kind.work)) continue;
    PricedCore& priced = cores[{kind.core, kind.at_lanes}];
    if (!priced.key.digest.empty()) continue;
    priced.lanes = plan::at_lanes(chip_.cores[kind.core].core, kind.at_lanes);
    priced.key = cost::key_of(priced.lanes.core, options.map);
  }
  const auto price_one = [&](std::size_t i) {
    if (options.priced != nullptr && options.priced->look_up(*keys_[i], kinds_[i])) return;
    if (std::holds_alternative<work::LoopNest>(kinds_[i].work))
      price_nest(kinds_[i], options, cores.at({kinds_[i].core, kinds_[i].at_lanes}), cache);
    else
      price_vector(kinds_[i]);
    if (options.priced != nullptr) options.priced->keep(*keys_[i], kinds_[i]);
  };
  try {
    const std::vector<std::size_t> order = shuffled(kinds_.size(), options.order);
    parallel_for(kinds_.size(), options.threads, [&](std::size_t i) { price_one(order[i]); });
  } catch (const InputError&) {
    if (options.order != 0) parallel_for(kinds_.size(), options.threads, price_one);  // throws that of the first kind
    throw;
  }
}

bool PricedKinds::look_up(const std::string& key, TileKind& kind) const {
  const std::shared_lock lock(mutex_);
  const auto at = kinds_.find(key);
  if (at == kinds_.end()) return false;
  kind = at->second;
  return true;
}

void PricedKinds::keep(const std::string& key, const TileKind& kind) {
  const std::unique_lock lock(mutex_);
  kinds_.emplace(key, kind);
}

// The forms in which the core's array may compute a nest: each a list of layers, one after the other.
std::vector<std::vector<cost::Layer>> TileKinds::forms_of(const TileKind& kind) const {
  const hardware::Core& core = chip_.cores[kind.core].core;
  const auto& nest = std::get<work::LoopNest>(kind.work);
  const cost::Layer as_lowered = cost::layer_of(nest, "tile");
  cost::Layer fitted = as_lowered;
  const bool has_form = cost::fit_form(fitted, nest, core).has_value() && fitted != as_lowered;
  std::vector<std::vector<cost::Layer>> forms{{fitted}};
  if (!has_form) return forms;
  // Zeros between the elements are multiplied, and may take more room than there is.
  if (work::macs(cost::form_on(nest, *core.array)) != work::macs(nest)) {
    forms.emplace_back();
    for (const work::LoopNest& part : cost::gathered_by_remainder(nest))
      forms.back().push_back(cost::layer_of(part, "tile"));
    if (forms.back().empty()) forms.pop_back();
  }
  forms.push_back({as_lowered});
  return forms;
}

void TileKinds::price_nest(TileKind& kind, const CostOptions& options, const PricedCore& on, cost::Cache& cache) const {
  const plan::AtLanes& priced = on.lanes;
  std::vector<std::vector<cost::Layer>> forms = forms_of(kind);
  std::vector<cost::Mapped> best;
  double least = 0;
  for (std::size_t f = 0; f < forms.size(); ++f) {
    // What is scattered adds to sums in the store again and again: only if nothing else fits.
    if (f > 0 && f + 1 == forms.size() && !best.empty()) break;
    std::vector<cost::Mapped> mapped;
    double cycles = 0;
    for (cost::Layer& layer : forms[f]) {
      if (const auto note = cost::fit_formats(layer, priced.core, false);
          note && std::find(kind.notes.begin(), kind.notes.end(), *note) == kind.notes.end())
        kind.notes.push_back(*note);
      if (kind.adds_to_sums) layer.starts_from_stored = true;
      if (kind.leaves_sums) layer.operands[0].bits = layer.operands[0].partial_bits;
      cost::MapResult result = cache.map(layer, priced.core, on.key, {}, options.map);
      if (!result.mapped) {
        kind.reason = result.reason;
        break;
      }
      cycles += std::ceil(result.mapped->evaluation.latency);
      mapped.push_back(std::move(*result.mapped));
    }
    if (mapped.size() < forms[f].size() || (!best.empty() && cycles >= least)) continue;
    kind.layers = std::move(forms[f]);
    best = std::move(mapped);
    least = cycles;
  }
  if (best.empty()) return;
  kind.reason.clear();
  kind.cost.macs = static_cast<double>(macs(std::get<work::LoopNest>(kind.work)));
  for (const cost::Mapped& mapped : best) add_cost(kind, priced, mapped);
}

void TileKinds::add_cost(TileKind& kind, const plan::AtLanes& priced, const cost::Mapped& mapped) const {
  const plan::CoreOnChip& core = chip_.cores[kind.core];
  const cost::Evaluation& e = mapped.evaluation;
  kind.cost.cycles += std::ceil(e.latency);
  kind.cost.compute_pj += e.mac_energy_pj;
  for (std::size_t i = 0; i < mapped.problem.ports.size(); ++i) {
    const cost::PortProblem& port = mapped.problem.ports[i];
    double words = 0;
    for (const cost::PortUser& user : port.users)
      words += e.levels[user.operand][user.level].flows[user.direction].words;
    add_port(kind, priced.memory[port.memory], priced.core.memories[port.memory].ports[port.port].name, words);
  }
  for (std::size_t o = 0; o < mapped.problem.operands.size(); ++o) {
    const Slot slot = mapped.layer.operands[o].slot;
    for (std::size_t m = 0; m < mapped.problem.operands[o].memories; ++m) {
      const std::size_t memory = priced.memory[mapped.problem.operands[o].memory[m]];
      add_energy(kind.cost.levels, static_cast<std::uint32_t>(memory), slot, e.levels[o][m].energy_pj);
      if (kind.at_lanes[static_cast<std::size_t>(slot)] || !is_home_level(chip_, core, slot, memory)) continue;
      for (const hardware::Direction d : hardware::kDirections) {
        const cost::Flow& flow = e.levels[o][m].flows[static_cast<std::size_t>(d)];
        auto& bytes = is_read(d) ? kind.cost.home_reads : kind.cost.home_writes;
        bytes[static_cast<std::size_t>(slot)] += flow.moved * flow.bits / kBitsPerByte;
      }
    }
  }
}

// Parts of a word that can be accessed alone leave the rest of the cycle to others.
void TileKinds::add_port(TileKind& kind, std::size_t memory, const std::string& port, double words) const {
  const plan::CoreOnChip& core = chip_.cores[kind.core];
  for (const plan::CorePort& p : core.ports) {
    if (p.memory != memory || core.core.memories[memory].ports[p.port].name != port || words <= 0) continue;
    auto at = std::find_if(kind.cost.ports.begin(), kind.cost.ports.end(),
                           [&](const PortBusy& b) { return b.memory == p.memory && b.port == p.port; });
    if (at == kind.cost.ports.end()) at = kind.cost.ports.insert(at, {p.memory, p.port, 0});
    at->cycles = std::min(at->cycles + std::ceil(words - 1e-9), kind.cost.cycles);
  }
}

void TileKinds::price_vector(TileKind& kind) const {
  const plan::CoreOnChip& core = chip_.cores[kind.core];
  const auto& work = std::get<work::VectorWork>(kind.work);
  try {
    const cost::VectorCost c = cost::vector_cost(work, core.core, 0, kind.at_lanes);
    kind.cost.cycles = std::ceil(c.latency);
    kind.cost.compute_pj = c.compute_energy_pj;
    kind.cost.vector_ops = static_cast<double>(element_operations(work));
    for (const cost::VectorAccess& a : c.accesses) {
      add_energy(kind.cost.levels, static_cast<std::uint32_t>(a.memory), a.slot, a.energy_pj);
      if (!is_home_level(chip_, core, a.slot, a.memory)) continue;
      auto& bytes = is_read(a.direction) ? kind.cost.home_reads : kind.cost.home_writes;
      bytes[static_cast<std::size_t>(a.slot)] += a.bits / kBitsPerByte;
    }
    for (const cost::VectorPort& p : c.ports)
      add_port(kind, p.memory, core.core.memories[p.memory].ports[p.port].name, p.words);
    for (const cost::StandIn& s : c.stand_ins)
      kind.notes.push_back(fmt::format("{}: no figure of core '{}', taken as {} multiply-adds", name(s.function),
                                       core.core.name, s.operations));
  } catch (const InputError& error) {
    kind.reason = error.diagnostics().front().message;
  }
}

}  // namespace monet::schedule
