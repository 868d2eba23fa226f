#pragma once
#include <string>
#include <vector>

#include "monet/verbs/evaluate.h"

namespace monet {

// What MONET shows who asks for nothing in particular: one training iteration of two models on two chips, with
// operators fused and one after the other.

struct DemoRow {
  EvaluateRequest request{};
  bool is_fused = true;
  EvaluateRun run{};
};

std::vector<DemoRow> demo();
std::string text(const std::vector<DemoRow>& rows);

}  // namespace monet
