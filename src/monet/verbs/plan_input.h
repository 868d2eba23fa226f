#pragma once
#include <string>
#include <vector>

#include "monet/base/diagnostic.h"
#include "monet/graph/graph.h"
#include "monet/hardware/hardware.h"
#include "monet/plan/plan_file.h"
#include "monet/report/document.h"
#include "monet/verbs/prepare.h"

namespace monet {

// A plan as a user gives it.
struct PlanInput {
  std::string plan{};    // a plan, or a Stream mapping file
  std::string stacks{};  // fused groups as Stream's scripts word them
};

// For a graph of single works, whose layers have these names in the model. Adds the file to `inputs`, unless it is
// there.
plan::ParsedPlan read_plan(const PlanInput& input, const hardware::Hardware& hardware, const Graph& graph,
                           const std::vector<std::string>& layers, std::vector<DocumentInput>& inputs,
                           std::vector<Diagnostic>& warnings);

// What a plan says of saved activations shapes the graph: it is the model's part of the plan.
void read_savings(const std::string& plan, ModelRequest& model);

}  // namespace monet
