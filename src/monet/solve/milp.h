#pragma once
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace monet::solve {

// Linear programs in which some variables are whole numbers, to be made small. milp.cpp is the only file that knows
// which library solves them (CBC).
struct Milp {
  static constexpr double kUnbounded = std::numeric_limits<double>::infinity();
  struct Column {
    double cost = 0, lower = 0, upper = 1;
    bool is_whole = true;
  };
  struct Row {
    double lower = -kUnbounded, upper = kUnbounded;
    std::vector<std::pair<std::uint32_t, double>> terms{};  // columns, each once, and their factors
  };
  std::vector<Column> columns{};
  std::vector<Row> rows{};
};

struct MilpOptions {
  double seconds = 1e9;         // by the clock: only a search that needs fewer is the same every time
  std::vector<double> start{};  // a solution to begin with, or nothing
};

enum class MilpEnd {
  Optimal,     // proven
  Feasible,    // stopped with a solution
  Infeasible,  // proven
  Unknown,     // stopped without one
};

struct MilpResult {
  MilpEnd end = MilpEnd::Unknown;
  double objective = 0, bound = -Milp::kUnbounded;  // no solution is below the bound
  std::vector<double> values{};                     // by column; whole where it must be
};

MilpResult solve(const Milp& problem, const MilpOptions& options = {});

}  // namespace monet::solve
