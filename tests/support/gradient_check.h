#pragma once
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "monet/base/rng.h"
#include "monet/graph/verify.h"
#include "monet/interpret/run.h"
#include "monet/rewrite/decompose.h"
#include "monet/training/differentiate.h"

namespace monet::test {

// A forward computation under test: `build` appends it to the builder and returns the tensors to be summed into a loss;
// every Weight source is differentiated.
struct Computation {
  std::function<std::vector<TensorId>(Builder&)> build;
  Values<double> values;  // of the sources
};

// Distinct numbers, at least 0.02 apart and 0.007 away from any multiple of 0.02: far enough from every kink and tie
// for a difference quotient with steps of 2e-3.
inline Array<double> spread(const Shape& shape, std::uint64_t seed, double shift = 0) {
  const auto n = static_cast<std::size_t>(elements(shape));
  std::vector<std::size_t> order(n);
  for (std::size_t i = 0; i < n; ++i) order[i] = i;
  for (std::size_t i = n; i > 1; --i) std::swap(order[i - 1], order[random_bits(seed, 1, i) % i]);
  Array<double> a{shape, std::vector<double>(n)};
  for (std::size_t i = 0; i < n; ++i)
    a.data[i] = (static_cast<double>(order[i]) - static_cast<double>(n / 2)) * 0.02 + 0.007 + shift;
  return a;
}

struct Differentiated {
  Graph graph;
  TensorId loss;
  std::vector<TensorId> weights, gradients;
};

// loss = Σ over outputs of Σ y · r with fixed random r, differentiated by the rules.
inline Differentiated differentiated(const Computation& c, SavePolicy policy) {
  Builder b("test");
  const std::vector<TensorId> ys = c.build(b);
  std::vector<TensorId> parts;
  for (std::size_t i = 0; i < ys.size(); ++i) {
    const TensorId r =
        b.source("projection" + std::to_string(i), b[ys[i]].shape, Format{Element::F64}, Category::Input);
    const TensorId product = b.binary(BinaryKind::Mul, ys[i], r, "projected");
    Ints axes;
    for (std::size_t k = 0; k < b[ys[i]].shape.size(); ++k) axes.push_back(static_cast<std::int64_t>(k));
    parts.push_back(b.one(Reduce{ReduceKind::Sum, axes, false}, {product}, "part"));
  }
  Differentiated d;
  d.loss = parts.size() == 1 ? parts[0] : b.one(Sum{}, parts, "loss");
  for (std::uint32_t t = 0; t < b.graph().tensors.size(); ++t)
    if (b.graph().tensors[t].category == Category::Weight) d.weights.push_back(TensorId{t});
  const TensorId seed = b.source("seed", {}, Format{Element::F64}, Category::Constant, Splat{1});
  d.gradients = differentiate(b, 0, b.graph().nodes.size(), d.loss, seed, d.weights, {.policy = policy});
  b.graph().outputs = {d.loss};
  for (const TensorId g : d.gradients)
    if (g != kNoTensor) b.graph().outputs.push_back(g);
  d.graph = std::move(b).finish();
  return d;
}

inline double loss_of(const Differentiated& d, const Graph& forward, const Values<double>& values) {
  return run<double>(forward, values).at(d.graph[d.loss].name).data[0];
}

// "" if the arrays agree to `tolerance` times the larger of 1e-3 and the largest element; else where they do not.
inline std::string difference(const Array<double>& a, const Array<double>& b, double tolerance,
                              const std::string& what) {
  if (a.shape != b.shape) return what + ": shapes " + to_string(a.shape) + " and " + to_string(b.shape);
  double scale = 1e-3;
  for (const double v : a.data) scale = std::max(scale, std::abs(v));
  for (std::size_t i = 0; i < a.data.size(); ++i)
    if (!(std::abs(a.data[i] - b.data[i]) <= tolerance * scale))
      return what + " at " + std::to_string(i) + ": " + std::to_string(a.data[i]) + " and " + std::to_string(b.data[i]);
  return "";
}

// The gradient of weight number w against a fourth-order difference quotient at up to 12 of its elements.
inline std::string difference_quotients(const Differentiated& d, const Graph& forward, const Values<double>& values,
                                        std::size_t w, const Array<double>& gradient, double tolerance) {
  const std::string& name = d.graph[d.weights[w]].name;
  const std::size_t n = gradient.data.size(), samples = std::min<std::size_t>(n, 12);
  Array<double> ours{{static_cast<std::int64_t>(samples)}, {}}, theirs = ours;
  double scale = 1e-3;
  for (const double v : gradient.data) scale = std::max(scale, std::abs(v));
  for (std::size_t s = 0; s < samples; ++s) {
    const std::size_t i = samples == n ? s : random_bits(3, w, s) % n;
    Values<double> moved = values;
    double& x = moved.at(name).data[i];
    const double at = x, h = 1e-3;
    const auto loss_at = [&](double v) {
      x = v;
      return loss_of(d, forward, moved);
    };
    const double slope =
        (8 * (loss_at(at + h) - loss_at(at - h)) - (loss_at(at + 2 * h) - loss_at(at - 2 * h))) / (12 * h);
    ours.data.push_back(gradient.data[i] / scale);
    theirs.data.push_back(slope / scale);
  }
  return difference(ours, theirs, tolerance, name + " against difference quotients");
}

// "" if the gradients of both save policies, and of the decomposed graph, are right; else what is wrong.
inline std::string gradient_fault(const Computation& c, double tolerance = 1e-6) {
  const Differentiated lean = differentiated(c, SavePolicy::Lean), torch = differentiated(c, SavePolicy::Torch);
  const Graph pieces = decompose(lean.graph);
  for (const Graph* g : {&lean.graph, &torch.graph, &pieces})
    for (const std::string& fault : faults(*g)) return fault;
  const Values<double> values = initial_values<double>(lean.graph, 7, c.values);
  const Values<double> result = run<double>(lean.graph, values);
  const Values<double> torch_result = run<double>(torch.graph, initial_values<double>(torch.graph, 7, c.values));
  const Values<double> pieces_result = run<double>(pieces, initial_values<double>(pieces, 7, values));
  Graph forward = lean.graph;
  std::erase_if(forward.nodes, [](const Node& n) { return n.phase != Phase::Forward; });
  forward.outputs = {lean.loss};
  for (std::size_t w = 0; w < lean.weights.size(); ++w) {
    const std::string& name = lean.graph[lean.weights[w]].name;
    if (lean.gradients[w] == kNoTensor) return name + " has no gradient";
    const std::string& gradient_name = lean.graph[lean.gradients[w]].name;
    const Array<double>& gradient = result.at(gradient_name);
    std::string fault =
        difference(gradient, torch_result.at(torch.graph[torch.gradients[w]].name), 1e-12, name + " (torch policy)");
    if (fault.empty()) fault = difference(gradient, pieces_result.at(gradient_name), 1e-9, name + " (decomposed)");
    if (fault.empty()) fault = difference_quotients(lean, forward, values, w, gradient, tolerance);
    if (!fault.empty()) return fault;
  }
  return "";
}

}  // namespace monet::test
