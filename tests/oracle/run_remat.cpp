// Solves a random problem of rematerialisation:  run_remat MODEL SEED FORWARD_STEPS SKIPS SHARE FILE
// MODEL is checkmate, relaxed (its relaxation), moccasin, poet or knapsack; SKIPS 0 or 1; SHARE says where the budget
// lies between the least that could do (0) and enough to keep all (1). Writes the program to FILE as free MPS and
// prints our optimum in its units, or "infeasible". remat_vs_highs.py compares.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "monet/search/remat_milp.h"
#include "unit/search/linear_judge.h"

namespace {

using namespace monet;
using namespace monet::search;
using solve::Milp;

std::string number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

void write_mps(const Milp& milp, const std::string& path) {
  std::ofstream out(path);
  out << "NAME remat\nROWS\n N cost\n";
  std::vector<std::vector<std::pair<std::size_t, double>>> by_column(milp.columns.size());
  for (std::size_t r = 0; r < milp.rows.size(); ++r) {
    const Milp::Row& row = milp.rows[r];
    out << (row.lower == row.upper ? " E r" : row.lower == -Milp::kUnbounded ? " L r" : " G r") << r << "\n";
    for (const auto& [column, factor] : row.terms) by_column[column].emplace_back(r, factor);
  }
  out << "COLUMNS\n";
  for (std::size_t c = 0; c < milp.columns.size(); ++c) {
    const bool is_whole = milp.columns[c].is_whole;
    if (is_whole) out << " M" << c << "a 'MARKER' 'INTORG'\n";
    out << " x" << c << " cost " << number(milp.columns[c].cost) << "\n";
    for (const auto& [row, factor] : by_column[c]) out << " x" << c << " r" << row << " " << number(factor) << "\n";
    if (is_whole) out << " M" << c << "b 'MARKER' 'INTEND'\n";
  }
  out << "RHS\n";
  for (std::size_t r = 0; r < milp.rows.size(); ++r)
    out << " rhs r" << r << " "
        << number(milp.rows[r].lower == -Milp::kUnbounded ? milp.rows[r].upper : milp.rows[r].lower) << "\n";
  out << "BOUNDS\n";
  for (std::size_t c = 0; c < milp.columns.size(); ++c)
    out << " LO b x" << c << " " << number(milp.columns[c].lower) << "\n UP b x" << c << " "
        << number(milp.columns[c].upper) << "\n";
  out << "ENDATA\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) return 2;
  const std::string model = argv[1];
  LinearProblem p = random_problem(static_cast<std::uint64_t>(std::atoi(argv[2])),
                                   static_cast<std::uint32_t>(std::atoi(argv[3])), std::atoi(argv[4]) != 0);
  p.spill_energy_per_byte = 0.25;
  p.spill_cycles_per_byte = 0.5;
  const double least = largest_working_set(p), share = std::atof(argv[5]);
  RematOptions options{.budget_bytes = least + share * (all_kept_peak(p) - least)};
  if (model == "moccasin") options.most_computations = 2;
  if (model == "poet") options.is_energy = options.may_spill = true;
  if (model == "knapsack") {
    std::vector<double> costs, bytes;
    double all = 0;
    for (const std::uint32_t s : p.step_of) {
      costs.push_back(p.steps[s].cycles);
      bytes.push_back(p.steps[s].bytes);
      all += p.steps[s].bytes;
    }
    Milp milp{.rows = {{.lower = share * all}}};
    for (std::uint32_t a = 0; a < costs.size(); ++a) {
      milp.columns.push_back({.cost = costs[a]});
      milp.rows[0].terms.emplace_back(a, bytes[a]);
    }
    write_mps(milp, argv[6]);
    const KnapsackResult result = knapsack(costs, bytes, share * all);
    std::printf("%s\n", result.is_possible ? number(result.cost).c_str() : "infeasible");
    return result.is_proven ? 0 : 1;
  }
  const RematProgram program(p, options);
  Milp milp = program.milp();
  if (model == "relaxed")
    for (Milp::Column& column : milp.columns) column.is_whole = false;
  write_mps(milp, argv[6]);
  const LinearResult result = model == "relaxed" ? round_remat(p, options) : solve_remat(p, options);
  const double optimum = (model == "relaxed" ? result.bound : result.objective) / program.cost_unit();
  const bool is_infeasible = !result.is_possible && (model != "relaxed" || result.is_proven);
  std::printf("%s\n", is_infeasible ? "infeasible" : number(optimum).c_str());
  return result.is_proven || model == "relaxed" ? 0 : 1;
}
