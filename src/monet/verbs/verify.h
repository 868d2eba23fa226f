#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "monet/verbs/prepare.h"

namespace monet {

struct VerifyRequest {
  ModelRequest model;
  std::int64_t samples = 2;  // directions tried per weight
  std::int64_t steps = 3;    // optimizer steps run
  std::uint64_t seed = 1;
  double tolerance = 1e-5;
};

struct WeightCheck {
  std::string weight;
  std::int64_t elements = 0;
  double gradient_norm = 0;
  double error = 0;  // largest |slope - g·d| / (|g| |d|) over the directions d tried
};

struct VerifyResult {
  std::vector<WeightCheck> weights;
  double worst_error = 0;
  std::string worst_weight;
  bool gradients_agree = false;
  bool decomposed_agrees = false;  // loss and gradients of the graph broken into single works
  double decomposed_error = 0;
  std::vector<double> losses;  // before each step
  Prepared prepared;
};

// Runs the training iteration on numbers, in double, and compares every trained weight's gradient with central
// differences of the loss. `progress` is told (done, total). Throws InputError.
VerifyResult verify_gradients(const VerifyRequest& request,
                              const std::function<void(std::size_t, std::size_t)>& progress = {});

}  // namespace monet
