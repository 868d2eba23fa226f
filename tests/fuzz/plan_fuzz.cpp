#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "monet/base/diagnostic.h"
#include "monet/plan/plan_file.h"
#include "monet/plan/stream_plan.h"
#include "monet/search/fusion_rules.h"

namespace {

using namespace monet;

// A convolution of two groups, one that is not cut along K, and a view.
plan::StreamContext context() {
  const auto loop = [](const char* name, std::int64_t size) { return Loop{.name = name, .size = size}; };
  Loop within = loop("K", 6), fixed = loop("K", 8);
  within.within = "G";
  fixed.kind = LoopKind::Fixed;
  return {.cores = {"a", "b", "dram"},
          .offchip = 2,
          .nodes = {{.name = "conv1",
                     .types = {"Conv"},
                     .dimensions = {{"K", within}, {"G", loop("G", 2)}, {"OX", loop("OY", 14)}, {"OY", loop("OX", 9)}}},
                    {.name = "conv2", .types = {"Conv"}, .dimensions = {{"K", fixed}, {"OX", loop("OY", 1)}}},
                    {.name = "conv1.gradient", .types = {"Gemm", "MatMul"}, .dimensions = {{"D", loop("D", 3)}}},
                    {.name = "view", .types = {"Reshape"}, .only_moves = true}}};
}

template <class F>
void attempt(F f) {
  try {
    f();
  } catch (const InputError& error) {
    if (error.diagnostics().empty()) std::abort();
  }
}

// What every plan of a mapping promises: nodes that are there, once each, and parts no smaller than one step.
void check(const plan::Plan& made, const plan::StreamContext& known) {
  for (const plan::NodePlan& node : made.nodes) {
    const auto at = std::find_if(known.nodes.begin(), known.nodes.end(),
                                 [&](const plan::StreamNode& n) { return n.name == node.node; });
    if (at == known.nodes.end() || node.cores.empty()) std::abort();
    for (const plan::StreamDimension& d : at->dimensions) {
      std::int64_t parts = 1;
      for (const auto* list : {&node.across, &node.tiles})
        for (const plan::Split& split : *list)
          if (split.loop == d.loop.name) parts *= split.parts;
      if (parts > d.loop.size || (parts > 1 && d.loop.kind == LoopKind::Fixed)) std::abort();
    }
  }
}

}  // namespace

// Any bytes are a plan, a mapping, stacks or rules for fusion, or an InputError, whichever reader gets them; a plan is
// read back as the same plan.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const plan::StreamContext known = context();
  static const std::vector<std::string> layers{"conv1", "conv2", "view"};
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  attempt([&] {
    const plan::Plan parsed = plan::parse_plan(text, "fuzz.yaml").plan;
    if (plan::parse_plan(plan::to_yaml(parsed), "printed.yaml").plan != parsed) std::abort();
  });
  attempt([&] {
    const plan::Plan made = plan::parse_stream_plan(text, "fuzz.yaml", known).plan;
    check(made, known);
    if (plan::parse_plan(plan::to_yaml(made), "printed.yaml").plan != made) std::abort();
  });
  attempt([&] { plan::parse_stacks(text, layers); });
  attempt([&] { search::parse_rules(std::string(text), "fuzz.yaml"); });
  return 0;
}
