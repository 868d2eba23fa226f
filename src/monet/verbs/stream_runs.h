#pragma once
#include <string>

#include "monet/base/config.h"
#include "monet/cost/zigzag_files.h"
#include "monet/hardware/hardware.h"
#include "monet/onnx/import.h"
#include "monet/schedule/stream.h"
#include "monet/schedule/stream_layers.h"
#include "monet/schedule/stream_tiles.h"
#include "monet/verbs/validate.h"
#include "monet/verbs/zigzag_networks.h"

namespace monet {

// Stream from its input files on: a model, an accelerator, a mapping and what is fused.

// What Stream's front end sees of an ONNX file; shapes it leaves out are inferred. Throws InputError, also if `options`
// have sizes and the file leaves none open.
schedule::StreamModel stream_model(const std::string& path);
schedule::StreamModel stream_model(std::string_view bytes, const std::string& path, const ImportOptions& options = {});

struct StreamInputs {
  schedule::StreamModel model{};
  hardware::Hardware hardware{};
  cost::MappingFile mapping{};
  schedule::StreamMode mode = schedule::StreamMode::Fused;
  schedule::StreamStacks stacks{};  // as given; none: Stream's rule
  schedule::StreamChoice chosen{};  // of cores, where the mapping leaves it open
  std::size_t limit = 6;            // of loops in the search for mappings
  std::size_t threads = 0;          // 0: as many as there are
};

struct StreamPlan {
  std::vector<schedule::StreamLayer> layers{};
  schedule::StreamStacks stacks{};
  schedule::StreamTiling tiling{};
  schedule::StreamProblem problem{};
  std::string failure{};  // why Stream would have no schedule
};
StreamPlan plan_stream(const StreamInputs& inputs);

// Appends a row for each run of a summary (results.json) whose files are found: totals, energies, tiles, edges, events,
// peaks. Accelerators, cores and mappings may stand in the summary itself, and so may the cores that Stream's genetic
// search chose. The others are skipped with a reason.
void run_stream_summary(const config::Value& root, const FileFinder& files, ValidationSuite& suite);

}  // namespace monet
