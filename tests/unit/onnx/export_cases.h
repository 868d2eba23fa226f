#pragma once
#include <functional>
#include <string>
#include <vector>

#include "monet/base/rng.h"
#include "monet/graph/builder.h"
#include "monet/interpret/array.h"

// Small graphs with numbers for their sources, on which an exported file must compute what the interpreter does.

namespace monet::test {

struct ExportCase {
  std::string name;
  Graph graph;
  Values<double> sources;
  double tolerance = 1e-4;
  bool weights = false;  // store them in the file
};

// Reproducible choices for one case.
class Choice {
 public:
  explicit Choice(std::uint64_t seed) : seed_(seed) {}
  std::int64_t between(std::int64_t low, std::int64_t high) {
    const auto span = static_cast<std::uint64_t>(high - low + 1);
    return low + static_cast<std::int64_t>(random_bits(seed_, 1, next_++) % span);
  }
  bool coin() { return between(0, 1) == 1; }
  // Rounded to float, so that both sides compute on the same numbers.
  double normal() { return static_cast<double>(static_cast<float>(random_normal(seed_, 2, next_++))); }

 private:
  std::uint64_t seed_, next_ = 0;
};

class CaseBuilder {
 public:
  CaseBuilder(std::string name, std::uint64_t seed = 1) : choice(seed), b(name), name_(std::move(name)) {}

  Choice choice;
  Builder b;

  TensorId numbers(const std::string& name, Shape shape, const std::function<double()>& number,
                   Element element = Element::F32, Category category = Category::Input) {
    Array<double> array{shape, {}};
    for (std::int64_t i = 0; i < elements(shape); ++i) array.data.push_back(number());
    sources_[name] = std::move(array);
    return b.source(name, std::move(shape), Format{element}, category);
  }
  TensorId normal(const std::string& name, Shape shape, Element element = Element::F32) {
    return numbers(
        name, std::move(shape), [&] { return choice.normal(); }, element);
  }
  TensorId positive(const std::string& name, Shape shape) {
    return numbers(name, std::move(shape), [&] { return static_cast<float>(std::abs(choice.normal()) + 0.25f); });
  }
  TensorId integers(const std::string& name, Shape shape, std::int64_t low, std::int64_t high,
                    Element element = Element::I64) {
    return numbers(
        name, std::move(shape), [&] { return static_cast<double>(choice.between(low, high)); }, element);
  }
  TensorId given(const std::string& name, Shape shape, std::vector<double> values, Element element = Element::F32) {
    sources_[name] = {shape, std::move(values)};
    return b.source(name, std::move(shape), Format{element}, Category::Input);
  }

  // Adds a node whose outputs the case compares.
  std::vector<TensorId> output(Op op, std::vector<TensorId> inputs, std::size_t outputs = 1) {
    const std::string name(operator_name(op));
    const std::vector<TensorId> made = b.add(std::move(op), std::move(inputs), name, outputs);
    for (const TensorId t : made) output(t);
    return made;
  }
  void output(TensorId t) { outputs_.push_back(t); }

  ExportCase finish(double tolerance = 1e-4) {
    ExportCase made{name_, std::move(b).finish(), std::move(sources_), tolerance};
    made.graph.outputs = outputs_;
    return made;
  }

 private:
  std::string name_;
  Values<double> sources_;
  std::vector<TensorId> outputs_;
};

void add_contraction_cases(std::vector<ExportCase>& cases);
void add_elementwise_cases(std::vector<ExportCase>& cases);
void add_window_cases(std::vector<ExportCase>& cases);
void add_norm_and_loss_cases(std::vector<ExportCase>& cases);
void add_movement_cases(std::vector<ExportCase>& cases);
void add_whole_cases(std::vector<ExportCase>& cases);
std::vector<ExportCase> export_cases();

}  // namespace monet::test
