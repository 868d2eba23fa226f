#pragma once
#include <string>
#include <vector>

#include "monet/graph/builder.h"

namespace monet {

enum class LossKind { CrossEntropy, MeanSquared };

// Appends the loss of the graph's first output, in phase Loss, and returns its scalar tensor. Adds the source "labels"
// (class indices) or "target" (values). A scalar first output is taken as the loss itself. Cross-entropy wants logits:
// a final softmax is left out. The class axis is 1, or the last of three ([batch, position, class]). `notes` receives
// what the user should know of these choices.
TensorId attach_loss(Builder& builder, LossKind kind, std::vector<std::string>& notes);

}  // namespace monet
