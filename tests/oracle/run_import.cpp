// Imports an ONNX file with its weights and runs it in the interpreter.
//
//   run_import MODEL FOLDER [batch=N] [NAME=FILE …]
//
// Inputs come from files of raw doubles, row-major; output i of the file goes to FOLDER/output_<i>.f64. Prints one line
// "fallbacks <count>", then "tensor <element> <shape> <name>" for every tensor. Exit code 2 if the file does not
// import.
#include <fmt/format.h>

#include <cstring>
#include <filesystem>
#include <iostream>

#include "monet/base/diagnostic.h"
#include "monet/base/file.h"
#include "monet/interpret/run.h"
#include "monet/onnx/import.h"

namespace monet {
namespace {

Array<double> read_numbers(const std::string& path, const Shape& shape) {
  const std::string bytes = read_file(path);
  Array<double> array{shape, std::vector<double>(bytes.size() / sizeof(double))};
  std::memcpy(array.data.data(), bytes.data(), array.data.size() * sizeof(double));
  return array;
}

int run_file(const std::string& model, const std::filesystem::path& folder, const std::vector<std::string>& settings) {
  ImportOptions options;
  options.load_weights = true;
  std::vector<std::pair<std::string, std::string>> inputs;
  for (const std::string& setting : settings) {
    const std::size_t equals = setting.rfind('=');
    if (equals == std::string::npos) continue;
    if (setting.rfind("batch=", 0) == 0)
      options.batch = std::stoll(setting.substr(equals + 1));
    else
      inputs.emplace_back(setting.substr(0, equals), setting.substr(equals + 1));
  }
  const Import import = import_onnx(model, options);
  std::size_t fallbacks = 0;
  for (const Node& node : import.graph.nodes) fallbacks += std::holds_alternative<Fallback>(node.op) ? 1u : 0u;
  fmt::print("fallbacks {}\n", fallbacks);
  for (const Tensor& tensor : import.graph.tensors)
    fmt::print("tensor {} {} {}\n", name(tensor.format.element), to_string(tensor.shape), tensor.name);
  if (fallbacks > 0) return 0;
  Values<double> sources = import.weights;
  for (const auto& [name, path] : inputs)
    if (const TensorId t = tensor_named(import.graph, name); t != kNoTensor)
      sources[name] = read_numbers(path, import.graph[t].shape);
  const Values<double> results = run<double>(import.graph, sources);
  for (std::size_t i = 0; i < import.graph.outputs.size(); ++i) {
    const Array<double>& array = results.at(import.graph[import.graph.outputs[i]].name);
    std::string bytes(array.data.size() * sizeof(double), '\0');
    std::memcpy(bytes.data(), array.data.data(), bytes.size());
    write_file((folder / fmt::format("output_{}.f64", i)).string(), bytes);
  }
  return 0;
}

}  // namespace
}  // namespace monet

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "run_import MODEL FOLDER [batch=N] [NAME=FILE …]\n";
    return 2;
  }
  try {
    return monet::run_file(argv[1], argv[2], {argv + 3, argv + argc});
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 2;
  }
}
