#include "monet/search/savings.h"

namespace monet::search {

std::optional<Dropped> dropped_as(TensorId tensor, const plan::SavedPlan& saved) {
  switch (saved.saving) {
    case plan::Saving::Keep:
    case plan::Saving::Spill: return std::nullopt;
    case plan::Saving::Recompute: return Dropped{.tensor = tensor};
    case plan::Saving::RecomputeEach:
    case plan::Saving::RecomputeTiles: return Dropped{.tensor = tensor, .per_consumer = true};
    case plan::Saving::Narrow: return Dropped{.tensor = tensor, .narrow = saved.narrow};
  }
  return std::nullopt;
}

bool applies_to(const Tensor& tensor, const plan::SavedPlan& saved) {
  const Element own = tensor.format.element;
  return saved.saving != plan::Saving::Narrow || (is_float(own) && bits(saved.narrow) < bits(own));
}

}  // namespace monet::search
