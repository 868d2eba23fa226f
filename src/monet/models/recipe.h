#pragma once
#include <functional>
#include <vector>

#include "monet/graph/builder.h"
#include "monet/models/options.h"

namespace monet::models {

// A catalogue entry and how to build it: adds the model to the builder and returns its logits. Sizes that do not fit
// come out as ShapeError.
struct Recipe {
  ModelEntry entry;
  std::function<TensorId(Builder&, const OptionValues&, std::int64_t batch)> build;
};

std::vector<Recipe> mlp_recipes();
std::vector<Recipe> resnet_recipes();
std::vector<Recipe> vgg_recipes();
std::vector<Recipe> mobilenet_recipes();
std::vector<Recipe> unet_recipes();
std::vector<Recipe> vit_recipes();
std::vector<Recipe> gpt2_recipes();
std::vector<Recipe> mini_gpt_recipes();
std::vector<Recipe> bert_recipes();
std::vector<Recipe> llama_recipes();

// Options that several models have.
ModelOption whole_option(std::string name, std::string meaning, std::int64_t default_value);
ModelOption layers_option(std::int64_t default_value);
ModelOption dropout_option();

}  // namespace monet::models
