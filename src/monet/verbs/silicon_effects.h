#pragma once
#include <string>
#include <vector>

#include "monet/schedule/evaluation.h"

namespace monet {

// One evaluation taken apart: the cycles there would be if only some of the effects were there.

struct Effect {
  std::string name{};
  double cycles = 0;
  bool is_alternative = false;  // no part of the evaluation: another reading of the chip, shown beside it
};

// In the order in which effects are added; the last but for alternatives is the evaluation itself. `input` is what
// `result` was made of.
std::vector<Effect> effects_of(const schedule::TilingInput& input, const schedule::Evaluation& result);

// If transfers to and from the home took turns with compute: every tile waits for those made for its sake.
double cycles_in_turns(const schedule::Evaluation& result);
// If weights came into the arrays at no cost, as they do where a tile finds those of the tile before. 0: no schedule.
double cycles_with_free_weights(const schedule::TilingInput& input);

}  // namespace monet
