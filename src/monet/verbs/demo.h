#pragma once
#include <string>
#include <vector>

#include "monet/verbs/checkpoint.h"
#include "monet/verbs/evaluate.h"

namespace monet {

// What MONET shows who asks for nothing in particular: one training iteration of two models on two chips, with
// operators fused and one after the other; and what less memory would cost one of them.

struct DemoRow {
  EvaluateRequest request{};
  bool is_fused = true;
  EvaluateRun run{};
};

struct Demo {
  std::vector<DemoRow> rows{};
  CheckpointRequest question{};
  CheckpointRun answer{};
};

Demo demo();
std::string text(const Demo& demo);

}  // namespace monet
