#include "monet/search/remat_program.h"

#include <algorithm>
#include <cmath>

#include "monet/base/assert.h"

namespace monet::search {

using solve::Milp;

RematProgram::RematProgram(const LinearProblem& problem, const RematOptions& options)
    : p_(problem),
      o_(options),
      count_(static_cast<std::uint32_t>(problem.steps.size())),
      readers_(problem.steps.size()),
      is_pageable_(problem.steps.size(), false),
      run_(count_),
      stay_(count_),
      in_(count_),
      out_(count_),
      used_(count_) {
  double all_bytes = 0, all_costs = 0;
  for (std::uint32_t s = 0; s < count_; ++s) {
    const LinearStep& step = p_.steps[s];
    double together = p_.fixed_bytes + step.bytes;
    for (const std::uint32_t i : step.inputs) {
      readers_[i].push_back(s);
      together += p_.steps[i].bytes;
    }
    if (together > o_.budget_bytes) is_hopeless_ = true;
    all_bytes += step.bytes;
    all_costs += cost_of(step);
  }
  if (is_hopeless_) return;
  // Numbers near 1 for the solver: memory in parts of the budget, costs in thousandths of an iteration.
  byte_unit_ = std::max(1.0, std::min(o_.budget_bytes - p_.fixed_bytes, all_bytes));
  cost_unit_ = all_costs > 0 ? all_costs / 1000 : 1;
  const bool has_costs =
      p_.spill_cycles_per_byte < LinearProblem::kNever && p_.spill_energy_per_byte < LinearProblem::kNever;
  if (o_.may_spill && has_costs)
    for (const std::uint32_t s : p_.step_of) is_pageable_[s] = p_.steps[s].bytes > 0;
  for (std::uint32_t t = 0; t < count_; ++t) add_stage_columns(t);
  for (std::uint32_t t = 0; t < count_; ++t) {
    add_dependencies(t);
    const std::size_t before = freeings_.size();
    add_freeing(t);
    add_memory(t, std::span(freeings_).subspan(before));
  }
  add_paging();
  add_limits();
}

std::uint32_t RematProgram::add_column(double cost, double lower, double upper, bool is_whole) {
  milp_.columns.push_back({cost, lower, upper, is_whole});
  return static_cast<std::uint32_t>(milp_.columns.size() - 1);
}

void RematProgram::add_row(double lower, double upper, Terms terms) {
  milp_.rows.push_back({lower, upper, std::move(terms)});
}

double RematProgram::cost_of(const LinearStep& step) const { return o_.is_energy ? step.energy_pj : step.cycles; }

void RematProgram::add_stage_columns(std::uint32_t t) {
  const double per_byte = o_.is_energy ? p_.spill_energy_per_byte : p_.spill_cycles_per_byte;
  const double budget = std::min(o_.budget_bytes - p_.fixed_bytes, 1e3 * byte_unit_) / byte_unit_;
  for (std::uint32_t i = 0; i <= t; ++i) {
    const double paging = is_pageable_[i] ? p_.steps[i].bytes * per_byte / cost_unit_ : 0;
    run_[t].push_back(add_column(cost_of(p_.steps[i]) / cost_unit_, i == t ? 1 : 0, 1, true));
    used_[t].push_back(add_column(0, 0, budget, false));
    out_[t].push_back(is_pageable_[i] ? add_column(paging, 0, 1, true) : kNone);
    if (i == t) continue;
    stay_[t].push_back(add_column(0, 0, 1, true));
    in_[t].push_back(is_pageable_[i] ? add_column(paging, 0, 1, true) : kNone);
  }
}

// The ways in which a value is in memory in a stage.
RematProgram::Terms RematProgram::presence(std::uint32_t t, std::uint32_t i, double factor) const {
  Terms terms{{run_[t][i], factor}};
  if (i < t) terms.emplace_back(stay_[t][i], factor);
  if (i < t && in_[t][i] != kNone) terms.emplace_back(in_[t][i], factor);
  return terms;
}

void RematProgram::add_dependencies(std::uint32_t t) {
  for (std::uint32_t i = 0; i <= t; ++i) {
    if (i < t) add_row(-Milp::kUnbounded, 1, presence(t, i, 1));
    // What runs has its inputs; what stays was there.
    for (const std::uint32_t reader : readers_[i]) {
      if (reader > t) break;
      Terms terms = presence(t, i, -1);
      terms.emplace_back(run_[t][reader], 1);
      add_row(-Milp::kUnbounded, 0, std::move(terms));
    }
    if (t + 1 == count_) continue;
    Terms terms = presence(t, i, -1);
    terms.emplace_back(stay_[t + 1][i], 1);
    add_row(-Milp::kUnbounded, 0, std::move(terms));
  }
}

void RematProgram::add_freeing(std::uint32_t t) {
  for (std::uint32_t i = 0; i < t; ++i) {
    if (p_.steps[i].bytes <= 0 || std::binary_search(readers_[i].begin(), readers_[i].end(), t)) continue;
    Terms together = presence(t, i, -1);
    for (const std::uint32_t k : readers_[i]) {
      if (k >= t) break;
      const std::uint32_t f = add_column(0, 0, 1, false);
      freeings_.push_back({f, t, i, k});
      together.emplace_back(f, 1);
      add_row(-Milp::kUnbounded, 0, {{f, 1}, {run_[t][k], -1}});
      if (t + 1 < count_) add_row(-Milp::kUnbounded, 1, {{f, 1}, {stay_[t + 1][i], 1}});
      for (const std::uint32_t later : readers_[i])
        if (later > k && later < t) add_row(-Milp::kUnbounded, 1, {{f, 1}, {run_[t][later], 1}});
    }
    if (together.size() > presence(t, i, -1).size()) add_row(-Milp::kUnbounded, 0, std::move(together));
  }
}

void RematProgram::add_memory(std::uint32_t t, std::span<const Freeing> freeings) {
  for (std::uint32_t k = 0; k <= t; ++k) {
    const auto size = [&](std::uint32_t i) { return p_.steps[i].bytes / byte_unit_; };
    Terms terms{{used_[t][k], 1}};
    if (size(k) > 0) terms.emplace_back(run_[t][k], -size(k));
    if (k == 0) {
      for (std::uint32_t i = 0; i < t; ++i) {
        if (size(i) <= 0) continue;
        terms.emplace_back(stay_[t][i], -size(i));
        if (in_[t][i] != kNone) terms.emplace_back(in_[t][i], -size(i));
      }
    } else {
      terms.emplace_back(used_[t][k - 1], -1);
      for (const Freeing& f : freeings)
        if (f.after + 1 == k) terms.emplace_back(f.column, size(f.value));
    }
    add_row(0, 0, std::move(terms));
  }
}

// Patil et al., POET, 2022 (arXiv 2207.07697): out of memory while it is there, and in again later. Copies outside
// stay.
void RematProgram::add_paging() {
  for (std::uint32_t i = 0; i < count_; ++i) {
    if (!is_pageable_[i]) continue;
    Terms outs;
    for (std::uint32_t t = i; t < count_; ++t) {
      if (t > i) {
        Terms terms{{in_[t][i], 1}};
        for (const auto& [column, factor] : outs) terms.emplace_back(column, -factor);
        add_row(-Milp::kUnbounded, 0, std::move(terms));
      }
      Terms terms = presence(t, i, -1);
      terms.emplace_back(out_[t][i], 1);
      add_row(-Milp::kUnbounded, 0, std::move(terms));
      outs.emplace_back(out_[t][i], 1);
    }
    add_row(-Milp::kUnbounded, 1, std::move(outs));
  }
}

void RematProgram::add_limits() {
  // Bartan et al., Moccasin, 2023 (arXiv 2304.14463): so many computations, each with one interval in which its value
  // stays; its intervals are the runs of ones of S behind a one of R.
  for (std::uint32_t i = 0; o_.most_computations > 0 && i < count_; ++i) {
    Terms terms;
    for (std::uint32_t t = i; t < count_; ++t) terms.emplace_back(run_[t][i], 1);
    add_row(-Milp::kUnbounded, o_.most_computations, std::move(terms));
  }
  if (o_.most_cycles == LinearProblem::kNever) return;
  Terms terms;
  double once = 0;
  for (const LinearStep& step : p_.steps) once += step.cycles;
  const double unit = once > 0 ? once / 1000 : 1;
  for (std::uint32_t t = 0; t < count_; ++t)
    for (std::uint32_t i = 0; i <= t; ++i) {
      terms.emplace_back(run_[t][i], p_.steps[i].cycles / unit);
      const double paging = is_pageable_[i] ? p_.steps[i].bytes * p_.spill_cycles_per_byte / unit : 0;
      if (is_pageable_[i]) terms.emplace_back(out_[t][i], paging);
      if (is_pageable_[i] && i < t) terms.emplace_back(in_[t][i], paging);
    }
  add_row(-Milp::kUnbounded, o_.most_cycles / unit, std::move(terms));
}

std::vector<LinearEvent> RematProgram::schedule(const std::vector<double>& values) const {
  using Kind = LinearEvent::Kind;
  const auto is_on = [&](std::uint32_t column) { return column != kNone && values[column] > 0.5; };
  std::vector<LinearEvent> work;
  for (std::uint32_t t = 0; t < count_; ++t) {
    for (std::uint32_t i = 0; i < t; ++i) {
      if (is_on(in_[t][i])) work.push_back({Kind::PageIn, i});
      if (is_on(out_[t][i]) && !is_on(run_[t][i])) work.push_back({Kind::PageOut, i});
    }
    for (std::uint32_t i = 0; i <= t; ++i) {
      if (is_on(run_[t][i])) work.push_back({Kind::Compute, i});
      if (is_on(out_[t][i]) && is_on(run_[t][i])) work.push_back({Kind::PageOut, i});
    }
  }
  return freeing_early(p_, work);
}

std::vector<double> RematProgram::values(const RematStages& stages) const {
  MONET_ASSERT(stages.size() == count_, "a list for every stage");
  std::vector<double> out(milp_.columns.size(), 0);
  for (std::uint32_t t = 0; t < count_; ++t)
    for (const std::uint32_t i : stages[t]) out[run_[t][i]] = 1;
  // Backwards: a value stays into a stage if it is read there, or later, before it is made again.
  std::vector<bool> is_read(count_, false);
  for (std::uint32_t t = count_; t-- > 0;) {
    for (std::size_t k = stages[t].size(); k-- > 0;) {
      is_read[stages[t][k]] = false;
      for (const std::uint32_t i : p_.steps[stages[t][k]].inputs) is_read[i] = true;
    }
    for (std::uint32_t i = 0; i < t; ++i) out[stay_[t][i]] = is_read[i];
  }
  for (const Freeing& f : freeings_) {
    bool is_freed = out[run_[f.stage][f.after]] > 0 && (f.stage + 1 == count_ || out[stay_[f.stage + 1][f.value]] == 0);
    for (const std::uint32_t later : readers_[f.value])
      if (later > f.after && later <= f.stage && out[run_[f.stage][later]] > 0) is_freed = false;
    out[f.column] = is_freed;
  }
  // The rows that define U follow each other; each is solved for its first term.
  for (const Milp::Row& row : milp_.rows) {
    if (row.lower != 0 || row.upper != 0) continue;
    double sum = 0;
    for (std::size_t k = 1; k < row.terms.size(); ++k) sum -= row.terms[k].second * out[row.terms[k].first];
    out[row.terms[0].first] = sum;
  }
  return out;
}

RematStages RematProgram::rounded(const std::vector<double>& values, double threshold) const {
  const auto stays = [&](std::uint32_t stage, std::uint32_t i) {
    return stage < count_ && i < stage && values[stay_[stage][i]] > threshold;
  };
  RematStages stages(count_);
  std::vector<bool> is_read(count_, false);  // later, before it is made again
  for (std::uint32_t t = count_; t-- > 0;) {
    std::vector<bool> runs(t + 1, false);
    runs[t] = true;
    for (std::uint32_t i = t + 1; i-- > 0;) {
      if (i < t && stays(t + 1, i) && !stays(t, i)) runs[i] = true;
      if (!runs[i] || (i < t && !is_read[i])) continue;  // what nobody would read stays away
      stages[t].insert(stages[t].begin(), i);
      is_read[i] = false;
      for (const std::uint32_t in : p_.steps[i].inputs) {
        is_read[in] = true;
        if (!stays(t, in)) runs[in] = true;
      }
    }
  }
  return stages;
}

}  // namespace monet::search
