// Runs training iterations in the interpreter and writes down every number an independent framework needs to run the
// same ones: what they start from, what they compute, and what the backward pass keeps.
//
//   dump_iteration MODEL FOLDER [option=value …]
//
// FOLDER/index.json names the files beside it, each the raw little-endian elements of one tensor, row-major, in the
// type `number` says. With steps=0 nothing runs and no numbers are written: the list of saved tensors alone.
#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <optional>

#include "monet/base/diagnostic.h"
#include "monet/base/file.h"
#include "monet/base/json.h"
#include "monet/base/rng.h"
#include "monet/graph/saved.h"
#include "monet/interpret/run.h"
#include "monet/verbs/prepare.h"

namespace monet {
namespace {

struct Arguments {
  ModelRequest request;
  std::filesystem::path folder;
  std::int64_t steps = 1;
  std::uint64_t seed = 1;
  bool in_double = false;
};

constexpr const char* kUsage =
    "dump_iteration MODEL FOLDER [batch=N] [microbatches=N] [optimizer=SPEC] [loss=cross_entropy|mse] [train=WHAT]\n"
    "               [save=lean|torch] [attention=written|online] [precision=fp32] [clip=NORM] [steps=N] [seed=N]\n"
    "               [number=float|double]";

[[noreturn]] void refuse(const std::string& argument, const std::string& message) {
  throw InputError(Diagnostic{.where = argument, .message = message, .hint = kUsage});
}

template <class T>
T number_in(const std::string& argument, std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) refuse(argument, "is not a number");
  return value;
}

Arguments parse(const std::vector<std::string>& words) {
  if (words.size() < 2) refuse("arguments", "a model and a folder are needed");
  Arguments a;
  a.request.model = words[0];
  a.request.precision = "fp32";
  a.request.load_weights = true;
  a.folder = words[1];
  for (std::size_t i = 2; i < words.size(); ++i) {
    const std::string& word = words[i];
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) refuse(word, "is not option=value");
    const std::string key = word.substr(0, equals), value = word.substr(equals + 1);
    if (key == "batch")
      a.request.batch = number_in<std::int64_t>(word, value);
    else if (key == "microbatches")
      a.request.microbatches = number_in<std::int64_t>(word, value);
    else if (key == "optimizer")
      a.request.optimizer = value;
    else if (key == "loss")
      a.request.loss = value;
    else if (key == "train")
      a.request.train = value;
    else if (key == "save")
      a.request.save = value;
    else if (key == "attention")
      a.request.attention = value;
    else if (key == "precision")
      a.request.precision = value;
    else if (key == "clip")
      a.request.clip_norm = number_in<double>(word, value);
    else if (key == "steps")
      a.steps = number_in<std::int64_t>(word, value);
    else if (key == "seed")
      a.seed = number_in<std::uint64_t>(word, value);
    else if (key == "number" && (value == "float" || value == "double"))
      a.in_double = value == "double";
    else
      refuse(word, "is not understood");
  }
  return a;
}

Json describe(const Tensor& tensor) {
  return Json::object()
      .set("name", tensor.name)
      .set("shape", tensor.shape)
      .set("category", name(tensor.category))
      .set("element", name(tensor.format.element))
      .set("bytes", bytes(tensor));
}

// The elements of many tensors one behind the other. One file: an iteration has hundreds.
struct Numbers {
  std::string bytes;

  template <class T>
  Json add(const Tensor& tensor, const Array<T>& array) {
    static_assert(std::endian::native == std::endian::little);
    const std::size_t offset = bytes.size();
    bytes.resize(offset + array.data.size() * sizeof(T));
    if (!array.data.empty()) std::memcpy(bytes.data() + offset, array.data.data(), array.data.size() * sizeof(T));
    return describe(tensor).set("offset", offset);
  }
};

// Scales of 1, biases of 0 and fresh running statistics hide mistakes: every one gets a part of its own.
template <class T>
void spread_constants(const Graph& graph, std::uint64_t seed, const Values<double>& given, Values<T>& values) {
  for (std::uint32_t t = 0; t < graph.tensors.size(); ++t) {
    const Tensor& tensor = graph.tensors[t];
    const bool movable = tensor.category == Category::Weight || tensor.category == Category::ModelState;
    const auto value = values.find(tensor.name);
    if (!movable || value == values.end() || given.contains(tensor.name)) continue;
    if (!std::holds_alternative<Splat>(tensor.initial)) continue;
    for (std::size_t i = 0; i < value->second.data.size(); ++i)
      value->second.data[i] += static_cast<T>(0.25 * random_uniform(seed, t, i));
  }
}

// The tensor the next iteration reads in place of this one; kNoTensor if it reads none.
TensorId start_of(const Graph& graph, TensorId t) {
  TensorId old = graph[t].overwrites;
  while (old != kNoTensor && graph[old].overwrites != kNoTensor) old = graph[old].overwrites;
  return old;
}

template <class T>
void run_steps(const Arguments& a, const Prepared& p, Numbers& numbers, Json& index) {
  Values<T> given;
  for (const auto& [name, array] : p.values)
    given[name] = Array<T>{array.shape, std::vector<T>(array.data.begin(), array.data.end())};
  Values<T> values = initial_values<T>(p.graph, a.seed, given);
  spread_constants(p.graph, a.seed, p.values, values);

  Json sources = Json::array(), gradients = Json::array(), after = Json::array(), losses = Json::array();
  for (const Tensor& tensor : p.graph.tensors)
    if (const auto value = values.find(tensor.name); value != values.end())
      sources.push(numbers.add(tensor, value->second));
  for (std::int64_t s = 0; s < a.steps; ++s) {
    RunOptions options{.step = static_cast<std::uint64_t>(s), .keep = {}};
    if (s == 0) options.keep = p.gradients;
    const Values<T> result = run<T>(p.graph, values, options);
    losses.push(static_cast<double>(result.at(p.graph[p.loss].name).data[0]));
    for (std::size_t w = 0; s == 0 && w < p.weights.size(); ++w) {
      const Tensor& gradient = p.graph[p.gradients[w]];
      gradients.push(numbers.add(gradient, result.at(gradient.name)).set("weight", p.graph[p.weights[w]].name));
    }
    for (const TensorId t : p.graph.outputs) {
      const TensorId old = start_of(p.graph, t);
      if (old == kNoTensor || !values.contains(p.graph[old].name)) continue;
      values[p.graph[old].name] = result.at(p.graph[t].name);
      if (s + 1 == a.steps) after.push(numbers.add(p.graph[old], values[p.graph[old].name]));
    }
  }
  index.set("sources", sources).set("losses", losses).set("gradients", gradients).set("after", after);
}

void write_iterations(const Arguments& a) {
  const Prepared p = prepare(a.request);
  if (!p.is_training || p.imported_training) refuse(a.request.model, "there is no iteration of ours to run");
  Json index = Json::object();
  index.set("model", a.request.model).set("number", a.in_double ? "float64" : "float32");
  Json saved = Json::array();
  for (const TensorId t : saved_activations(p.graph)) saved.push(describe(p.graph[t]));
  index.set("saved", saved);
  Json notes = Json::array();
  for (const std::string& note : p.notes) notes.push(note);
  index.set("notes", notes);
  Numbers numbers;
  if (a.steps > 0 && a.in_double) run_steps<double>(a, p, numbers, index);
  if (a.steps > 0 && !a.in_double) run_steps<float>(a, p, numbers, index);
  std::filesystem::create_directories(a.folder);
  write_file((a.folder / "numbers.bin").string(), numbers.bytes);
  write_file((a.folder / "index.json").string(), index.dump(1) + "\n");
}

}  // namespace
}  // namespace monet

int main(int count, char** words) {
  try {
    monet::write_iterations(monet::parse({words + 1, words + count}));
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 2;
  }
}
