#include "monet/verbs/verify.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "monet/base/rng.h"
#include "monet/interpret/run.h"
#include "monet/rewrite/dead_nodes.h"
#include "monet/rewrite/decompose.h"

namespace monet {
namespace {

// Weights, inputs and state alone must fit in memory, in double: said before anything is allocated.
void check_memory(const Graph& g, const std::string& model) {
  const Uses u = uses(g);
  double need = 0;
  for (std::size_t t = 0; t < g.tensors.size(); ++t)
    if (u.producer[t] == kNoNode) need += 8.0 * static_cast<double>(elements(g.tensors[t].shape));
  const double have = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
  if (need > have)
    throw InputError(Diagnostic{
        .where = model,
        .message =
            fmt::format("its numbers take {:.0f} GB in double, this machine has {:.0f} GB", need / 1e9, have / 1e9),
        .hint = "verify a smaller configuration: fewer layers, a smaller width or vocabulary"});
}

// The part of the iteration that yields the loss.
Graph loss_only(const Graph& training, TensorId loss) {
  Graph g = training;
  g.outputs = {loss};
  return remove_dead_nodes(std::move(g));
}

double norm(const std::vector<double>& v) {
  double sum = 0;
  for (const double x : v) sum += x * x;
  return std::sqrt(sum);
}

std::vector<double> direction(std::size_t n, std::uint64_t seed, std::uint64_t stream) {
  std::vector<double> d(n);
  for (std::size_t i = 0; i < n; ++i) d[i] = random_normal(seed, stream, i);
  const double length = norm(d);
  for (double& x : d) x /= length;
  return d;
}

// Slope of the loss along d by central differences of fourth order. The best of several step widths counts: a wide step
// may straddle a kink (a ReLU changing sides) or leave the straight part of a steep loss, a narrow one drowns in
// rounding; a wrong gradient agrees with none.
double slope_error(const Graph& loss_graph, const std::string& loss, Values<double>& values, const std::string& weight,
                   const std::vector<double>& d, double expected, double scale) {
  std::vector<double>& w = values.at(weight).data;
  const std::vector<double> original = w;
  const auto loss_at = [&](double distance) {
    for (std::size_t i = 0; i < w.size(); ++i) w[i] = original[i] + distance * d[i];
    return run<double>(loss_graph, values).at(loss).data[0];
  };
  double best = std::numeric_limits<double>::infinity();
  for (const double h : {1e-4, 1e-5, 1e-6, 1e-7}) {
    const double slope = (8 * (loss_at(h) - loss_at(-h)) - (loss_at(2 * h) - loss_at(-2 * h))) / (12 * h);
    best = std::min(best, std::abs(slope - expected) / scale);
    if (best < 1e-7) break;
  }
  w = original;
  return best;
}

double compare_decomposed(const Prepared& p, const Values<double>& values, const Values<double>& whole) {
  const Graph pieces = decompose(p.graph);
  RunOptions keep;
  std::vector<std::string> names{p.graph[p.loss].name};
  for (const TensorId t : p.gradients) names.push_back(p.graph[t].name);
  for (const std::string& name : names) keep.keep.push_back(tensor_named(pieces, name));
  const Values<double> result = run<double>(pieces, values, keep);
  double worst = 0;
  for (const std::string& name : names) {
    const std::vector<double>&a = whole.at(name).data, &b = result.at(name).data;
    double scale = 1e-12;
    for (const double v : a) scale = std::max(scale, std::abs(v));
    for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(a[i] - b[i]) / scale);
  }
  return worst;
}

// N iterations, each starting from the state the one before left.
std::vector<double> run_steps(const Prepared& p, Values<double> values, std::int64_t steps) {
  std::vector<double> losses;
  for (std::int64_t s = 0; s < steps; ++s) {
    Values<double> result = run<double>(p.graph, values, {.step = static_cast<std::uint64_t>(s), .keep = {}});
    losses.push_back(result.at(p.graph[p.loss].name).data[0]);
    for (const TensorId t : p.graph.outputs) {
      TensorId old = p.graph[t].overwrites;
      while (old != kNoTensor && p.graph[old].overwrites != kNoTensor) old = p.graph[old].overwrites;
      if (old != kNoTensor && values.contains(p.graph[old].name))
        values[p.graph[old].name] = result.at(p.graph[t].name);
    }
  }
  return losses;
}

}  // namespace

VerifyResult verify_gradients(const VerifyRequest& request,
                              const std::function<void(std::size_t, std::size_t)>& progress) {
  ModelRequest model = request.model;
  model.load_weights = true;
  if (model.precision.empty()) model.precision = "fp32";  // formats do not round here; no master copies to confuse
  Prepared p = prepare(model);
  if (p.imported_training)
    throw InputError(Diagnostic{.file = request.model.model,
                                .message = "contains gradients already: there is no forward graph to differentiate",
                                .hint = "verify the model it was made from"});
  if (!p.is_training) throw InputError(Diagnostic{.where = "--train none", .message = "leaves no gradient to verify"});
  check_memory(p.graph, request.model.model);
  VerifyResult result;
  try {
    Values<double> values = initial_values<double>(p.graph, request.seed, p.values);
    RunOptions keep{.step = 0, .keep = p.gradients};
    const Values<double> whole = run<double>(p.graph, values, keep);
    result.decomposed_error = compare_decomposed(p, values, whole);
    result.decomposed_agrees = result.decomposed_error < 1e-6;
    const Graph loss_graph = loss_only(p.graph, p.loss);
    const std::string loss = p.graph[p.loss].name;
    // Errors are relative to a weight's own gradient per element, but not below 1e-4 of the largest such: gradients
    // that cancel to zero (a bias before a normalisation) hold rounding only.
    double floor = 1e-7;
    const auto per_element = [](const std::vector<double>& g) {
      return norm(g) / std::sqrt(static_cast<double>(g.size()));
    };
    for (const TensorId t : p.gradients) floor = std::max(floor, 1e-4 * per_element(whole.at(p.graph[t].name).data));
    for (std::size_t w = 0; w < p.weights.size(); ++w) {
      const std::string& name = p.graph[p.weights[w]].name;
      const std::vector<double>& g = whole.at(p.graph[p.gradients[w]].name).data;
      WeightCheck check{name, elements(p.graph[p.weights[w]].shape), norm(g), 0};
      for (std::int64_t s = 0; s < request.samples; ++s) {
        const std::vector<double> d = direction(g.size(), request.seed + static_cast<std::uint64_t>(s), w);
        double expected = 0;
        for (std::size_t i = 0; i < g.size(); ++i) expected += g[i] * d[i];
        const double scale = std::max(per_element(g), floor);
        check.error = std::max(check.error, slope_error(loss_graph, loss, values, name, d, expected, scale));
      }
      if (check.error >= result.worst_error) result.worst_error = check.error, result.worst_weight = name;
      result.weights.push_back(std::move(check));
      if (progress) progress(w + 1, p.weights.size());
    }
    result.gradients_agree = result.worst_error < request.tolerance;
    result.losses = run_steps(p, std::move(values), request.steps);
  } catch (const ValueError& error) {
    throw InputError(Diagnostic{.file = request.model.model, .message = error.what()});
  }
  result.prepared = std::move(p);
  return result;
}

}  // namespace monet
