#pragma once
#include <vector>

#include "monet/verbs/explain_run.h"

namespace monet {

// The answers of explain_run.h, one function for each kind of WHAT.
std::vector<ExplainedSection> latency_sections(const EvaluateRun& run, const Evaluated& mode);
std::vector<ExplainedSection> energy_sections(const EvaluateRun& run, const Evaluated& mode);
std::vector<ExplainedSection> memory_sections(const EvaluateRun& run, const Evaluated& mode);
std::vector<ExplainedSection> node_sections(const EvaluateRun& run, const Evaluated& mode, std::size_t node);
std::vector<ExplainedSection> tensor_sections(const EvaluateRun& run, const Evaluated& mode, std::size_t tensor);
std::vector<ExplainedSection> core_sections(const EvaluateRun& run, const Evaluated& mode, std::size_t core);
ExplainedSection lever_section(const EvaluateRun& run, const Evaluated& mode, std::size_t threads);

}  // namespace monet
