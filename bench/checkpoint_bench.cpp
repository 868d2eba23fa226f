// How many decisions on saved activations are evaluated in a second: each is rewritten, broken up, fused, cut into
// tiles, scheduled and summed up.
//     checkpoint_bench [THREADS] [EVALUATIONS]
// Decisions are drawn at random; the first round finds the mappings and is timed for itself. Parts are CPU time of one
// thread; the rate is wall time on THREADS (2). The last column compares with decisions evaluated one by one from
// nothing, as `monet evaluate` does it.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "cpu_time.h"
#include "monet/base/diagnostic.h"
#include "monet/search/checkpoint.h"
#include "monet/solve/random.h"
#include "monet/verbs/evaluate.h"
#include "monet/verbs/hardware.h"

namespace monet::bench {
namespace {

struct Case {
  const char *model, *chip;
};
constexpr Case kCases[] = {
    {"resnet18", "fusemax"}, {"resnet18", "tpu_v3"}, {"resnet18", "tpu_like_quad_core"}, {"gpt2-mini", "fusemax"}};

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Every activation with a chance that differs from decision to decision.
std::vector<solve::Choices> drawn(const search::Checkpointing& problem, std::size_t count, std::uint64_t seed) {
  std::vector<solve::Choices> out;
  for (std::uint64_t i = 0; i < count; ++i) {
    solve::Random random(seed, 0, i);
    const double chance = random.uniform();
    out.emplace_back();
    for (std::size_t d = 0; d < problem.activations().size(); ++d) out.back().push_back(random.chance(chance) ? 1 : 0);
  }
  return out;
}

int run(std::size_t threads, std::size_t count) {
  fmt::print("{:34} {:>9} {:>11} {:>8} | {:>8} {:>8} {:>8} {:>8} | {:>12} {:>10}\n", "decisions (ms each)", "decisions",
             "tiles", "cold", "rewrite", "plan", "schedule", "all", "evaluations/s", "from nothing");
  for (const Case& c : kCases) {
    const hardware::Loaded loaded = describe_hardware({.hardware = c.chip});
    const plan::Chip chip = plan::chip_of(loaded.hardware);
    ModelRequest asked;
    asked.model = c.model;
    const Graph training = prepare(asked).graph;
    cost::Cache cache;
    const search::Setting setting{chip, loaded.hardware, default_costs(cache, 1)};
    const search::Checkpointing problem(training, setting, {.least_share = 0.001, .threads = threads});
    const double cold_start = wall_seconds();
    problem.figures(drawn(problem, count, 1));
    const double cold = wall_seconds() - cold_start;
    // Others than those, of the same kinds of tiles for the most part.
    const std::vector<solve::Choices> decisions = drawn(problem, count, 2);
    const double start = wall_seconds();
    const std::vector<search::Figures> figures = problem.figures(decisions);
    const double warm = wall_seconds() - start;
    std::size_t least = figures[0].tiles, most = 0;
    for (const search::Figures& f : figures) {
      least = std::min(least, f.tiles);
      most = std::max(most, f.tiles);
    }
    // Part by part, on one thread.
    double rewrite = 0, plan = 0, all = 0;
    const std::size_t few = std::max<std::size_t>(1, count / 8);
    for (std::size_t i = 0; i < few; ++i) {
      const double a = cpu_seconds();
      const search::Subject subject = problem.subject(decisions[i]);
      const double b = cpu_seconds();
      plan::decide(subject.graph, subject.facts, chip, problem.plan(subject, decisions[i]));
      const double d = cpu_seconds();
      problem.figures(decisions[i]);
      all += cpu_seconds() - d;
      rewrite += b - a;
      plan += d - b;
    }
    const double nothing_start = wall_seconds();
    for (std::size_t i = 0; i < 2; ++i) {
      cost::Cache empty;
      const search::Setting alone{chip, loaded.hardware, default_costs(empty, threads)};
      search::Checkpointing(training, alone, {.least_share = 0.001}).figures(decisions[i]);
    }
    const double nothing = (wall_seconds() - nothing_start) / 2;
    const double ms = 1e3 / static_cast<double>(few);
    fmt::print("{:34} {:9} {:>11} {:8.1f} | {:8.2f} {:8.2f} {:8.2f} {:8.2f} | {:12.1f} {:9.1f}x\n",
               fmt::format("{} on {}", c.model, c.chip), problem.activations().size(),
               fmt::format("{}-{}", least, most), cold * 1e3 / static_cast<double>(count), rewrite * ms, plan * ms,
               (all - rewrite - plan) * ms, all * ms, static_cast<double>(count) / warm,
               nothing / (warm / static_cast<double>(count)));
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace monet::bench

int main(int count, char** words) {
  try {
    return monet::bench::run(static_cast<std::size_t>(std::max(1, count > 1 ? std::atoi(words[1]) : 2)),
                             static_cast<std::size_t>(std::max(8, count > 2 ? std::atoi(words[2]) : 200)));
  } catch (const monet::InputError& e) {
    std::fputs(e.what(), stderr);
    return 2;
  }
}
