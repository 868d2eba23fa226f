#pragma once
#include <map>
#include <string>
#include <vector>

#include "monet/base/config.h"
#include "monet/verbs/validate.h"

namespace monet {

// Peak bits by memory and its first core, of a run's summary (Stream's results.json), by the name of the run.
struct StreamPeak {
  std::int64_t core = 0;
  std::string memory{};
  double bits = 0;
};
using StreamPeaks = std::map<std::string, std::vector<StreamPeak>>;
StreamPeaks read_stream_peaks(const config::Value& runs, config::Findings& findings);

// One schedule that Stream made, made again: tiles, link events, energies, peaks. Throws InputError if the file is not
// sound.
ValidationSuite run_stream_schedule(const std::string& name, const config::Value& root, const StreamPeaks& peaks);

}  // namespace monet
