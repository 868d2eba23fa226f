#include "monet/verbs/plan_input.h"

#include <algorithm>

#include "monet/base/file.h"
#include "monet/base/sha256.h"
#include "monet/cost/zigzag_files.h"
#include "monet/plan/stream_plan.h"

namespace monet {
namespace {

// What is no plan of ours must be a mapping file; if it is neither, both are named.
void check_mapping(const std::string& bytes, const std::string& path) {
  const config::Tree tree = config::parse(bytes, path);
  if (cost::looks_like_mapping(tree.root())) return;
  config::Findings findings;
  findings.error(tree.root(), "neither a plan nor a mapping file of Stream",
                 "a plan begins with 'monet: plan' (docs/plan.md); a mapping file is a list of entries with 'name' and "
                 "'core_allocation', or a map with 'layers'");
  findings.throw_if_failed();
}

}  // namespace

plan::ParsedPlan read_plan(const PlanInput& input, const hardware::Hardware& hardware, const Graph& graph,
                           const std::vector<std::string>& layers, std::vector<DocumentInput>& inputs,
                           std::vector<Diagnostic>& warnings) {
  plan::ParsedPlan parsed;
  if (!input.plan.empty()) {
    const std::string bytes = read_file(input.plan);
    const bool is_new =
        std::none_of(inputs.begin(), inputs.end(), [](const DocumentInput& other) { return other.name == "plan"; });
    if (is_new) inputs.push_back({"plan", input.plan, sha256_hex(bytes)});
    const bool is_own = plan::looks_like_plan(bytes, input.plan);
    if (!is_own) check_mapping(bytes, input.plan);
    parsed = is_own ? plan::parse_plan(bytes, input.plan)
                    : plan::parse_stream_plan(bytes, input.plan, plan::stream_context(hardware, graph));
    warnings.insert(warnings.end(), parsed.warnings.begin(), parsed.warnings.end());
  }
  if (!input.stacks.empty()) {
    if (!parsed.plan.groups.empty())
      throw InputError(Diagnostic{.where = "--stacks", .message = "the plan has groups of its own"});
    parsed.plan.groups = plan::groups_in(graph, plan::parse_stacks(input.stacks, layers));
  }
  return parsed;
}

void read_savings(const std::string& plan, ModelRequest& model) {
  if (plan.empty()) return;
  const std::string bytes = read_file(plan);
  if (bytes.find("saved:") == std::string::npos || !plan::looks_like_plan(bytes, plan)) return;
  plan::ParsedPlan parsed = plan::parse_plan(bytes, plan);
  model.saved = std::move(parsed.plan.saved);
  model.saved_places = [parsed = std::move(parsed)](const std::string& part, Diagnostic& d) {
    locate(parsed, part, d);
  };
}

}  // namespace monet
