#include "monet/search/placement_model.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

#include "monet/base/parallel.h"

namespace monet::search {
namespace {

std::uint64_t bits_of(const std::vector<std::uint32_t>& cores) {
  std::uint64_t bits = 0;
  for (const std::uint32_t c : cores) bits |= std::uint64_t{1} << c;
  return bits;
}

template <class Visit>
void for_each_core(std::uint64_t cores, const Visit& visit) {
  for (; cores != 0; cores &= cores - 1) visit(static_cast<std::size_t>(std::countr_zero(cores)));
}

// By core, the first one that differs in nothing but its name.
std::vector<std::uint32_t> alike(const plan::Chip& chip) {
  std::vector<std::uint32_t> out;
  for (std::uint32_t c = 0; c < chip.cores.size(); ++c) {
    hardware::Core core = chip.cores[c].core;
    std::uint32_t first = 0;
    while (first < c && (core.name = chip.cores[first].core.name, core != chip.cores[first].core)) ++first;
    out.push_back(first);
  }
  return out;
}

}  // namespace

PlacementModel::PlacementModel(const Placement& placement, std::size_t threads)
    : placement_(placement), alike_(alike(placement.setting().chip)), into_(placement.layers().size()) {
  for (const LayerEdge& edge : placement.edges()) into_[edge.to].push_back(edge);
  find_ways();
  evaluated_.emplace_back(placement.layers().size(), std::uint16_t{0});
  for (std::uint32_t c = 0; c < alike_.size(); ++c)
    if (solve::Choices all = placement.all_on(c); alike_[c] == c && all != evaluated_.front())
      evaluated_.push_back(std::move(all));
  std::vector<Evaluated> outcomes(evaluated_.size());
  parallel_for(outcomes.size(), threads, [&](std::size_t i) { outcomes[i] = placement.evaluate(evaluated_[i]); });
  guess_taken();
  for (const Evaluated& e : outcomes) {
    figures_.push_back(figures_of(placement.setting().chip, e.decided, e.outcome));
    if (figures_.back().is_possible) measure(e);
  }
}

// From store to store; where there is no way, over the home.
void PlacementModel::find_ways() {
  const plan::Chip& chip = placement_.setting().chip;
  const plan::Machine& machine = chip.machine;
  const auto leg = [&](plan::StoreId from, plan::StoreId to) {
    const plan::Store &source = machine.stores[from.index()], &sink = machine.stores[to.index()];
    Way way{1 / std::min(source.bytes_per_cycle, sink.bytes_per_cycle),
            source.read_pj_per_byte + sink.write_pj_per_byte};
    for (const plan::ChannelId c : machine.route(from, to).channels) {
      const plan::Channel& channel = machine.channels[c.index()];
      way.cycles_per_byte = std::max(way.cycles_per_byte, 1 / channel.bytes_per_cycle);
      way.pj_per_byte += channel.pj_per_byte;
    }
    return way;
  };
  ways_.assign(chip.cores.size(), std::vector<Way>(chip.cores.size()));
  for (std::size_t a = 0; a < chip.cores.size(); ++a)
    for (std::size_t b = 0; b < chip.cores.size(); ++b) {
      const plan::StoreId from = chip.store(a, hardware::Slot::Output), to = chip.store(b, hardware::Slot::Input);
      if (a == b || from == to) continue;
      if (machine.route(from, to).exists) {
        ways_[a][b] = leg(from, to);
      } else {
        const Way there = leg(from, machine.home), back = leg(machine.home, to);
        ways_[a][b] = {there.cycles_per_byte + back.cycles_per_byte, there.pj_per_byte + back.pj_per_byte};
      }
    }
}

// An operation a lane and cycle, for kinds of cores where nothing could be measured.
void PlacementModel::guess_taken() {
  const Subject& subject = placement_.subject();
  const plan::Chip& chip = placement_.setting().chip;
  for (const Layer& layer : placement_.layers()) {
    taken_.emplace_back(chip.cores.size());
    for (std::uint32_t c = 0; c < chip.cores.size(); ++c)
      for (const NodeId n : layer.nodes) {
        const plan::Facts& facts = subject.facts[n.index()];
        if (plan::can_run(chip.cores[c], facts))
          taken_.back()[c].cycles += facts.operations / plan::lanes(chip.cores[c], facts);
      }
  }
}

void PlacementModel::measure(const Evaluated& evaluated) {
  const plan::Chip& chip = placement_.setting().chip;
  const auto& e = std::get<schedule::Evaluation>(evaluated.outcome);
  const double home = chip.machine.stores[chip.machine.home.index()].bytes_per_cycle;
  for (std::size_t l = 0; l < taken_.size(); ++l) {
    const Layer& layer = placement_.layers()[l];
    const std::vector<std::uint32_t>& cores = evaluated.decided.nodes[layer.nodes.front().index()].cores;
    const std::uint32_t kind = alike_[cores.front()];
    if (std::any_of(cores.begin(), cores.end(), [&](std::uint32_t c) { return alike_[c] != kind; })) continue;
    double nests = 0, others = 0;
    Taken sum;
    for (const NodeId n : layer.nodes) {
      const schedule::NodeResult& node = e.nodes[n.index()];
      sum.energy_pj += node.energy_pj;
      sum.offchip_cycles += node.offchip_bytes / home;
      if (evaluated.decided.nodes[n.index()].cores == cores)
        (placement_.subject().facts[n.index()].is_nest ? nests : others) += node.busy;
    }
    // An array and a vector unit work at the same time.
    sum.cycles = chip.cores[kind].vector ? std::max(nests, others) : nests + others;
    taken_[l][kind] = sum;
  }
}

// In equal parts: the slowest core decides.
PlacementModel::Taken PlacementModel::taken(std::size_t layer, std::uint64_t cores) const {
  const auto count = static_cast<double>(std::popcount(cores));
  Taken out;
  for_each_core(cores, [&](std::size_t c) {
    const Taken& one = taken_[layer][alike_[c]];
    out.cycles = std::max(out.cycles, one.cycles / count);
    out.offchip_cycles = std::max(out.offchip_cycles, one.offchip_cycles);
    out.energy_pj += one.energy_pj / count;
  });
  out.cycles = std::max(out.cycles, out.offchip_cycles);
  return out;
}

// Of a byte that lies spread over some cores and is needed spread over others.
PlacementModel::Way PlacementModel::way(std::uint64_t from, std::uint64_t to) const {
  const std::uint64_t others = to & ~from;
  Way out;
  for_each_core(others, [&](std::size_t b) {
    for_each_core(from, [&](std::size_t a) {
      out.cycles_per_byte = std::max(out.cycles_per_byte, ways_[a][b].cycles_per_byte);
      out.pj_per_byte = std::max(out.pj_per_byte, ways_[a][b].pj_per_byte);
    });
  });
  const double share = static_cast<double>(std::popcount(others)) / static_cast<double>(std::popcount(to));
  return {out.cycles_per_byte * share, out.pj_per_byte * share};
}

std::uint64_t PlacementModel::cores_of(std::size_t layer, std::uint16_t allocation,
                                       const std::vector<std::uint64_t>& placed) const {
  const Layer& l = placement_.layers()[layer];
  if (const std::vector<std::uint32_t>& cores = l.allocations[allocation].cores; !cores.empty()) return bits_of(cores);
  const auto most = std::max_element(into_[layer].begin(), into_[layer].end(),
                                     [](const LayerEdge& a, const LayerEdge& b) { return a.bytes < b.bytes; });
  if (most != into_[layer].end() && (placed[most->from] & ~bits_of(l.cores)) == 0) return placed[most->from];
  return bits_of(placement_.by_default().nodes[l.nodes.front().index()].cores);
}

Figures PlacementModel::guess(const solve::Choices& decision) const {
  const plan::Chip& chip = placement_.setting().chip;
  std::vector<std::uint64_t> placed(decision.size());
  std::vector<double> ends(decision.size()), idle_from(chip.cores.size(), 0);
  double fetched = 0;  // when the off-chip memory is done with it
  Figures out{.is_possible = true};
  for (std::size_t l = 0; l < decision.size(); ++l) {
    placed[l] = cores_of(l, decision[l], placed);
    double start = 0;
    for_each_core(placed[l], [&](std::size_t c) { start = std::max(start, idle_from[c]); });
    for (const LayerEdge& edge : into_[l]) {
      const Way between = way(placed[edge.from], placed[l]);
      start = std::max(start, ends[edge.from] + edge.bytes * between.cycles_per_byte);
      out.energy_pj += edge.bytes * between.pj_per_byte;
    }
    const Taken own = taken(l, placed[l]);
    fetched += own.offchip_cycles;
    ends[l] = std::max(start + own.cycles, fetched);
    out.energy_pj += own.energy_pj;
    out.latency_cycles = std::max(out.latency_cycles, ends[l]);
    for_each_core(placed[l], [&](std::size_t c) { idle_from[c] = ends[l]; });
  }
  out.energy_pj += out.latency_cycles * chip.leakage_pj_per_cycle;
  return out;
}

// The longest way to the end, with the mean of all cores and of all ways between them.
std::vector<double> PlacementModel::ranks() const {
  double way_sum = 0;
  for (const std::vector<Way>& from : ways_)
    for (const Way& to : from) way_sum += to.cycles_per_byte;
  const double cores = static_cast<double>(ways_.size()), mean = way_sum / std::max(1.0, cores * (cores - 1));
  std::vector<double> out(taken_.size(), 0);
  for (std::size_t l = out.size(); l-- > 0;) {
    double own = 0;
    for (const std::uint32_t c : placement_.layers()[l].cores) own += taken(l, std::uint64_t{1} << c).cycles;
    out[l] += own / static_cast<double>(placement_.layers()[l].cores.size());
    for (const LayerEdge& edge : into_[l]) out[edge.from] = std::max(out[edge.from], out[l] + edge.bytes * mean);
  }
  return out;
}

solve::Choices PlacementModel::scheduled(std::size_t most_cores) const {
  const std::vector<double> rank = ranks();
  std::vector<std::size_t> order(rank.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return rank[a] > rank[b]; });
  solve::Choices out(rank.size(), 0);
  std::vector<std::uint64_t> placed(rank.size());
  std::vector<double> ends(rank.size()), idle_from(ways_.size(), 0);
  for (const std::size_t l : order) {
    double earliest = std::numeric_limits<double>::infinity();
    const std::vector<plan::NodeChoice>& allocations = placement_.layers()[l].allocations;
    for (std::uint16_t a = 0; a < allocations.size(); ++a) {
      if (allocations[a].cores.size() > most_cores && allocations.size() > 1) continue;
      const std::uint64_t cores = cores_of(l, a, placed);
      double start = 0;
      for_each_core(cores, [&](std::size_t c) { start = std::max(start, idle_from[c]); });
      for (const LayerEdge& edge : into_[l])
        start = std::max(start, ends[edge.from] + edge.bytes * way(placed[edge.from], cores).cycles_per_byte);
      const double end = start + taken(l, cores).cycles;
      if (end >= earliest) continue;
      earliest = end;
      out[l] = a;
      placed[l] = cores;
    }
    ends[l] = earliest;
    for_each_core(placed[l], [&](std::size_t c) { idle_from[c] = earliest; });
  }
  return out;
}

solve::Choices PlacementModel::each_best(const std::function<double(const Figures&)>& value) const {
  solve::Choices out(taken_.size(), 0);
  for (std::size_t l = 0; l < out.size(); ++l) {
    double best = std::numeric_limits<double>::infinity();
    const std::vector<plan::NodeChoice>& allocations = placement_.layers()[l].allocations;
    for (std::uint16_t a = 0; a < allocations.size(); ++a) {
      if (allocations[a].cores.empty()) continue;
      const Taken own = taken(l, bits_of(allocations[a].cores));
      const double v = value({.is_possible = true, .latency_cycles = own.cycles, .energy_pj = own.energy_pj});
      if (v >= best) continue;
      best = v;
      out[l] = a;
    }
  }
  return out;
}

}  // namespace monet::search
