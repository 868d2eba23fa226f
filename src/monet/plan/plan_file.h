#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "monet/base/config.h"
#include "monet/base/diagnostic.h"
#include "monet/plan/plan.h"

namespace monet::plan {

// Plans as YAML files (docs/plan.md).

constexpr std::size_t kNameShown = 80;  // characters of a name, in a message

struct ParsedPlan {
  Plan plan{};
  std::vector<Diagnostic> warnings{};
  std::string file{};
  // Where its parts stand in the file: "saved/NAME", "groups/3", "groups/3/1", "nodes/NAME", "nodes/NAME/cores",
  // "nodes/NAME/cores/CORE", "nodes/NAME/across/LOOP", "nodes/NAME/tiles/LOOP", names as the plan has them.
  std::map<std::string, config::Location> places{};
};

// Throws InputError with all that is wrong with the form. Whether there are such nodes, loops and cores is not known
// here: decide.h checks that, and `locate` says where.
ParsedPlan parse_plan(std::string_view text, const std::string& path);

bool looks_like_plan(const config::Value& root);  // monet: plan
// Of a file that may be as long as a plan of every node. Throws InputError if it is no YAML.
bool looks_like_plan(std::string_view text, const std::string& path);

// Gives a diagnostic the place of a part, or of what the part belongs to (decide.h: Places).
void locate(const ParsedPlan& parsed, const std::string& part, Diagnostic& diagnostic);

// Read back, it is the same plan. Loops of one list must differ; of several entries for one name only the last one is
// written, since it alone counts.
std::string to_yaml(const Plan& plan);

std::string_view name(Order order);  // depth_first, breadth_first, interleaved, pipelined

}  // namespace monet::plan
