#include "monet/search/sensitivity.h"

#include <algorithm>
#include <set>

#include "monet/base/parallel.h"

namespace monet::search {
namespace {

using hardware::Constant;
using hardware::ConstantKind;

constexpr double kPicojoules = 1e12;

// The part of a point's energy that a constant of this kind has a share in.
double part_of(const ChipFigures& f, ConstantKind kind) {
  switch (kind) {
    case ConstantKind::Compute: return f.compute_pj;
    case ConstantKind::Memory: return f.memory_pj;
    case ConstantKind::Offchip: return f.offchip_pj;
    case ConstantKind::Link: return f.link_pj;
    case ConstantKind::Leakage: return f.leakage_pj;
    case ConstantKind::Area:
    case ConstantKind::Time: return 0;
  }
  return 0;
}

class Judge {
 public:
  Judge(const Exploration& exploration, const Explored& found, const ExplorationGoal& goal, double share,
        const TaskRunner& run)
      : exploration_(exploration), found_(found), goal_(goal), share_(share), run_(run) {}

  Sensitivity run(const Watch& watch) {
    Sensitivity out{.share = share_};
    const std::size_t workloads = exploration_.workloads().size();
    for (std::size_t w = 0; w < workloads; ++w) out.as_it_is.push_back(best_points(found_, goal_, w));
    find_constants();
    out.constants = constants_.size();
    if (watch.progress != nullptr) {
      watch.progress->parts = "constants";
      watch.progress->done = watch.progress->known = 0;
      watch.progress->total = 2 * constants_.size();
    }
    for (std::size_t k = 0; k < constants_.size(); ++k)
      for (const double factor : {1 - share_, 1 + share_}) {
        std::optional<SensitivityCase> judged = judge(k, factor, watch.deadline);
        if (!judged) return out;
        out.cases.push_back(std::move(*judged));
        if (watch.progress != nullptr) ++watch.progress->done;
      }
    return out;
  }

 private:
  // Those of every chip that is valid, or could be with another area or power; and what each chip has of them.
  void find_constants() {
    std::set<std::string> names;
    const hardware::Family& family = exploration_.family();
    chips_.resize(found_.points.size());
    is_valid_.resize(found_.points.size());
    parallel_for(found_.points.size(), 0, [&](std::size_t i) {
      const hardware::Point point = exploration_.point(found_.points[i].candidate);
      hardware::Member member = family.made(point);
      std::optional<hardware::Hardware> chip = member.hardware;
      family.judge(point, member);
      is_valid_[i] = member.hardware ? 1 : 0;
      if (chip && (member.hardware || family.limits_area() || family.limits_power())) chips_[i] = std::move(chip);
    });
    for (const std::optional<hardware::Hardware>& chip : chips_)
      if (chip)
        for (const Constant& constant : hardware::uncertain_constants(*chip))
          if (names.insert(constant.name).second) constants_.push_back(constant);
    parts_.resize(chips_.size());
    parallel_for(chips_.size(), 0, [&](std::size_t i) {
      if (chips_[i]) parts_[i] = hardware::parts_of(*chips_[i], constants_);
    });
  }

  // Whether points are valid with the changed constant, where constraints hang on it.
  std::vector<char> valid_with(const Constant& constant, double factor) const {
    const hardware::Family& family = exploration_.family();
    const bool is_area = constant.kind == ConstantKind::Area, is_time = constant.kind == ConstantKind::Time;
    if (is_time || !(is_area ? family.limits_area() : family.limits_power())) return is_valid_;
    std::vector<char> out(chips_.size(), 0);
    parallel_for(chips_.size(), 0, [&](std::size_t i) {
      if (!chips_[i]) return;
      hardware::Member member{.hardware = chips_[i]};
      hardware::scale_constant(*member.hardware, constant.name, factor);
      member.budget = hardware::budget_of(*member.hardware);
      family.judge(exploration_.point(found_.points[i].candidate), member);
      out[i] = member.hardware ? 1 : 0;
    });
    return out;
  }

  // None where the time was over before all was judged.
  std::optional<SensitivityCase> judge(std::size_t k, double factor, const Deadline& deadline) {
    const Constant& constant = constants_[k];
    SensitivityCase out{.constant = constant, .factor = factor};
    Explored changed = found_;
    const std::vector<char> valid = valid_with(constant, factor);
    std::vector<std::uint32_t> opened;
    for (std::uint32_t i = 0; i < valid.size(); ++i) {
      if (valid[i] && !is_valid_[i]) opened.push_back(i);
      if (valid[i] || !is_valid_[i]) continue;
      ++out.closed;
      for (ChipFigures& f : changed.points[i].figures) f = {.reason = "a constraint"};
    }
    out.opened = opened.size();
    std::vector<std::uint32_t> again = opened;
    if (constant.kind == ConstantKind::Leakage || constant.kind == ConstantKind::Area) {
      shift(changed, k, factor);
    } else {
      set_power(changed, constant, factor);
      const std::set<std::uint32_t> touched = touched_by(changed, constant);
      again.insert(again.end(), touched.begin(), touched.end());
    }
    out.run_again = again.size();
    if (deadline.is_over() || !run_points(changed, again, {constant.name, factor})) return std::nullopt;
    for (std::size_t w = 0; w < exploration_.workloads().size(); ++w) {
      const std::vector<solve::Objectives> points = objectives_of(changed, goal_, w);
      changed.fronts[w] = solve::front_of(points);
      std::erase_if(changed.fronts[w], [&](std::uint32_t i) { return !changed.points[i].figures[w].is_possible(); });
      SensitivityCase::Outcome outcome{.best = best_points(changed, goal_, w)};
      const std::set<std::uint32_t> before(found_.fronts[w].begin(), found_.fronts[w].end());
      for (const std::uint32_t i : changed.fronts[w]) ++(before.contains(i) ? outcome.kept : outcome.entered);
      std::vector<solve::Objectives> now, old;
      for (const std::uint32_t i : changed.fronts[w]) now.push_back(points[i]);
      for (const std::uint32_t i : found_.fronts[w]) old.push_back(points[i]);
      if (const solve::FrontVolume all = solve::volume_of(now); now.empty())
        outcome.hold.reset();
      else if (all.volume != 0)
        outcome.hold = solve::hypervolume(old, all.reference) / all.volume;
      out.outcomes.push_back(outcome);
    }
    out.regrets = regrets_of(changed, goal_);
    return out;
  }

  // Leakage lasts as long as before; area and power change by what the chip has of the constant.
  void shift(Explored& changed, std::size_t k, double factor) const {
    for (std::size_t i = 0; i < changed.points.size(); ++i) {
      if (parts_[i].empty()) continue;
      const hardware::ConstantPart& part = parts_[i][k];
      const double watts = (factor - 1) * part.leakage_w;
      for (ChipFigures& f : changed.points[i].figures) {
        if (!f.is_possible()) continue;
        f.area_mm2 += (factor - 1) * part.area_mm2;
        f.tdp_w += (factor - 1) * part.tdp_w;
        f.leakage_pj += watts * f.latency_s * kPicojoules;
        f.energy_pj += watts * f.latency_s * kPicojoules;
      }
    }
  }

  // What every port and lane can take at once hangs on energies, whatever runs.
  void set_power(Explored& changed, const Constant& constant, double factor) const {
    if (constant.kind == ConstantKind::Time || !has(ChipObjective::Tdp)) return;
    parallel_for(changed.points.size(), 0, [&](std::size_t i) {
      if (!chips_[i]) return;
      hardware::Hardware chip = *chips_[i];
      hardware::scale_constant(chip, constant.name, factor);
      const double watts = hardware::budget_of(chip).total.tdp_w();
      for (ChipFigures& f : changed.points[i].figures)
        if (f.is_possible()) f.tdp_w = watts;
    });
  }

  bool has(ChipObjective objective) const {
    return std::find(goal_.objectives.begin(), goal_.objectives.end(), objective) != goal_.objectives.end();
  }

  // Points that could be on a front, or best in latency, energy or their product, alone or among those that all
  // workloads can run on, if these changed as far as they can against one another.
  std::set<std::uint32_t> touched_by(const Explored& changed, const Constant& constant) const {
    std::set<std::uint32_t> out;
    const bool is_time = constant.kind == ConstantKind::Time;
    if (has(ChipObjective::Energy) || (is_time && has(ChipObjective::Latency)))
      add_touched(changed, constant, goal_, false, out);
    const ExplorationGoal best{};  // of latency and energy
    for (const bool is_common : {false, true}) add_touched(changed, constant, best, is_common, out);
    return out;
  }

  void add_touched(const Explored& changed, const Constant& constant, const ExplorationGoal& goal, bool is_common,
                   std::set<std::uint32_t>& out) const {
    const bool is_time = constant.kind == ConstantKind::Time;
    for (std::size_t w = 0; w < exploration_.workloads().size(); ++w) {
      std::vector<solve::Score> least, most;
      for (const ExploredPoint& p : changed.points) {  // with their figures as they were, but for those now not valid
        ChipFigures low = p.figures[w], high = low;
        if (is_common)
          for (const ChipFigures& f : p.figures)
            if (!f.is_possible()) low.reason = high.reason = f.reason;
        const double range = is_time ? share_ * low.energy_pj : share_ * part_of(low, constant.kind);
        low.energy_pj -= range;
        high.energy_pj += range;
        if (is_time) {
          low.latency_s *= 1 - share_;
          high.latency_s *= 1 + share_;
        }
        least.push_back(goal.score(low));
        most.push_back(goal.score(high));
      }
      const std::vector<std::uint32_t> front = solve::front_of(solve::points_of(most));
      for (std::uint32_t i = 0; i < found_.points.size(); ++i)
        if (least[i].violation == 0 && std::none_of(front.begin(), front.end(), [&](std::uint32_t q) {
              return q != i && solve::dominates(most[q].objectives, least[i].objectives);
            }))
          out.insert(i);
    }
  }

  // With the changed chip; false where the time was over before.
  bool run_points(Explored& changed, const std::vector<std::uint32_t>& places, const ChangedConstant& constant) const {
    std::vector<Task> tasks;
    std::vector<std::uint8_t> all;
    for (std::uint8_t w = 0; w < exploration_.workloads().size(); ++w) all.push_back(w);
    for (const std::uint32_t i : places) tasks.push_back({found_.points[i].candidate, all, constant});
    const std::vector<TaskResult> results = run_(tasks);
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (results[i].empty()) return false;
      changed.points[places[i]].figures = results[i];
    }
    return true;
  }

  const Exploration& exploration_;
  const Explored& found_;
  const ExplorationGoal& goal_;
  double share_;
  const TaskRunner& run_;
  std::vector<Constant> constants_;
  // By point. Chips: of those that are valid, or could be.
  std::vector<std::optional<hardware::Hardware>> chips_;
  std::vector<char> is_valid_;
  std::vector<std::vector<hardware::ConstantPart>> parts_;
};

}  // namespace

BestPoints best_points(const Explored& found, const ExplorationGoal& goal, std::size_t workload) {
  const auto best = [&](ChosenBy by) {
    const std::vector<std::uint32_t> all = best_of(found, goal, workload, by);
    return all.empty() ? std::nullopt : std::optional(all.front());
  };
  return {best(ChosenBy::Latency), best(ChosenBy::Energy), best(ChosenBy::Edp)};
}

Sensitivity sensitivity(const Exploration& exploration, const Explored& found, const ExplorationGoal& goal,
                        double share, const TaskRunner& run, const Watch& watch) {
  return Judge(exploration, found, goal, share, run).run(watch);
}

}  // namespace monet::search
