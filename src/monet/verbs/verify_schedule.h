#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "monet/base/json.h"
#include "monet/replay/replay.h"
#include "monet/verbs/evaluate.h"

namespace monet {

// Is a schedule right? It is carried out on numbers, tile by tile, at its addresses and times, and what comes home is
// compared with what the interpreter makes of the same graph.

struct VerifyScheduleRequest {
  EvaluateRequest evaluate{};
  std::uint64_t seed = 1;
};

struct VerifiedTensor {
  std::string name{};
  double error = 0;       // largest difference, as a part of the tensor's largest value
  bool is_exact = false;  // bit for bit
  bool is_there = true;
  bool is_certain = true;  // no: inputs a rounding away make the interpreter differ as much
};

struct VerifiedSchedule {
  EvaluateRun run{};
  bool splits_sums = false;  // some sum was made in parts: the last bits may differ
  std::vector<VerifiedTensor> tensors{};
  replay::Replayed replayed{};
  std::size_t exact = 0, uncertain = 0;
  double worst_error = 0;  // of those that are certain
  std::string worst{};
  bool agrees = false;  // no fault, and every tensor equal (to 1e-6 where sums were split, if it is certain)
};

// Throws InputError.
VerifiedSchedule verify_schedule(const VerifyScheduleRequest& request);
std::string text(const VerifiedSchedule& verified, const VerifyScheduleRequest& request);
Json json(const VerifiedSchedule& verified);

}  // namespace monet
