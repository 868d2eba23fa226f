#pragma once
#include "monet/base/config.h"
#include "monet/schedule/stream.h"

namespace monet::schedule {

// What Stream was given and what it made of it, as golden files hold it (docs/stream.md has the format).
struct StreamCase {
  StreamProblem problem{};
  StreamResult expected{};  // peak_bits are not in these files
};

// Reports what is missing or wrong; the case is only sound if nothing was.
StreamCase read_stream_case(const config::Value& root, config::Findings& findings);

}  // namespace monet::schedule
