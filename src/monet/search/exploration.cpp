#include "monet/search/exploration.h"

#include <fmt/format.h>

#include <array>

#include "monet/base/assert.h"
#include "monet/base/diagnostic.h"
#include "monet/base/parallel.h"
#include "monet/base/rng.h"
#include "monet/base/sha256.h"
#include "monet/hardware/constants.h"
#include "monet/hardware/yaml.h"
#include "monet/plan/lanes.h"
#include "monet/search/fusion.h"

namespace monet::search {
namespace {

struct Column {
  const char* name;
  double ChipFigures::*member;
};
constexpr std::array kColumns{Column{"area_mm2", &ChipFigures::area_mm2},
                              Column{"tdp_w", &ChipFigures::tdp_w},
                              Column{"latency_cycles", &ChipFigures::latency_cycles},
                              Column{"latency_s", &ChipFigures::latency_s},
                              Column{"energy_pj", &ChipFigures::energy_pj},
                              Column{"compute_pj", &ChipFigures::compute_pj},
                              Column{"memory_pj", &ChipFigures::memory_pj},
                              Column{"link_pj", &ChipFigures::link_pj},
                              Column{"offchip_pj", &ChipFigures::offchip_pj},
                              Column{"leakage_pj", &ChipFigures::leakage_pj},
                              Column{"peak_total_bytes", &ChipFigures::peak_total_bytes},
                              Column{"peak_offchip_bytes", &ChipFigures::peak_offchip_bytes},
                              Column{"offchip_bytes", &ChipFigures::offchip_bytes},
                              Column{"macs", &ChipFigures::macs},
                              Column{"utilisation", &ChipFigures::utilisation},
                              Column{"groups", &ChipFigures::groups},
                              Column{"tiles", &ChipFigures::tiles},
                              Column{"samples", &ChipFigures::samples}};

double lanes_that_multiply(const plan::Chip& chip, const schedule::Evaluation& e) {
  double lanes = 0;
  for (std::size_t c = 0; c < chip.cores.size(); ++c) {
    if (!chip.cores[c].core.array || e.core_macs[c] == 0) continue;
    double own = 1;
    for (const hardware::ArrayDimension& d : chip.cores[c].core.array->dimensions) own *= static_cast<double>(d.size);
    lanes += own;
  }
  return lanes;
}

// Neighbours are often evaluated at the same time, by other threads or ranks, and share most of their mappings: each
// goes through them in another order.
std::uint64_t order_of(const Candidate& candidate) {
  std::uint64_t seed = candidate.size();
  for (const std::uint16_t choice : candidate) seed = mix(seed ^ choice);
  return seed;
}

}  // namespace

std::vector<std::string> figure_names() {
  std::vector<std::string> names;
  for (const Column& c : kColumns) names.emplace_back(c.name);
  return names;
}

bool needs_clock(std::string_view figure) { return figure == "latency_s" || figure == hardware::kTdpName; }

std::vector<double> numbers_of(const ChipFigures& figures) {
  std::vector<double> numbers;
  for (const Column& c : kColumns) numbers.push_back(figures.*c.member);
  return numbers;
}

ChipFigures figures_of(std::string reason, std::span<const double> numbers) {
  ChipFigures figures{.reason = std::move(reason)};
  MONET_ASSERT(numbers.size() == kColumns.size(), "a number for each column");
  for (std::size_t c = 0; c < kColumns.size(); ++c) figures.*kColumns[c].member = numbers[c];
  return figures;
}

Exploration::Exploration(const hardware::Family& family, std::vector<Workload> workloads, std::vector<Axis> axes,
                         cost::Cache& cache, const ExplorationOptions& options)
    : family_(family), workloads_(std::move(workloads)), axes_(std::move(axes)), cache_(cache), options_(options) {
  std::size_t variants = 1;
  for (const Axis& axis : axes_) variants *= axis.alternatives.size();
  for (Workload& w : workloads_) {
    MONET_ASSERT(w.variants.size() == variants, "a variant for all decisions");
    for (const auto& subject : w.variants) w.demands.push_back(demand_of(*subject));
  }
  if (options_.limits.empty()) return;
  has_fusion_ = true;
  axes_.push_back({"fusion", {"default"}});
  for (const std::uint32_t limit : options_.limits) axes_.back().alternatives.push_back(fmt::format("limit {}", limit));
}

std::vector<std::uint16_t> Exploration::choices() const {
  std::vector<std::uint16_t> out = family_.choices();
  for (const Axis& axis : axes_) out.push_back(static_cast<std::uint16_t>(axis.alternatives.size()));
  return out;
}

double Exploration::size() const {
  double product = family_.size();
  for (const Axis& axis : axes_) product *= static_cast<double>(axis.alternatives.size());
  return product;
}

hardware::Point Exploration::point(const Candidate& candidate) const {
  return {candidate.begin(), candidate.begin() + static_cast<std::ptrdiff_t>(family_.free().size())};
}

std::vector<std::string> Exploration::values(const Candidate& candidate) const {
  return family_.values(point(candidate));
}

std::vector<std::string> Exploration::ways(const Candidate& candidate) const {
  std::vector<std::string> out;
  for (std::size_t a = 0; a < axes_.size(); ++a)
    out.push_back(axes_[a].alternatives[candidate[family_.free().size() + a]]);
  return out;
}

std::size_t Exploration::variant_of(const Candidate& candidate) const {
  std::size_t at = 0, step = 1;
  for (std::size_t a = 0; a + (has_fusion_ ? 1 : 0) < axes_.size(); ++a) {
    at += candidate[family_.free().size() + a] * step;
    step *= axes_[a].alternatives.size();
  }
  return at;
}

plan::Plan Exploration::plan_of(const Setting& setting, const Subject& subject, const Candidate& candidate) const {
  if (!has_fusion_ || candidate.back() == 0) return {};
  return Ways(setting, subject.graph, {.limits = {options_.limits[candidate.back() - 1u]}, .threads = 1})
      .plan(std::array<std::uint16_t, 1>{1});
}

std::optional<plan::Plan> Exploration::plan(const Candidate& candidate, std::size_t workload) const {
  if (!has_fusion_ || candidate.back() == 0) return std::nullopt;
  const Made made = make(candidate);
  if (!made.chip) return std::nullopt;
  const Subject& subject = *workloads_[workload].variants[variant_of(candidate)];
  const Setting setting{*made.chip, *made.member.hardware, {.map = options_.map, .threads = 1, .cache = &cache_}};
  const plan::Decided decided =
      plan::decide(subject.graph, subject.facts, *made.chip, plan_of(setting, subject, candidate));
  return plan::in_words(subject.graph, subject.facts, *made.chip, decided);
}

ChipFigures Exploration::figures(const hardware::Member& member, const plan::Chip& given, const Workload& workload,
                                 const Candidate& candidate) const {
  const std::size_t variant = variant_of(candidate);
  const Subject& subject = *workload.variants[variant];
  ChipFigures out{.area_mm2 = member.budget.total.area_mm2(),
                  .tdp_w = member.budget.total.tdp_w(),
                  .samples = workload.samples[variant]};
  Setting setting{
      given, *member.hardware, {.map = options_.map, .threads = 1, .cache = &cache_, .order = order_of(candidate)}};
  Evaluated evaluated;
  try {
    evaluated = evaluate(setting, subject, plan_of(setting, subject, candidate));
  } catch (const InputError& error) {  // no core takes a kind of work
    out.reason = error.diagnostics().front().message;
    return out;
  }
  if (const auto* no = std::get_if<schedule::Infeasible>(&evaluated.outcome)) {
    out.reason = no->reason;
    return out;
  }
  const auto& e = std::get<schedule::Evaluation>(evaluated.outcome);
  const Figures f = figures_of(given, evaluated.decided, evaluated.outcome);
  out.latency_cycles = f.latency_cycles;
  out.latency_s = e.clock_hz > 0 ? f.latency_cycles / e.clock_hz : 0;
  out.energy_pj = f.energy_pj;
  out.compute_pj = e.energy.compute;
  for (const auto& [level, pj] : e.energy.memory) out.memory_pj += pj;
  out.link_pj = e.energy.link;
  out.offchip_pj = e.energy.offchip;
  out.leakage_pj = e.energy.leakage;
  out.peak_total_bytes = f.peak_total_bytes;
  out.peak_offchip_bytes = f.peak_offchip_bytes;
  out.offchip_bytes = f.offchip_bytes;
  out.macs = schedule::sum(e.macs);
  const double could = lanes_that_multiply(given, e) * e.latency;
  out.utilisation = could > 0 ? out.macs / could : 0;
  out.groups = static_cast<double>(f.groups);
  out.tiles = static_cast<double>(f.tiles);
  return out;
}

hardware::Member Exploration::member(const Candidate& candidate, const ChangedConstant& changed) const {
  const hardware::Point at = point(candidate);
  hardware::Member out = family_.made(at);
  if (!changed.name.empty() && out.hardware) {
    hardware::scale_constant(*out.hardware, changed.name, changed.factor);
    out.budget = hardware::budget_of(*out.hardware);
  }
  family_.judge(at, out);
  return out;
}

Exploration::Made Exploration::make(const Candidate& candidate, const ChangedConstant& changed) const {
  Made out{.member = member(candidate, changed)};
  out.reason = out.member.reason;
  if (!out.member.hardware) return out;
  try {
    out.chip = plan::chip_of(*out.member.hardware);
  } catch (const InputError& error) {
    out.reason = error.diagnostics().front().message;
  }
  return out;
}

TaskResult Exploration::run(const Task& task) const {
  const Made made = make(task.candidate, task.changed);
  TaskResult out;
  for (const std::uint8_t w : task.workloads)
    out.push_back(made.chip ? figures(made.member, *made.chip, workloads_[w], task.candidate)
                            : ChipFigures{.reason = made.reason});
  return out;
}

std::string Exploration::signature(const Task& task) const {
  const hardware::Member made = member(task.candidate, task.changed);
  if (!made.hardware) return {};
  std::string all = hardware::print(*made.hardware);
  for (std::size_t a = family_.free().size(); a < task.candidate.size(); ++a)
    all += fmt::format(" {}", task.candidate[a]);
  all += " on";
  for (const std::uint8_t w : task.workloads) all += fmt::format(" {}", w);
  return sha256_hex(all);
}

TaskResult Exploration::bounds(const Candidate& candidate) const {
  const Made made = make(candidate);
  const std::size_t variant = variant_of(candidate);
  TaskResult out;
  for (const Workload& w : workloads_) {
    if (!made.chip) {
      out.push_back({.reason = made.reason});
      continue;
    }
    const LowerBound least = lower_bound(*w.variants[variant], w.demands[variant], *made.chip);
    const double clock = made.chip->clock_hz;
    out.push_back({.area_mm2 = made.member.budget.total.area_mm2(),
                   .tdp_w = made.member.budget.total.tdp_w(),
                   .latency_cycles = least.latency_cycles,
                   .latency_s = clock > 0 ? least.latency_cycles / clock : 0,
                   .energy_pj = least.energy_pj,
                   .samples = w.samples[variant]});
  }
  return out;
}

std::vector<TaskResult> Exploration::run(std::span<const Task> tasks, const Deadline& deadline,
                                         const std::function<void(std::size_t, const TaskResult&)>& done,
                                         const Claim& claim) const {
  std::vector<TaskResult> out(tasks.size());
  std::mutex mutex;
  parallel_for(tasks.size(), options_.threads, [&](std::size_t i) {
    if (deadline.is_over() || (claim && !claim(i))) return;
    out[i] = run(tasks[i]);
    if (!done) return;
    const std::lock_guard lock(mutex);
    done(i, out[i]);
  });
  return out;
}

}  // namespace monet::search
