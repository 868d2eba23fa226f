#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "monet/graph/graph.h"

// The built-in models: forward graphs of well-known networks, written down layer by layer. A model is named by a
// spec, "resnet18" or "resnet18:image=32,classes=10"; what may stand behind the colon is in the catalogue.
//
// Conventions of the graphs:
// - Weights carry the names and shapes of the state_dict of torchvision or Hugging Face, so numbers can be exchanged
//   by name. Norm scales start at 1, biases at 0; other weights have no stated initial value.
// - The first output is the logits, classes on axis 1; language models flatten them to [batch·seq, vocab]. Labels are
//   thus of the logits' shape without axis 1, and for language models hold the next token already shifted into place.
// - The other outputs are the new running statistics of batch normalisation, each overwriting its old value.
// - There is no loss node: `loss` in the catalogue says which one the model is trained with.

namespace monet {

enum class OptionKind { Whole, Real, Choice };

struct ModelOption {
  std::string name, meaning, default_value;
  OptionKind kind = OptionKind::Whole;
  std::vector<std::string> choices = {};  // of a Choice
  double least = 1, most = 2147483647;    // of a number
  bool operator==(const ModelOption&) const = default;
};

struct ModelEntry {
  std::string name, description;
  std::vector<ModelOption> options;
  std::string loss = "cross_entropy";
  bool operator==(const ModelEntry&) const = default;
};

const std::vector<ModelEntry>& model_catalogue();

// Whether the name in front of the options is one of the catalogue's.
bool is_builtin_model(std::string_view spec);

// The forward graph for `batch` samples. Throws InputError: unknown model or option, bad value, sizes that do not fit.
Graph build_model(std::string_view spec, std::int64_t batch);

}  // namespace monet
