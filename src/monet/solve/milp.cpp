#include "monet/solve/milp.h"

#include <coin/Cbc_C_Interface.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <memory>
#include <mutex>

#include "monet/base/assert.h"

namespace monet::solve {
namespace {

struct DeleteModel {
  void operator()(Cbc_Model* model) const { Cbc_deleteModel(model); }
};
using Model = std::unique_ptr<Cbc_Model, DeleteModel>;

// The library answers Ctrl-C itself while it runs; afterwards it is ours again.
class KeepInterruptHandler {
 public:
  KeepInterruptHandler() : before_(std::signal(SIGINT, SIG_DFL)) { restore(); }
  ~KeepInterruptHandler() { restore(); }
  KeepInterruptHandler(const KeepInterruptHandler&) = delete;
  KeepInterruptHandler& operator=(const KeepInterruptHandler&) = delete;

 private:
  void restore() const { std::signal(SIGINT, before_ == SIG_ERR ? SIG_DFL : before_); }
  void (*before_)(int);
};

double bounded(double value) { return std::clamp(value, -1e30, 1e30); }  // the library's infinity is the largest double

void load(Cbc_Model* model, const Milp& problem) {
  const int columns = static_cast<int>(problem.columns.size()), rows = static_cast<int>(problem.rows.size());
  // By column, as the library wants it.
  std::vector<CoinBigIndex> starts(problem.columns.size() + 1, 0);
  for (const Milp::Row& row : problem.rows)
    for (const auto& term : row.terms) ++starts[term.first + 1];
  for (std::size_t c = 0; c < problem.columns.size(); ++c) starts[c + 1] += starts[c];
  std::vector<int> indices(static_cast<std::size_t>(starts.back()));
  std::vector<double> factors(indices.size());
  std::vector<CoinBigIndex> next(starts.begin(), starts.end() - 1);
  for (int r = 0; r < rows; ++r)
    for (const auto& [column, factor] : problem.rows[static_cast<std::size_t>(r)].terms) {
      const auto at = static_cast<std::size_t>(next[column]++);
      indices[at] = r;
      factors[at] = factor;
    }
  std::vector<double> lower, upper, cost, row_lower, row_upper;
  for (const Milp::Column& c : problem.columns) {
    lower.push_back(bounded(c.lower));
    upper.push_back(bounded(c.upper));
    cost.push_back(c.cost);
  }
  for (const Milp::Row& r : problem.rows) {
    row_lower.push_back(bounded(r.lower));
    row_upper.push_back(bounded(r.upper));
  }
  Cbc_loadProblem(model, columns, rows, starts.data(), indices.data(), factors.data(), lower.data(), upper.data(),
                  cost.data(), row_lower.data(), row_upper.data());
  for (int c = 0; c < columns; ++c)
    if (problem.columns[static_cast<std::size_t>(c)].is_whole) Cbc_setInteger(model, c);
}

}  // namespace

MilpResult solve(const Milp& problem, const MilpOptions& options) {
  MilpResult result;
  if (problem.columns.empty()) {
    const bool holds = std::all_of(problem.rows.begin(), problem.rows.end(),
                                   [](const Milp::Row& r) { return r.lower <= 0 && r.upper >= 0; });
    return {.end = holds ? MilpEnd::Optimal : MilpEnd::Infeasible, .bound = 0};
  }
  // The library has files, signals and parameters that all of its models share: one at a time.
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  const KeepInterruptHandler keep;
  const Model model(Cbc_newModel());
  load(model.get(), problem);
  Cbc_setObjSense(model.get(), 1);
  Cbc_setLogLevel(model.get(), 0);
  Cbc_setParameter(model.get(), "log", "0");
  Cbc_setParameter(model.get(), "timeMode", "elapsed");
  Cbc_setParameter(model.get(), "ratioGap", "0");
  Cbc_setParameter(model.get(), "allowableGap", "1e-9");
  if (options.seconds < 1e9) Cbc_setMaximumSeconds(model.get(), std::max(0.01, options.seconds));
  if (!options.start.empty()) {
    MONET_ASSERT(options.start.size() == problem.columns.size(), "a start has a value for every column");
    std::vector<int> indices(options.start.size());
    for (std::size_t c = 0; c < indices.size(); ++c) indices[c] = static_cast<int>(c);
    Cbc_setMIPStartI(model.get(), static_cast<int>(indices.size()), indices.data(), options.start.data());
  }
  Cbc_solve(model.get());

  // Without whole numbers there is no search, which then has no status.
  const bool has_whole =
      std::any_of(problem.columns.begin(), problem.columns.end(), [](const Milp::Column& c) { return c.is_whole; });
  const bool is_done = !has_whole || Cbc_status(model.get()) == 0;
  const bool is_proven = is_done && Cbc_isProvenOptimal(model.get()) != 0;
  const double* values = has_whole   ? Cbc_bestSolution(model.get())
                         : is_proven ? Cbc_getColSolution(model.get())
                                     : nullptr;
  if (values != nullptr) {
    result.end = is_proven ? MilpEnd::Optimal : MilpEnd::Feasible;
    result.values.assign(values, values + problem.columns.size());
    for (std::size_t c = 0; c < problem.columns.size(); ++c) {
      if (problem.columns[c].is_whole) result.values[c] = std::round(result.values[c]);
      result.objective += problem.columns[c].cost * result.values[c];
    }
    result.bound = is_proven ? result.objective : std::min(result.objective, Cbc_getBestPossibleObjValue(model.get()));
  } else if (is_done && Cbc_isProvenInfeasible(model.get()) != 0) {
    result.end = MilpEnd::Infeasible;
  } else {
    result.bound = Cbc_getBestPossibleObjValue(model.get());
  }
  return result;
}

}  // namespace monet::solve
