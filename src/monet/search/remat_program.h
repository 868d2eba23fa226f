#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "monet/search/linear_schedule.h"
#include "monet/solve/milp.h"

namespace monet::search {

// The integer programs of Checkmate, Moccasin and POET on a linear problem: one builder, for they differ in a few rows.
//
// Stage t ends with the first computation of step t. In a stage, steps run in their order, each at most once; before
// it, values come back in from outside.
//   R[t,i]  step i runs in stage t; R[t,t] = 1           S[t,i]  its value stays in memory from stage t-1 to stage t
//   In[t,i], Out[t,i]  it is paged in before stage t, or out during it    F[t,i,k]  it is freed after k ran in stage t
//   U[t,k]  bytes in memory when step k has run in stage t, or could have
// Jain et al., Checkmate, 2020 (arXiv 1910.02653), section 4. F needs no whole numbers once R and S have them: nothing
// is won by freeing less. Its bound is taken apart, one row for each later reader, and what is freed was there, which
// makes the relaxation tighter. Never is a value both kept and made again.
struct RematOptions {
  double budget_bytes = LinearProblem::kNever;  // fixed_bytes included
  bool is_energy = false;                       // made small instead of cycles
  std::uint32_t most_computations = 0;          // of each step; 0: any number
  bool may_spill = false;  // activations (the steps of step_of), where the problem has costs for it
  double most_cycles = LinearProblem::kNever;
};

// What runs in each stage, in order: all there is to a schedule, as values stay until their last reader.
using RematStages = std::vector<std::vector<std::uint32_t>>;

class RematProgram {
 public:
  // The problem must stay alive. It is hopeless where a step's own inputs and output do not fit.
  RematProgram(const LinearProblem& problem, const RematOptions& options);

  bool is_hopeless() const { return is_hopeless_; }
  const solve::Milp& milp() const { return milp_; }
  double cost_unit() const { return cost_unit_; }  // of its objective, in cycles or pJ

  std::vector<LinearEvent> schedule(const std::vector<double>& values) const;
  // A solution without paging; it is one if the schedule is in the budget.
  std::vector<double> values(const RematStages& stages) const;
  // The second phase of Checkmate's rounding: given what stays in memory (S above the threshold), the least that must
  // run in each stage.
  RematStages rounded(const std::vector<double>& values, double threshold) const;

 private:
  static constexpr std::uint32_t kNone = LinearStep::kNone;
  using Triangle = std::vector<std::vector<std::uint32_t>>;  // columns by stage and step
  using Terms = std::vector<std::pair<std::uint32_t, double>>;
  struct Freeing {
    std::uint32_t column, stage, value, after;
  };

  std::uint32_t add_column(double cost, double lower, double upper, bool is_whole);
  void add_row(double lower, double upper, Terms terms);
  double cost_of(const LinearStep& step) const;
  void add_stage_columns(std::uint32_t t);
  void add_dependencies(std::uint32_t t);
  void add_freeing(std::uint32_t t);
  void add_memory(std::uint32_t t, std::span<const Freeing> freeings);
  void add_paging();
  void add_limits();
  Terms presence(std::uint32_t t, std::uint32_t i, double factor) const;

  const LinearProblem& p_;
  RematOptions o_;
  std::uint32_t count_ = 0;
  bool is_hopeless_ = false;
  double byte_unit_ = 1, cost_unit_ = 1;
  std::vector<std::vector<std::uint32_t>> readers_;
  std::vector<bool> is_pageable_;
  solve::Milp milp_;
  Triangle run_, stay_, in_, out_, used_;
  std::vector<Freeing> freeings_;
};

}  // namespace monet::search
