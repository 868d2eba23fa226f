#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "monet/base/config.h"
#include "monet/cost/cache.h"
#include "monet/verbs/fusemax_graph.h"
#include "monet/verbs/validate.h"

namespace monet {

// FuseMax's published tables, made again: graph, plan, evaluation on chip files.

struct FusemaxModel {
  std::int64_t width = 0, head_size = 0, heads = 0, hidden = 0;
};
struct FusemaxCase {
  std::string model{}, length{};            // as the table has them: "BERT", "16K"
  std::map<std::string, double> figures{};  // by column: traffic, latency, energy, util_2d, util_1d
};
struct FusemaxTable {
  std::string name{};  // attn-binding, attn-arch, attn-cascade, attn-flat, attn-unfused, end2end-proposal, end2end-flat
  std::vector<FusemaxCase> cases{};
};
struct FusemaxData {
  std::int64_t batch = 1;
  std::map<std::string, FusemaxModel> models{};
  std::vector<FusemaxTable> tables{};
};

FusemaxData read_fusemax(const config::Value& root, config::Findings& findings);
// A table as the artifact writes it. Throws InputError.
FusemaxTable read_fusemax_csv(const std::string& bytes, const std::string& path);

// What an evaluation gives of what the tables have; sums, so that they can be extrapolated.
struct FusemaxFigures {
  double cycles = 0, clock_hz = 0;
  double offchip_bytes = 0;
  double energy_pj = 0;                      // dynamic, without registers
  double register_pj = 0;                    // of both arrays
  double array_cycles = 0, lane_cycles = 0;  // of all lanes at work
};
// Throws InputError if there is no schedule.
FusemaxFigures evaluate_fusemax(const FusemaxWork& work, const std::string& chip, std::int64_t buffer_mib,
                                cost::Cache& cache);
// Of `all` from those of `few` and of `more` that is the same again and again.
FusemaxFigures extrapolated(const FusemaxFigures& few, double few_count, const FusemaxFigures& more, double more_count,
                            double all);

// One suite for each column of a table. `data`: shapes of the models.
std::vector<ValidationSuite> run_fusemax(const FusemaxTable& table, const FusemaxData& data, cost::Cache& cache);

}  // namespace monet
