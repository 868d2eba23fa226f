// Prices decisions on saved activations for others to search:  run_checkpoint MODEL BATCH CHIP LEAST_SHARE
// Says how many there are. Then each line of standard input holds decisions between spaces, a digit for each activation
// (1: recompute); the answer is a line with cycles, pJ and bytes at the peak of each, "inf inf inf" if it is not
// possible.
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>

#include "monet/base/diagnostic.h"
#include "monet/search/checkpoint.h"
#include "monet/verbs/evaluate.h"
#include "monet/verbs/hardware.h"

namespace monet {
namespace {

int run(char** words) {
  const hardware::Loaded loaded = describe_hardware({.hardware = words[3]});
  const plan::Chip chip = plan::chip_of(loaded.hardware);
  ModelRequest asked;
  asked.model = words[1];
  asked.batch = std::atoll(words[2]);
  cost::Cache cache;
  const search::Setting setting{chip, loaded.hardware, default_costs(cache, 1)};
  const search::Checkpointing problem(prepare(asked).graph, setting, {.least_share = std::atof(words[4])});
  std::printf("%zu\n", problem.activations().size());
  std::fflush(stdout);
  for (std::string line; std::getline(std::cin, line);) {
    std::vector<solve::Choices> decisions;
    std::istringstream list(line);
    for (std::string word; list >> word;) {
      decisions.emplace_back();
      for (const char digit : word) decisions.back().push_back(digit == '1' ? 1 : 0);
    }
    for (const search::Figures& f : problem.figures(decisions))
      if (f.is_possible)
        std::printf("%.17g %.17g %.17g ", f.latency_cycles, f.energy_pj, f.peak_total_bytes);
      else
        std::printf("inf inf inf ");
    std::printf("\n");
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace monet

int main(int count, char** words) {
  if (count != 5) {
    std::fprintf(stderr, "run_checkpoint MODEL BATCH CHIP LEAST_SHARE\n");
    return 2;
  }
  try {
    return monet::run(words);
  } catch (const monet::InputError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
