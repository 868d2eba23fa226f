// What must hold of every evaluation, whatever the network, the chip and the plan. MONET_EVALUATIONS says how many are
// drawn; MONET_EVALUATION_FIRST where to begin.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <set>

#include "monet/graph/lower.h"
#include "monet/search/exploration_bound.h"
#include "support/random_case.h"
#include "support/setting.h"
#include "support/timeline_check.h"

namespace monet::test {
namespace {

using namespace schedule;

// Sums of up to a million figures in another order.
bool is_near(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max({1.0, std::abs(a), std::abs(b)}); }
// At least, but for such roundings.
bool is_not_below(double a, double b) { return a >= b || is_near(a, b); }

template <class List>
double sum(const List& list) {
  return std::accumulate(list.begin(), list.end(), 0.0);
}

class EvaluationCheck {
 public:
  EvaluationCheck(const Case& c, const Evaluation& e) : c_(c), e_(e), p_(e.tiled.problem), t_(e.timeline) {}

  std::vector<std::string> run() {
    for (const std::string& fault : faults(p_, t_)) wrong_.push_back(fault);
    memories();
    times();
    energies();
    work();
    storage();
    bounds();
    return std::move(wrong_);
  }

 private:
  void require(bool holds, const std::string& what) {
    if (!holds && wrong_.size() < 20) wrong_.push_back(what);
  }

  void memories() {
    for (std::size_t s = 0; s < e_.stores.size(); ++s) {
      const StoreUse& use = e_.stores[s];
      const Store& store = p_.machine.stores[s];
      require(use.peak_bytes <= static_cast<double>(store.bytes), store.name + " holds more than it can");
      require(use.highest_address <= store.bytes, store.name + " is used beyond its end");
      require(static_cast<double>(use.highest_address) >= use.peak_bytes,
              store.name + " holds more than it has addresses for");
      require(is_near(sum(use.at_peak), use.peak_bytes), store.name + ": the parts of the peak are not the peak");
      for (const StoreUse::Point& point : use.points)
        require(
            sum(point.bytes) <= use.peak_bytes + 0.5 && *std::min_element(point.bytes.begin(), point.bytes.end()) >= 0,
            store.name + ": a point lies above the peak or below nothing");
    }
    double peaks = 0;
    for (const StoreUse& use : e_.stores) peaks += use.peak_bytes;
    require(e_.peak_total_bytes <= peaks + 0.5, "all stores together have a higher peak than each alone");
  }

  void times() {
    for (std::size_t i = 0; i < p_.tiles.size(); ++i)
      require(p_.tiles[i].cycles > 0,
              fmt::format("a tile of '{}' takes no time", c_.network.graph[e_.tiled.tiles[i].node].name));
    require(e_.latency == t_.cycles, "latency is the end of the timeline");
    require(is_near(sum(e_.latency_by_phase), e_.latency), "latency is the sum of its phases");
    double busy = 0;
    for (std::size_t u = 0; u < e_.units.size(); ++u) {
      require(e_.units[u].busy <= e_.latency, p_.machine.units[u].name + " is busy for longer than it takes");
      require(is_near(sum(e_.units[u].busy_by_phase), e_.units[u].busy), "a unit is busy in phases");
      busy += e_.units[u].busy;
    }
    require(is_near(sum(e_.busy_by_phase), busy), "busy times by phase are those of the units");
    double nodes = 0;
    for (const NodeResult& n : e_.nodes) nodes += n.busy;
    require(is_near(nodes, busy), "busy times of nodes are those of the units");
    for (std::size_t c = 0; c < e_.channel_bytes.size(); ++c) {
      const Channel& channel = p_.machine.channels[c];
      require(is_not_below(e_.latency, e_.channel_bytes[c] / channel.bytes_per_cycle),
              channel.name + " carries more than it can in that time");
    }
    for (std::size_t port = 0; port < e_.port_cycles.size(); ++port)
      require(is_not_below(e_.latency, e_.port_cycles[port]),
              p_.machine.ports[port].name + " serves more words than there are cycles");
    require(e_.latency >= longest_chain(), "latency is below the longest chain of tiles");
    double at = 0;
    for (const PathStep& step : e_.path) {
      require(step.from == at && step.to >= step.from, fmt::format("the path has a gap at {}", at));
      at = step.to;
    }
    require(at == e_.latency, "the path leads to the end");
  }

  // Exploration leaves out chips by these: they must hold for every plan.
  void bounds() {
    if (std::any_of(c_.decided.nodes.begin(), c_.decided.nodes.end(),
                    [](const plan::NodeChoice& choice) { return choice.at_lanes; }))
      return;
    const search::Subject subject(c_.network.graph);
    const search::LowerBound least = search::lower_bound(subject, search::demand_of(subject), c_.chip);
    require(is_not_below(e_.latency, least.latency_cycles),
            fmt::format("latency {} is below its bound {}", e_.latency, least.latency_cycles));
    require(is_not_below(e_.energy.total(), least.energy_pj),
            fmt::format("energy {} is below its bound {}", e_.energy.total(), least.energy_pj));
  }

  // Of tiles that read what others wrote, transfers taking no time.
  double longest_chain() const {
    std::vector<double> ready(p_.blocks.size(), 0);
    double longest = 0;
    for (const Tile& tile : p_.tiles) {
      double start = 0;
      const auto each = [&](const auto& visit) {
        for (std::uint32_t k = 0; k < tile.uses; ++k)
          visit(p_.uses[tile.first_use + k].block, p_.uses[tile.first_use + k].access);
        for (std::uint32_t k = 0; k < tile.flows; ++k)
          visit(p_.flows[tile.first_flow + k].block, p_.flows[tile.first_flow + k].access);
      };
      each([&](BlockId b, Access a) {
        if (a != Access::Write) start = std::max(start, ready[b.index()]);
      });
      each([&](BlockId b, Access a) {
        if (a != Access::Read) ready[b.index()] = start + tile.cycles;
      });
      longest = std::max(longest, start + tile.cycles);
    }
    return longest;
  }

  // Bytes that must come from home, or go there, at least once: of sources that some tile wants in a store on the chip
  // before they are written, and of what such a tile makes and belongs home.
  struct Compulsory {
    double read = 0, written = 0;
  };
  Compulsory compulsory() const {
    std::vector<bool> is_known(p_.blocks.size(), false), is_read(p_.blocks.size(), false),
        is_made_on_chip(p_.blocks.size(), false);
    for (const Tile& tile : p_.tiles) {
      for (std::uint32_t k = 0; k < tile.uses; ++k) {
        const Use& use = p_.uses[tile.first_use + k];
        const std::size_t b = use.block.index();
        if (!is_known[b] && use.access != Access::Write && use.store != p_.machine.home) is_read[b] = true;
        if (use.access != Access::Read) is_made_on_chip[b] = use.store != p_.machine.home;
        is_known[b] = is_known[b] || use.access != Access::Read;
      }
      for (std::uint32_t k = 0; k < tile.flows; ++k) {
        const Flow& flow = p_.flows[tile.first_flow + k];
        if (flow.access == Access::Read) continue;
        is_known[flow.block.index()] = true;
        is_made_on_chip[flow.block.index()] = false;
      }
    }
    Compulsory bytes;
    for (std::size_t b = 0; b < p_.blocks.size(); ++b) {
      const auto size = static_cast<double>(p_.blocks[b].bytes);
      if (p_.blocks[b].starts_at_home && is_read[b]) bytes.read += size;
      if (p_.blocks[b].ends_at_home && is_made_on_chip[b]) bytes.written += size;
    }
    return bytes;
  }

  void energies() {
    const double total = e_.energy.total();
    require(is_near(sum(e_.energy_by_phase), total), "energy is the sum of its phases");
    double nodes = e_.energy.leakage, memory = 0;
    for (const NodeResult& n : e_.nodes) nodes += n.energy_pj;
    for (const auto& [level, pj] : e_.energy.memory) memory += pj;
    require(is_near(nodes, total), "energy is that of the nodes and of leakage");
    require(is_near(sum(e_.energy_by_use) + e_.energy.compute + e_.energy.leakage, total),
            fmt::format("energy by use, {}, is all but computing and leakage, {}", sum(e_.energy_by_use),
                        total - e_.energy.compute - e_.energy.leakage));
    require(is_not_below(e_.energy.compute + memory, sum(e_.energy_by_core)), "cores use what computes and stores");
    if (e_.energy.offchip > 0)  // else the home's energy, nobody's, is among that of memories
      require(is_near(e_.energy.compute + memory, sum(e_.energy_by_core)), "what computes and stores is a core's");
    require(is_not_below(memory, sum(e_.memory_energy_by_slot)), "operands use what memories use");
    const Compulsory least = compulsory();
    const Store& home = p_.machine.stores[p_.machine.home.index()];
    const StoreUse& use = e_.stores[p_.machine.home.index()];
    require(is_not_below(use.bytes_out, least.read),
            fmt::format("{} B leave home, {} must", use.bytes_out, least.read));
    require(is_not_below(use.bytes_in, least.written),
            fmt::format("{} B come home, {} must", use.bytes_in, least.written));
    require(is_not_below(
                total, e_.energy.compute + least.read * home.read_pj_per_byte + least.written * home.write_pj_per_byte),
            "energy is below computing and compulsory traffic");
    double read = 0, written = 0, by_node = 0;
    for (const TensorResult& t : e_.tensors) {
      read += t.offchip_read_bytes;
      written += t.offchip_written_bytes;
    }
    for (const NodeResult& n : e_.nodes) by_node += n.offchip_bytes;
    require(is_near(read, use.bytes_out) && is_near(written, use.bytes_in), "off-chip bytes are those of the tensors");
    require(is_near(by_node, read + written), "off-chip bytes are those of the nodes");
  }

  // Tiles share the work of their node, whatever they are. Those of a data gradient count other padding, and each part
  // of a sum finishes its results.
  void work() {
    ByPhase macs{}, ops{};
    for (std::size_t n = 0; n < c_.network.graph.nodes.size(); ++n) {
      const Node& node = c_.network.graph.nodes[n];
      const NodeResult& result = e_.nodes[n];
      macs[static_cast<std::size_t>(node.phase)] += result.macs;
      ops[static_cast<std::size_t>(node.phase)] += result.vector_ops;
      if (c_.facts[n].is_view) {
        require(result.tiles == 0, "nobody runs a view");
        continue;
      }
      const auto whole_work = static_cast<double>(work_of(c_.network.graph, node));
      const bool is_cut = result.tiles > 1;
      if (c_.facts[n].is_nest && !(is_cut && is_data_gradient(node.op)))
        require(result.macs == whole_work,
                fmt::format("'{}' does {} products, not {}", node.name, result.macs, whole_work));
      bool is_sum = false;
      for (const auto* list : {&c_.decided.nodes[n].across, &c_.decided.nodes[n].tiles})
        for (const plan::LoopSplit& split : *list)
          is_sum = is_sum || c_.facts[n].loops[split.loop].kind == LoopKind::Reduction;
      if (!c_.facts[n].is_nest && !is_sum && !(is_cut && repeats_work(node.op)))
        require(result.vector_ops == whole_work,
                fmt::format("'{}' does {} operations, not {}", node.name, result.vector_ops, whole_work));
    }
    for (std::size_t p = 0; p < kPhases; ++p)
      require(is_near(macs[p], e_.macs[p]) && is_near(ops[p], e_.vector_ops[p]), "work by phase is that of the nodes");
    require(is_near(sum(e_.core_macs), sum(e_.macs)), "products by core are those by phase");
    require(is_near(sum(e_.core_vector_ops), sum(e_.vector_ops)), "operations by core are those by phase");
  }

  // Blocks share a tensor's storage out: finer tiles make no more of it.
  void storage() {
    const Graph& graph = c_.network.graph;
    for (std::uint32_t t = 0; t < graph.tensors.size(); ++t) {
      if (e_.tiled.first_block[t] == 0xffffffff || bits(graph.tensors[t].format.element) % 8 != 0) continue;
      require(e_.tensors[t].bytes == static_cast<double>(bytes(graph.tensors[t])),
              fmt::format("the blocks of '{}' have {} B, not {}", graph.tensors[t].name, e_.tensors[t].bytes,
                          bytes(graph.tensors[t])));
      // A weight is wanted whole, so that all of it is read, however it is cut; a Gather looks up what it needs.
      const double read = e_.tensors[t].offchip_read_bytes;
      if (wanted_whole(TensorId{t}))
        require(is_not_below(read, static_cast<double>(bytes(graph.tensors[t]))),
                fmt::format("of '{}' only {} B are read", graph.tensors[t].name, read));
    }
  }

  bool wanted_whole(TensorId tensor) const {
    const Graph& graph = c_.network.graph;
    if (graph[tensor].category != Category::Weight || !p_.blocks[e_.tiled.first_block[tensor.index()]].starts_at_home)
      return false;
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      const Node& node = graph.nodes[n];
      const bool reads = std::find(node.inputs.begin(), node.inputs.end(), tensor) != node.inputs.end();
      if (!reads || !(std::holds_alternative<Conv>(node.op) || std::holds_alternative<MatMul>(node.op))) continue;
      // In a store on the chip, not past it from home.
      for (const std::uint32_t core : c_.decided.nodes[n].cores)
        for (const StoreId store : c_.chip.cores[core].stores)
          if (store == p_.machine.home) return false;
      return !has_flow(tensor);
    }
    return false;
  }
  bool has_flow(TensorId tensor) const {
    return std::any_of(p_.flows.begin(), p_.flows.end(),
                       [&](const Flow& f) { return e_.tiled.blocks[f.block.index()].tensor == tensor; });
  }

  const Case& c_;
  const Evaluation& e_;
  const Problem& p_;
  const Timeline& t_;
  std::vector<std::string> wrong_;
};

TEST(Evaluation, KeepsItsPromisesWhateverThePlan) {
  const std::uint64_t first = setting("MONET_EVALUATION_FIRST", 0), count = setting("MONET_EVALUATIONS", 60);
  std::size_t feasible = 0, refused = 0, spilled = 0;
  for (std::uint64_t i = first; i < first + count; ++i) {
    const Case c = random_case(i, refused);
    const Storage storage(c.network.graph);
    const auto result = evaluate(c.input(storage));
    if (const Infeasible* why = std::get_if<Infeasible>(&result)) {
      EXPECT_FALSE(why->reason.empty()) << i;
      EXPECT_FALSE(why->levers.empty()) << i << ": " << why->reason;
      continue;
    }
    ++feasible;
    const Evaluation& e = std::get<Evaluation>(result);
    spilled += std::any_of(e.timeline.transfers.begin(), e.timeline.transfers.end(),
                           [](const Transfer& x) { return x.purpose == Purpose::Spill; });
    const std::vector<std::string> wrong = EvaluationCheck(c, e).run();
    ASSERT_TRUE(wrong.empty()) << "case " << i << ": " << c.words() << "\n"
                               << fmt::format("{}", fmt::join(wrong, "\n"));
  }
  if (count < 50) return;
  EXPECT_GT(feasible, count / 2);
  EXPECT_GT(spilled, feasible / 4);
}

// The promises are worth their name: figures that are off by a little do not pass.
TEST(Evaluation, FiguresThatAreWrongAreFound) {
  std::size_t refused = 0;
  std::uint64_t number = 0;
  for (;; ++number) {
    const Case c = random_case(number, refused);
    const Storage storage(c.network.graph);
    const auto result = evaluate(c.input(storage));
    const Evaluation* right = std::get_if<Evaluation>(&result);
    if (right == nullptr || right->timeline.transfers.empty()) continue;
    const std::vector<std::function<void(Evaluation&)>> changes{
        [](Evaluation& e) { e.energy.link += 1e-3 * e.energy.total(); },
        [](Evaluation& e) { e.energy_by_phase[0] *= 1.001; },
        [](Evaluation& e) { e.energy_by_use[0] += 1e-3 * e.energy.total(); },
        [](Evaluation& e) { e.latency_by_phase[0] += 1; },
        [](Evaluation& e) { e.path.erase(e.path.begin()); },
        [](Evaluation& e) { e.path.pop_back(); },
        [](Evaluation& e) { e.units[0].busy += 1; },
        [](Evaluation& e) { e.stores[e.tiled.problem.machine.home.index()].bytes_out = 0; },
        [](Evaluation& e) { e.stores[e.tiled.problem.machine.home.index()].bytes_in -= 1; },
        [](Evaluation& e) { e.stores[0].peak_bytes += 1; },
        [](Evaluation& e) { e.nodes[0].macs += 1, e.nodes[0].vector_ops += 1; },
        [](Evaluation& e) { e.core_macs[0] += 1; },
        [](Evaluation& e) { e.timeline.tiles.back().end -= 1; },
        [](Evaluation& e) { e.timeline.transfers[0].end -= 1; },
        [](Evaluation& e) { e.latency -= 1; },
        [](Evaluation& e) {  // two blocks at one place
          for (Stay& a : e.timeline.stays)
            for (const Stay& b : e.timeline.stays)
              if (&a != &b && a.store == b.store && a.from < b.to && b.from < a.to) {
                a.address = b.address;
                return;
              }
        },
    };
    for (std::size_t i = 0; i < changes.size(); ++i) {
      Evaluation wrong = *right;
      changes[i](wrong);
      EXPECT_FALSE(EvaluationCheck(c, wrong).run().empty()) << "change " << i;
    }
    return;
  }
}

TEST(Evaluation, IsTheSameOnAnyNumberOfThreads) {
  std::size_t refused = 0, compared = 0;
  for (std::uint64_t i = 0; i < 12; ++i) {
    const Case c = random_case(i, refused);
    const Storage storage(c.network.graph);
    TilingInput alone = c.input(storage, 1), together = c.input(storage, 2);
    alone.costs.cache = together.costs.cache = nullptr;
    const auto a = evaluate(alone), b = evaluate(together);
    ASSERT_EQ(a.index(), b.index());
    if (a.index() != 0) continue;
    ++compared;
    const auto &ea = std::get<Evaluation>(a), &eb = std::get<Evaluation>(b);
    EXPECT_EQ(ea.tiled.problem, eb.tiled.problem) << i;
    EXPECT_EQ(ea.timeline, eb.timeline) << i;
    EXPECT_EQ(ea.energy.total(), eb.energy.total()) << i;
    EXPECT_EQ(ea.energy_by_phase, eb.energy_by_phase) << i;
  }
  EXPECT_GT(compared, 4u);
}

}  // namespace
}  // namespace monet::test
