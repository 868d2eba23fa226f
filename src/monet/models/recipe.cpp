#include "monet/models/recipe.h"

#include <fmt/format.h>

namespace monet::models {

ModelOption whole_option(std::string name, std::string meaning, std::int64_t default_value) {
  return {.name = std::move(name), .meaning = std::move(meaning), .default_value = fmt::to_string(default_value)};
}

ModelOption layers_option(std::int64_t default_value) {
  ModelOption option = whole_option("layers", "number of layers", default_value);
  option.most = 10000;  // the one option that the size of the graph grows with
  return option;
}

ModelOption dropout_option() {
  return {.name = "dropout",
          .meaning = "share of elements dropped out; 0: no dropout nodes",
          .default_value = "0",
          .kind = OptionKind::Real,
          .least = 0,
          .most = 0.99};
}

}  // namespace monet::models
