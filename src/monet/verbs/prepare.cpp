#include "monet/verbs/prepare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <regex>
#include <unordered_map>

#include "monet/base/file.h"
#include "monet/base/nearest.h"
#include "monet/base/sha256.h"
#include "monet/graph/saved.h"
#include "monet/graph/text.h"
#include "monet/graph/verify.h"
#include "monet/models/catalogue.h"
#include "monet/onnx/import.h"
#include "monet/rewrite/dead_nodes.h"
#include "monet/rewrite/fold_batch_norm.h"
#include "monet/rewrite/fold_constants.h"
#include "monet/rewrite/online_softmax.h"
#include "monet/rewrite/precision.h"
#include "monet/rewrite/recompose.h"
#include "monet/rewrite/running_statistics.h"
#include "monet/search/savings.h"
#include "monet/verbs/refuse.h"

namespace monet {
namespace {

std::string one_of(const std::string& flag, const std::string& value, const std::vector<std::string>& choices) {
  if (std::find(choices.begin(), choices.end(), value) != choices.end()) return value;
  refuse(flag, fmt::format("unknown value '{}'", value),
         did_you_mean(value, choices, fmt::format("known: {}", fmt::join(choices, ", "))));
}

bool ends_with(const std::string& text, std::string_view end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// Samples of one pass over the model. An inference has no gradients to add up: it takes the whole batch at once.
std::int64_t pass_size(const ModelRequest& r, std::int64_t fallback) {
  const std::int64_t batch = r.batch.value_or(fallback);
  if (batch < 1) refuse("--batch", "must be at least 1");
  if (r.microbatches < 1 || batch % r.microbatches != 0)
    refuse("--microbatches", fmt::format("{} microbatches do not divide a batch of {}", r.microbatches, batch),
           "the batch is that of the whole iteration");
  return r.train == "none" ? batch : batch / r.microbatches;
}

void load_text(const ModelRequest& r, Prepared& p) {
  const char* sizes =
      "a text graph has the sizes it was written with: `monet graph MODEL --text` writes one with others";
  if (r.batch) refuse("--batch", "the batch of a text graph cannot be changed", sizes);
  if (!r.dims.empty() && !r.dims_are_shared) refuse("--dim", "a text graph has no symbolic dimensions", sizes);
  if (r.microbatches != 1) refuse("--microbatches", "the batch of a text graph cannot be changed", sizes);
  const std::string text = read_file(r.model);
  p.inputs.push_back({"model", r.model, sha256_hex(text)});
  p.graph = parse_graph(text, r.model);
  std::vector<Diagnostic> found;
  for (const std::string& fault : faults(p.graph)) found.push_back({.file = r.model, .message = fault});
  if (!found.empty()) throw InputError(std::move(found));
}

void load_onnx(const ModelRequest& r, Prepared& p) {
  const std::string bytes = read_file(r.model);
  p.inputs.push_back({"model", r.model, sha256_hex(bytes)});
  ImportOptions options{.dims = r.dims,
                        .dims_are_shared = r.dims_are_shared,
                        .batch = {},
                        .strict = r.strict,
                        .load_weights = r.load_weights};
  if (r.batch)
    options.batch = pass_size(r, 1);
  else if (r.microbatches != 1)
    refuse("--microbatches", "needs the batch of the whole iteration", "add --batch");
  Import import = import_onnx(bytes, r.model, options);
  p.graph = std::move(import.graph);
  p.values = std::move(import.weights);
  p.warnings = std::move(import.warnings);
  p.trained_parameters = import.trained_parameters;
  p.has_batch_asked_for = import.has_batch_asked_for;
  p.dims = std::move(import.dims);
  const bool plain =
      std::all_of(p.graph.nodes.begin(), p.graph.nodes.end(), [](const Node& n) { return n.phase == Phase::Forward; });
  if (plain) p.graph = recompose_activations(recompose_norms(fold_constants(std::move(p.graph))));
}

void load(const ModelRequest& r, Prepared& p) {
  if (is_builtin_model(r.model)) {
    if (!r.dims.empty() && !r.dims_are_shared)
      refuse("--dim", "built-in models have no symbolic dimensions",
             "their sizes are options: " + r.model + ":name=value");
    p.graph = build_model(r.model, pass_size(r, r.microbatches));
    return;
  }
  if (ends_with(r.model, ".monet")) return load_text(r, p);
  if (ends_with(r.model, ".onnx") || r.model.find('/') != std::string::npos) return load_onnx(r, p);
  build_model(r.model, 1);  // says what names there are
}

bool stores_half(const Graph& g) {
  return std::any_of(g.tensors.begin(), g.tensors.end(), [](const Tensor& t) {
    return t.format.element == Element::F16 || t.format.element == Element::BF16;
  });
}

std::int64_t count_parameters(const Graph& g) {
  const Uses u = uses(g);
  std::int64_t total = 0;
  for (std::size_t t = 0; t < g.tensors.size(); ++t)
    if (u.producer[t] == kNoNode && g.tensors[t].category == Category::Weight) total += elements(g.tensors[t].shape);
  return total;
}

// Runs a pass and finds the tensors we hold on to again: a rewrite keeps names, not ids.
void rewrite(Prepared& p, const std::function<Graph(Graph)>& pass) {
  std::vector<TensorId*> handles;
  for (auto* ids : {&p.weights, &p.gradients, &p.new_weights})
    for (TensorId& t : *ids) handles.push_back(&t);
  if (p.loss != kNoTensor) handles.push_back(&p.loss);
  std::vector<std::string> names;
  for (const TensorId* t : handles) names.push_back(p.graph[*t].name);
  p.graph = pass(std::move(p.graph));
  std::unordered_map<std::string_view, TensorId> by_name;
  for (std::uint32_t t = 0; t < p.graph.tensors.size(); ++t) by_name.emplace(p.graph.tensors[t].name, TensorId{t});
  for (std::size_t i = 0; i < handles.size(); ++i) *handles[i] = by_name.at(names[i]);
}

std::vector<Dropped> dropped_by_name(const ModelRequest& r, const Graph& graph, const std::vector<TensorId>& saved) {
  std::vector<Dropped> dropped;
  std::regex pattern;
  try {
    if (r.recompute != "all") pattern = std::regex(r.recompute, std::regex::ECMAScript);
  } catch (const std::regex_error&) {
    refuse("--recompute", fmt::format("'{}' is not a regular expression", r.recompute));
  }
  for (const TensorId t : saved) {
    const std::string& name = graph[t].name;
    if (r.recompute == "all" || (name.size() < 4096 && std::regex_search(name, pattern)))
      dropped.push_back({.tensor = t, .per_consumer = r.recompute_per_consumer});
  }
  if (dropped.empty())
    refuse("--recompute", fmt::format("'{}' matches no saved activation", r.recompute), "`monet graph` lists them");
  return dropped;
}

std::vector<Dropped> dropped_by_plan(const ModelRequest& r, const Graph& graph, const std::vector<TensorId>& saved) {
  std::vector<const plan::SavedPlan*> says(saved.size(), nullptr);
  std::vector<std::string> names;
  for (const TensorId t : saved) names.push_back(graph[t].name);
  const auto fail = [&](const plan::SavedPlan& entry, std::string message, std::string hint) {
    Diagnostic d{.where = "saved", .message = std::move(message), .hint = std::move(hint)};
    if (r.saved_places) r.saved_places("saved/" + entry.tensor, d);
    throw InputError(std::move(d));
  };
  for (const plan::SavedPlan& entry : r.saved) {
    bool is_used = false;
    for (std::size_t i = 0; i < saved.size(); ++i) {
      if (!plan::matches(entry.tensor, names[i])) continue;
      if (search::applies_to(graph[saved[i]], entry)) {
        is_used = true;
        says[i] = &entry;
      } else if (entry.tensor.find('*') == std::string::npos) {
        fail(entry,
             fmt::format("'{}' is {}, for which {} is not narrower", names[i], name(graph[saved[i]].format.element),
                         name(entry.narrow)),
             "");
      }
    }
    if (!is_used)
      fail(entry,
           fmt::format("no saved activation is named '{}'{}", entry.tensor,
                       entry.saving == plan::Saving::Narrow ? " and wider than that" : ""),
           did_you_mean(entry.tensor, names, "`monet graph` lists them"));
  }
  std::vector<Dropped> dropped;
  for (std::size_t i = 0; i < saved.size(); ++i)
    if (says[i] != nullptr)
      if (const auto drop = search::dropped_as(saved[i], *says[i])) dropped.push_back(*drop);
  return dropped;
}

void drop_saved(const ModelRequest& r, Prepared& p) {
  if (r.recompute.empty() && r.saved.empty()) return;
  if (!r.recompute.empty() && !r.saved.empty())
    refuse("--recompute", "the plan says which activations are saved", "one or the other");
  // What nobody makes (inputs, labels) cannot be rebuilt.
  std::vector<TensorId> saved = saved_activations(p.graph);
  const Uses u = uses(p.graph);
  std::erase_if(saved, [&](TensorId t) { return u.producer[t.index()] == kNoNode; });
  const std::vector<Dropped> dropped =
      r.saved.empty() ? dropped_by_name(r, p.graph, saved) : dropped_by_plan(r, p.graph, saved);
  rewrite(p, [&](const Graph& g) { return recompute(g, dropped); });
}

void make_iteration(const ModelRequest& r, Prepared& p) {
  const Optimizer optimizer = parse_optimizer(r.optimizer);
  TrainingOptions options;
  options.loss =
      one_of("--loss", r.loss, {"cross_entropy", "mse"}) == "mse" ? LossKind::MeanSquared : LossKind::CrossEntropy;
  options.optimizer = optimizer;
  options.train = r.train;
  options.policy = one_of("--save", r.save, {"lean", "torch"}) == "torch" ? SavePolicy::Torch : SavePolicy::Lean;
  options.microbatches = r.microbatches;
  options.clip_norm = r.clip_norm;
  options.loss_scaling = r.loss_scaling;
  if (r.clip_norm && !(*r.clip_norm > 0)) refuse("--clip", "must be positive");
  TrainingGraph t = make_training(std::move(p.graph), options);
  p.graph = std::move(t.graph);
  p.loss = t.loss;
  p.weights = std::move(t.weights);
  p.gradients = std::move(t.gradients);
  p.new_weights = std::move(t.new_weights);
  p.notes.insert(p.notes.end(), t.notes.begin(), t.notes.end());
  p.is_training = true;
  p.loss_name = r.loss;
  p.optimizer_name = std::string(name(optimizer.kind));
  for (const TensorId w : p.weights) p.trained_parameters += elements(p.graph[w].shape);
}

}  // namespace

std::int64_t samples_of(const ModelRequest& r, const Prepared& p) {
  if (r.batch && !p.has_batch_asked_for)
    refuse("--batch", fmt::format("the batch of {} stays as it is: figures by sample cannot be told", r.model),
           "export the model with a dynamic batch dimension, or leave --batch out");
  return r.batch.value_or(r.microbatches);
}

Prepared prepare(const ModelRequest& r) {
  Prepared p;
  try {
    load(r, p);
    p.imported_training = std::any_of(p.graph.nodes.begin(), p.graph.nodes.end(),
                                      [](const Node& n) { return n.phase == Phase::Backward; });
    p.is_training = p.imported_training;
    if (p.imported_training && r.microbatches != 1)
      refuse("--microbatches", "the file contains gradients: what it adds up is its own", "leave it out");
    const bool makes = !p.imported_training && r.train != "none";
    if (!p.imported_training) {
      if (r.is_inference) p.graph = use_running_statistics(std::move(p.graph));
      if (r.fold_batch_norm) p.graph = fold_batch_norm(std::move(p.graph), &p.values);
      if (one_of("--attention", r.attention, {"written", "online"}) == "online")
        p.graph = use_online_softmax(std::move(p.graph));
    }
    // A file that mixes formats says which tensor is stored how; one all in fp32 is as its framework wrote it.
    const bool own = r.precision.empty() && (!p.is_training || stores_half(p.graph)) && !makes;
    p.precision = own ? "own" : r.precision.empty() ? "fp16" : r.precision;
    if (!own) p.graph = set_precision(std::move(p.graph), parse_precision(p.precision));
    if (p.imported_training)
      p.notes.push_back("the file contains gradients: optimizer, loss and what is saved are its own");
    p.parameters = count_parameters(p.graph);
    if (makes) make_iteration(r, p);
    if (!p.imported_training) rewrite(p, remove_dead_nodes);
    if (p.is_training)
      drop_saved(r, p);
    else if (!r.recompute.empty())
      refuse("--recompute", "an inference saves nothing that could be rebuilt", "leave it out");
  } catch (const ShapeError& error) {
    refuse(r.model, error.what());
  }
  verify(p.graph);
  return p;
}

}  // namespace monet
