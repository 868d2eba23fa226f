#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "monet/base/rng.h"
#include "monet/graph/infer.h"
#include "monet/interpret/run.h"

// Small words for the tests of this folder.

namespace monet {

// Reproducible numbers in [-1, 1), different for each call with another `stream`.
template <class T = double>
Array<T> random_array(Shape shape, std::uint64_t stream) {
  Array<T> a{shape, {}};
  for (std::int64_t i = 0; i < elements(shape); ++i)
    a.data.push_back(static_cast<T>(2 * random_uniform(7, stream, static_cast<std::uint64_t>(i)) - 1));
  return a;
}

inline Array<double> row(std::vector<double> values) {
  return {{static_cast<std::int64_t>(values.size())}, std::move(values)};
}

// A small pseudo-random integer in [low, high].
inline std::int64_t pick(std::uint64_t stream, std::uint64_t draw, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random_uniform(11, stream, draw) * static_cast<double>(high - low + 1));
}

// Every output of an operator, or the first `count`; outputs hold `element`.
template <class T>
std::vector<Array<T>> evaluate_all(const Op& op, const std::vector<const Array<T>*>& inputs, std::size_t count = 99,
                                   Element element = Element::F32, std::uint64_t step = 0) {
  std::vector<Tensor> tensors(inputs.size());
  std::vector<const Tensor*> operands;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    tensors[i].format = Format{Element::I64};
    if (inputs[i]) tensors[i].shape = inputs[i]->shape;
    operands.push_back(inputs[i] ? &tensors[i] : nullptr);
  }
  std::vector<Tensor> outputs;
  for (const OutputType& type : infer(op, operands)) {
    if (outputs.size() == count) break;
    outputs.emplace_back();
    outputs.back().shape = type.shape;
    outputs.back().format = Format{element};
  }
  std::vector<const Tensor*> pointers;
  for (const Tensor& t : outputs) pointers.push_back(&t);
  return evaluate<T>(op, inputs, pointers, step);
}

template <class T>
Array<T> evaluate_one(const Op& op, const std::vector<const Array<T>*>& inputs, Element element = Element::F32) {
  return evaluate_all<T>(op, inputs, 1, element)[0];
}

template <class T>
double dot(const Array<T>& a, const Array<T>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.data.size(); ++i) sum += static_cast<double>(a.data[i]) * b.data[i];
  return sum;
}

template <class T>
void expect_near(const Array<T>& got, const Array<T>& want, double tolerance, const std::string& what = "") {
  ASSERT_EQ(got.shape, want.shape) << what;
  ASSERT_EQ(got.data.size(), want.data.size()) << what;
  for (std::size_t i = 0; i < got.data.size(); ++i)
    ASSERT_NEAR(got.data[i], want.data[i], tolerance * (1 + std::abs(static_cast<double>(want.data[i]))))
        << what << " at element " << i;
}

// d(Σ weights·f(x))/dx by central differences, f = the operator's output `output` as a function of input `input`.
inline Array<double> numeric_gradient(const Op& op, std::vector<Array<double>> inputs, std::size_t input,
                                      const Array<double>& weights, std::size_t output = 0, double h = 1e-5) {
  std::vector<const Array<double>*> pointers;
  for (const Array<double>& a : inputs) pointers.push_back(&a);
  Array<double> gradient{inputs[input].shape, {}};
  for (double& x : inputs[input].data) {
    const double at = x;
    x = at + h;
    const double above = dot(evaluate_all<double>(op, pointers)[output], weights);
    x = at - h;
    const double below = dot(evaluate_all<double>(op, pointers)[output], weights);
    x = at;
    gradient.data.push_back((above - below) / (2 * h));
  }
  return gradient;
}

}  // namespace monet
