#include "monet/models/catalogue.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "monet/base/nearest.h"
#include "monet/models/recipe.h"

namespace monet {
namespace {

using namespace models;

constexpr std::int64_t kMostBatch = std::int64_t{1} << 31;

const std::vector<Recipe>& recipes() {
  static const std::vector<Recipe> all = [] {
    std::vector<Recipe> list;
    for (auto family : {mlp_recipes, resnet_recipes, vgg_recipes, mobilenet_recipes, unet_recipes, vit_recipes,
                        gpt2_recipes, mini_gpt_recipes, bert_recipes, llama_recipes})
      for (Recipe& recipe : family()) list.push_back(std::move(recipe));
    return list;
  }();
  return all;
}

const Recipe* recipe_named(std::string_view name) {
  const auto it =
      std::find_if(recipes().begin(), recipes().end(), [&](const Recipe& r) { return r.entry.name == name; });
  return it == recipes().end() ? nullptr : &*it;
}

std::string_view name_part(std::string_view spec) { return spec.substr(0, spec.find(':')); }

[[noreturn]] void fail_unknown(std::string_view name) {
  std::vector<std::string> names;
  for (const Recipe& recipe : recipes()) names.push_back(recipe.entry.name);
  throw InputError(Diagnostic{.message = fmt::format("unknown model '{}'", name.substr(0, 200)),
                              .hint = did_you_mean(name, names, fmt::format("models: {}", fmt::join(names, ", ")))});
}

}  // namespace

const std::vector<ModelEntry>& model_catalogue() {
  static const std::vector<ModelEntry> entries = [] {
    std::vector<ModelEntry> list;
    for (const Recipe& recipe : recipes()) list.push_back(recipe.entry);
    return list;
  }();
  return entries;
}

bool is_builtin_model(std::string_view spec) { return recipe_named(name_part(spec)) != nullptr; }

Graph build_model(std::string_view spec, std::int64_t batch) {
  const std::string_view name = name_part(spec);
  const Recipe* recipe = recipe_named(name);
  if (!recipe) fail_unknown(name);

  const std::string where = fmt::format("model '{}'", spec.size() <= 200 ? spec : name);
  std::vector<Diagnostic> faults;
  if (batch < 1 || batch > kMostBatch)
    faults.push_back(
        {.where = where, .message = fmt::format("the batch must be from 1 to {}, not {}", kMostBatch, batch)});
  // Without a colon no option is given; behind one there must be some.
  const std::vector<ModelOption>& options = recipe->entry.options;
  const OptionValues values = name.size() == spec.size()
                                  ? OptionValues(options)
                                  : OptionValues(options, spec.substr(name.size() + 1), where, faults);
  if (!faults.empty()) throw InputError(std::move(faults));

  try {
    Builder builder{std::string(name)};
    const TensorId logits = recipe->build(builder, values, batch);
    Graph graph = std::move(builder).finish();
    graph.outputs.insert(graph.outputs.begin(), logits);
    return graph;
  } catch (const ShapeError& error) {
    throw InputError(Diagnostic{.where = where, .message = error.what(), .hint = "these sizes do not fit together"});
  }
}

}  // namespace monet
