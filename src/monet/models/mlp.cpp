#include <fmt/format.h>

#include "monet/models/layers.h"
#include "monet/models/recipe.h"

// A perceptron: `layers` hidden layers with ReLU, and the classifier behind them.

namespace monet::models {
namespace {

TensorId build_mlp(Builder& b, const OptionValues& options, std::int64_t batch) {
  const std::int64_t layers = options.whole("layers"), hidden = options.whole("hidden");
  TensorId x = b.source("input", {batch, options.whole("in")}, Format{Element::F32}, Category::Input);
  for (std::int64_t i = 0; i < layers; ++i) {
    const std::string name = fmt::format("layers.{}", i);
    x = activate(b, Activation::Relu, linear(b, name, x, hidden), name + ".act");
  }
  return linear(b, fmt::format("layers.{}", layers), x, options.whole("classes"));
}

}  // namespace

std::vector<Recipe> mlp_recipes() {
  return {
      {{.name = "mlp",
        .description = "perceptron with ReLU",
        .options = {whole_option("in", "input features", 784), whole_option("hidden", "width of hidden layers", 256),
                    layers_option(2), whole_option("classes", "classes", 10)}},
       build_mlp}};
}

}  // namespace monet::models
