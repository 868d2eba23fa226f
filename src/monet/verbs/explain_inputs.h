#pragma once
#include <string>
#include <vector>

#include "monet/cost/map.h"
#include "monet/verbs/explain.h"

namespace monet {

// The figures of the chosen core as the lines of an explanation quote them, each with the place it stands at.
class ChipInputs {
 public:
  explicit ChipInputs(const MapRun& run);

  ExplainedInput read_energy(std::size_t memory) const;
  ExplainedInput write_energy(std::size_t memory) const;
  ExplainedInput leakage(std::size_t memory) const;
  ExplainedInput size(std::size_t memory) const;
  ExplainedInput first_word(std::size_t memory) const;  // latency of the memory
  ExplainedInput width(std::size_t memory, std::size_t port) const;
  ExplainedInput width(const cost::Problem& problem, std::size_t port) const;  // ports numbered over the core
  // What the file says of a port; the link to a memory off the chip may carry less.
  std::int64_t stated_width(std::size_t memory, std::size_t port) const;
  ExplainedInput clock() const;
  std::vector<ExplainedInput> lanes() const;  // of each array dimension
  ExplainedInput mac_energy(const cost::Problem& problem) const;

 private:
  ExplainedInput of(std::string name, const hardware::Figure& figure, std::string unit, const std::string& path) const;
  ExplainedInput plain(std::string name, double value, std::string unit, const std::string& path) const;
  std::string path_of(std::size_t memory) const;
  // As its file has it: what is off the chip is seen through a link, which may be narrower.
  const hardware::Memory& original(std::size_t memory) const;

  const MapRun& run_;
  const hardware::Core& core_;
  std::size_t own_ = 0;  // memories of the core itself; those after it are off the chip
};

// "dram.read_energy 700 pJ (data/hardware/tpu_like.yaml:17)"
std::string text(const ExplainedInput& input);

}  // namespace monet
