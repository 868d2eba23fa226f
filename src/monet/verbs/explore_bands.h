#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "monet/verbs/error_bands.h"
#include "monet/verbs/explore.h"

namespace monet {

// What the errors of the model on measured chips say of what an exploration found.

// The point of least latency beside the others.
struct LatencyLead {
  std::size_t workload = 0;
  std::uint32_t best = 0, next = 0;
  double ratio = 1;        // the next one's latency over the best one's
  std::size_t shared = 1;  // points that have the least latency
  std::size_t others = 0;  // points that the workload can run on, beside the best
  std::size_t within = 0;  // of them, those whose latency is less than `span` times the best one's
  double span = 1;         // of the band (ErrorBand::span)
};
// By workload; none where nothing was measured, or there are no two points to compare.
std::vector<LatencyLead> latency_leads(const search::Explored& found, const search::ExplorationGoal& goal,
                                       const std::vector<const ErrorBand*>& bands);

// The measured band of a workload's latency; null: there is none.
std::vector<const ErrorBand*> latency_bands(const std::vector<ErrorBand>& bands, const ExploreRequest& request,
                                            std::size_t workloads);

std::string bands_text(const ExploreRun& run, const ExploreRequest& request);
// {bands, latency_leads}
Json bands_json(const ExploreRun& run, const ExploreRequest& request);

}  // namespace monet
