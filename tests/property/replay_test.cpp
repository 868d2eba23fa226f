// Executed = interpreted: schedules of random networks on random chips under random plans, carried out on numbers at
// their addresses and times. MONET_REPLAYS says how many are drawn; MONET_REPLAY_FIRST where to begin.
#include "monet/replay/replay.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "monet/interpret/run.h"
#include "support/random_case.h"
#include "support/setting.h"

namespace monet::test {
namespace {

using namespace schedule;

bool is_long() { return setting("MONET_REPLAYS", 0) >= 500; }

struct Outcome {
  bool is_feasible = false, is_exact = true, spills = false, flows = false;
  double worst = 0;  // error over the largest number of the tensor
  std::size_t compared = 0, uncertain = 0, tiles = 0;
  std::string wrong{};
};

constexpr double kTolerance = 1e-6;
// What a few roundings, at the very start, may grow to, and how many times that a sum in another order may be off.
constexpr double kRounding = 1e-15, kMoreRoundings = 1000;

// The same numbers, each a few roundings away.
Values<double> jittered(const Graph& graph, Values<double> values) {
  std::uint64_t drawn = 0;
  for (const Tensor& t : graph.tensors) {
    const auto at = values.find(t.name);
    if (at == values.end() || !is_float(t.format.element)) continue;
    for (double& v : at->second.data) v *= 1 + (random_bits(3, 5, drawn++) % 2 == 0 ? kRounding : -kRounding);
  }
  return values;
}

double largest(const Array<double>& a) {
  double most = 0;
  for (const double v : a.data)
    if (std::isfinite(v)) most = std::max(most, std::abs(v));
  return most;
}
double largest_difference(const Array<double>& a, const Array<double>& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.data.size(); ++i) {
    if (same_bits(a.data[i], b.data[i])) continue;
    const double d = std::abs(a.data[i] - b.data[i]);
    most = std::max(most, std::isnan(d) ? std::numeric_limits<double>::infinity() : d);
  }
  return most;
}

// `rounded`: what a few roundings at the start make of it; null: bit for bit.
void compare(const std::string& name, const Array<double>& wanted, const Array<double>& got,
             const Array<double>* rounded, Outcome& out) {
  ++out.compared;
  if (wanted.shape != got.shape) {
    out.wrong += fmt::format("'{}' has another shape\n", name);
    return;
  }
  const double error = largest_difference(wanted, got), scale = largest(wanted);
  if (error == 0) return;
  out.is_exact = false;
  const double jitter = rounded == nullptr ? 0 : largest_difference(wanted, *rounded);
  if (rounded == nullptr || error > std::max(kTolerance * scale, kMoreRoundings * jitter))
    out.wrong += fmt::format("'{}' is off by {} of {} (roundings make {})\n", name, error, scale, jitter);
  // Differences of almost equal numbers, of which roundings alone leave nothing certain, are no measure.
  if (kMoreRoundings * jitter < kTolerance * scale)
    out.worst = std::max(out.worst, error / scale);
  else
    ++out.uncertain;
}

// What a tile needs in a store at once is more than that holds. The home also has to hold everything else.
bool is_too_large(const Problem& p, const NoRoom& none) {
  if (none.store == p.machine.home) return true;
  std::int64_t needed = 0;
  const Tile& tile = p.tiles[none.tile.index()];
  for (std::uint32_t k = tile.first_use; k < tile.first_use + tile.uses; ++k)
    if (p.uses[k].store == none.store) needed += p.blocks[p.uses[k].block.index()].bytes;
  return needed > p.machine.stores[none.store.index()].bytes;
}

Outcome carry_out(const Case& c, std::uint64_t seed) {
  Outcome out;
  const Graph& graph = c.network.graph;
  const Storage storage(graph);
  TilingInput input = c.input(storage);
  input.exact_reads = seed % 4 == 0;
  const auto tiled = tile(input);
  const Tiled* t = std::get_if<Tiled>(&tiled);
  if (t == nullptr) return out;
  const Scheduled scheduled = schedule::schedule(t->problem);
  const Timeline* timeline = std::get_if<Timeline>(&scheduled);
  if (timeline == nullptr) {
    if (!is_too_large(t->problem, std::get<NoRoom>(scheduled))) out.wrong = "what fits finds no room\n";
    return out;
  }
  out.is_feasible = true;
  out.tiles = t->tiles.size();
  for (const Transfer& x : timeline->transfers) out.spills = out.spills || x.purpose == Purpose::Spill;
  out.flows = !t->problem.flows.empty();
  std::vector<TensorId> gradients;
  for (const std::string& name : c.network.gradients)
    if (const TensorId id = tensor_named(graph, name); id != kNoTensor) gradients.push_back(id);
  if (gradients.size() != c.network.gradients.size()) out.wrong += "a gradient is gone\n";
  const Values<double> sources = initial_values<double>(graph, seed);
  const Values<double> wanted = run<double>(graph, sources, {.step = seed, .keep = gradients});
  Values<double> rounded;
  if (c.splits_reductions()) rounded = run<double>(graph, jittered(graph, sources), {.step = seed, .keep = gradients});
  const replay::Replayed got =
      replay::replay(graph, storage, c.facts, *t, *timeline, sources, {.step = seed, .keep = gradients});
  for (const replay::Fault& fault : got.faults) out.wrong += fmt::format("at {}: {}\n", fault.time, fault.what);
  for (const auto& [name, value] : wanted) {
    const auto at = got.values.find(name);
    if (at == got.values.end())
      out.wrong += fmt::format("'{}' has no value\n", name);
    else
      compare(name, value, at->second, c.splits_reductions() ? &rounded.at(name) : nullptr, out);
  }
  return out;
}

TEST(Replay, RandomPlansComputeWhatTheInterpreterComputes) {
  const std::uint64_t first = setting("MONET_REPLAY_FIRST", 0), count = setting("MONET_REPLAYS", 60);
  std::size_t feasible = 0, spilled = 0, flowing = 0, exact = 0, split = 0, shared = 0, recomputed = 0,
              microbatches = 0, updates = 0, fused = 0, refused = 0, tiles = 0, compared = 0, uncertain = 0;
  double worst = 0;
  for (std::uint64_t i = first; i < first + count; ++i) {
    const Case c = random_case(i, refused);
    const Outcome out = carry_out(c, i);
    ASSERT_EQ(out.wrong, "") << "case " << i << ": " << c.words();
    if (!out.is_feasible) continue;
    ++feasible;
    spilled += out.spills;
    flowing += out.flows;
    exact += out.is_exact;
    split += c.splits_reductions();
    shared += c.shares_reductions();
    recomputed += c.network.recomputes;
    microbatches += c.network.has_microbatches;
    updates += c.network.fuses_updates;
    tiles += out.tiles;
    compared += out.compared;
    uncertain += out.uncertain;
    fused += std::any_of(c.decided.groups.begin(), c.decided.groups.end(),
                         [](const plan::ChosenGroup& g) { return g.nodes.size() > 1; });
    worst = std::max(worst, out.worst);
  }
  fmt::print(
      "{} cases, {} feasible: {} fused, {} spill, {} have flows, {} split reductions ({} over cores), {} recompute, {} "
      "microbatches, {} fused updates; "
      "{} tiles; {} exact, worst error {:.2g}; {} of {} tensors uncertain; {} plans refused\n",
      count, feasible, fused, spilled, flowing, split, shared, recomputed, microbatches, updates, tiles, exact, worst,
      uncertain, compared, refused);
  if (count < 50) return;
  // The cases are worth their name.
  EXPECT_GT(feasible, count / 2);
  EXPECT_GT(fused, feasible / 2);
  EXPECT_GT(spilled, feasible / 4);
  EXPECT_GT(flowing, 0u);
  EXPECT_GT(shared, feasible / 10);
  EXPECT_GT(exact, feasible / 10);
  EXPECT_GT(recomputed, feasible / 10);
  EXPECT_GT(microbatches, feasible / 10);
  EXPECT_GT(updates, feasible / 10);
  EXPECT_GT(refused, 0u);
  EXPECT_LT(uncertain, compared / 8);
}

void check_default(const std::string& model, const std::string& chip, bool fuses_updates = false) {
  const Case c = default_case(trained_model(model, 1, fuses_updates), chip);
  const Outcome out = carry_out(c, 1);
  EXPECT_TRUE(out.is_feasible);
  EXPECT_EQ(out.wrong, "");
  EXPECT_EQ(out.compared > 50, true);
  fmt::print("{} on {}: {} tiles, {} tensors, {}, worst error {:.2g}\n", model, chip, out.tiles, out.compared,
             out.is_exact ? "exact" : "not exact", out.worst);
}

class ReplayOfModels : public testing::TestWithParam<const char*> {};
TEST_P(ReplayOfModels, ResNet18) { check_default(is_long() ? "resnet18" : "resnet18:image=32", GetParam()); }
TEST_P(ReplayOfModels, Gpt2Mini) { check_default("gpt2-mini", GetParam()); }
TEST_P(ReplayOfModels, ResNet18WithFusedUpdates) { check_default("resnet18:image=32", GetParam(), true); }
INSTANTIATE_TEST_SUITE_P(OnThreeChips, ReplayOfModels, testing::Values("tpu_like_quad_core", "fusemax", "edge_tpu_hda"),
                         [](const auto& chip) { return std::string(chip.param); });

}  // namespace
}  // namespace monet::test
