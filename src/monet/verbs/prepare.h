#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "monet/base/diagnostic.h"
#include "monet/interpret/array.h"
#include "monet/plan/decide.h"
#include "monet/report/document.h"
#include "monet/rewrite/recompute.h"
#include "monet/training/train.h"

namespace monet {

// Which graph a user asks for: the model and everything that shapes its iteration.
struct ModelRequest {
  std::string model;                  // built-in spec, ONNX path, or text graph (.monet)
  std::optional<std::int64_t> batch;  // per iteration; default 1, or what the file says
  std::int64_t microbatches = 1;
  std::map<std::string, std::int64_t> dims;  // symbolic ONNX dimensions
  bool dims_are_shared = false;              // with other models: those that this one does not have are theirs
  std::string optimizer = "adamw";
  std::string loss = "cross_entropy";  // or mse
  std::string train = "all";           // none: no gradients
  bool is_inference = false;           // batch normalisations go by their running statistics
  std::string precision;               // empty: fp16 for a training we make, else the model's own
  std::string save = "lean";           // or torch
  std::string attention = "written";   // or online
  std::string recompute;               // "": none; "all" or an expression searched in saved tensors' names
  bool recompute_per_consumer = false;
  std::vector<plan::SavedPlan> saved;  // what a plan says of saved activations, behind `recompute`
  plan::Places saved_places;           // where it says so
  bool fold_batch_norm = false;
  std::optional<double> clip_norm;
  bool loss_scaling = false;
  bool strict = false;
  bool load_weights = false;
};

struct Prepared {
  Graph graph;
  bool is_training = false;
  bool imported_training = false;   // the file already contained gradients
  bool has_batch_asked_for = true;  // false: a file's inputs do not let themselves be given it
  std::vector<std::string> dims;    // of ModelRequest::dims, those that there are
  TensorId loss = kNoTensor;        // of training graphs we made
  std::vector<TensorId> weights, gradients, new_weights;
  std::int64_t parameters = 0, trained_parameters = 0;
  std::string precision, loss_name, optimizer_name;
  Values<double> values;  // weights read from the file, if asked for
  std::vector<Diagnostic> warnings;
  std::vector<std::string> notes;
  std::vector<DocumentInput> inputs;
};

// Loads, recognises, sets formats, differentiates, rewrites, verifies. Throws InputError.
Prepared prepare(const ModelRequest& request);
// Of an iteration, as far as the request says; 1 where the file alone knows. Throws InputError if it is another number.
std::int64_t samples_of(const ModelRequest& request, const Prepared& prepared);

}  // namespace monet
