#pragma once
#include <stdexcept>
#include <string>
#include <variant>

#include "monet/hardware/library.h"
#include "monet/rewrite/decompose.h"
#include "monet/schedule/evaluation.h"
#include "monet/verbs/prepare.h"

// A small training iteration on a chip of the library, as the reports get it.

namespace monet::test {

struct Evaluated {
  Graph graph{};
  plan::Chip chip{};
  schedule::Evaluation e{};
};

inline Evaluated evaluated(const std::string& model, const std::string& chip_name) {
  Evaluated out;
  ModelRequest request;
  request.model = model;
  out.graph = decompose(prepare(request).graph);
  const hardware::Hardware hw = hardware::find_hardware(chip_name).hardware;
  out.chip = plan::chip_of(hw);
  const auto facts = plan::facts_of(out.graph);
  const plan::Decided decided = plan::decide(out.graph, facts, out.chip, {});
  const Storage storage(out.graph);
  auto result = schedule::evaluate(
      {.graph = out.graph, .storage = storage, .facts = facts, .chip = out.chip, .hardware = hw, .decided = decided});
  if (const auto* no = std::get_if<schedule::Infeasible>(&result)) throw std::runtime_error(no->reason);
  out.e = std::move(std::get<schedule::Evaluation>(result));
  return out;
}

// Made once: the tests look at it in different ways.
inline const Evaluated& small() {
  static const Evaluated made = evaluated("mlp:in=24,hidden=32", "tpu_like_quad_core");
  return made;
}

}  // namespace monet::test
