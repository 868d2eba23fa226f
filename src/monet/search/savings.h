#pragma once
#include <optional>

#include "monet/plan/plan.h"
#include "monet/rewrite/recompute.h"

namespace monet::search {

// What a plan says of a saved activation, as a rewrite of the graph; nothing where the graph stays as it is.
std::optional<Dropped> dropped_as(TensorId tensor, const plan::SavedPlan& saved);

// Whether it can be said of a tensor: a format must be narrower than its own.
bool applies_to(const Tensor& tensor, const plan::SavedPlan& saved);

}  // namespace monet::search
