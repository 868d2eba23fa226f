// Normalisation, written as the passes it consists of; Norm and NormGradient are their compositions.
#include <cmath>

#include "monet/interpret/families.h"
#include "monet/interpret/walk.h"

namespace monet {
namespace {

// How elements share statistics and parameters. Memory is a sequence of runs of `run` elements that share one
// statistic; along a run the parameter stands still (channels) or moves with the element (Layer, Rms).
struct Layout {
  NormKind kind;
  std::int64_t samples = 1, channels = 1, run = 1;  // [samples][channels][run]; Layer and Rms: one channel
  std::int64_t channels_together = 1;               // Group: channels in one group
  std::int64_t statistics = 1, parameters = 1;
  std::int64_t count = 1;  // elements behind each statistic
  bool centred = true;     // a mean is taken off: all but Rms
};

template <class NormOp>
Layout layout_of(const NormOp& op, const Shape& x) {
  Layout l{.kind = op.kind};
  switch (op.kind) {
    case NormKind::Batch:
    case NormKind::FrozenBatch:
    case NormKind::Group: {
      const AxisSplit split = split_at(x, 1);
      const bool group = op.kind == NormKind::Group;
      l.samples = split.outer, l.channels = split.extent, l.run = split.inner;
      l.channels_together = group ? l.channels / op.groups : 1;
      l.statistics = group ? l.samples * op.groups : l.channels;
      l.parameters = l.channels;
      break;
    }
    case NormKind::Layer:
    case NormKind::Rms: {
      const AxisSplit split = split_at(x, op.axis);
      l.samples = l.statistics = split.outer;
      l.run = l.parameters = split.extent * split.inner;
      l.centred = op.kind == NormKind::Layer;
      break;
    }
  }
  l.count = elements(x) / l.statistics;
  if constexpr (requires { op.part; })
    if (!op.part.count.empty()) l.count = op.part.count[0];
  return l;
}

struct Run {
  std::int64_t first;  // element
  std::int64_t statistic, parameter, parameter_step;
};

template <class F>
void for_each_run(const Layout& l, F&& f) {
  for (std::int64_t n = 0; n < l.samples; ++n)
    for (std::int64_t c = 0; c < l.channels; ++c) {
      Run run{(n * l.channels + c) * l.run, 0, 0, 0};
      switch (l.kind) {
        case NormKind::Batch:
        case NormKind::FrozenBatch: run.statistic = run.parameter = c; break;
        case NormKind::Group:
          run.statistic = (n * l.channels + c) / l.channels_together;
          run.parameter = c;
          break;
        case NormKind::Layer:
        case NormKind::Rms:
          run.statistic = n;
          run.parameter_step = 1;
          break;
      }
      f(run);
    }
}

using Doubles = std::vector<double>;
Doubles zeros(std::int64_t count) { return Doubles(static_cast<std::size_t>(count)); }

template <class T>
Array<T> rounded(const Doubles& values, const Shape& shape) {
  Array<T> array{shape, {}};
  array.data.reserve(values.size());
  for (const double v : values) array.data.push_back(static_cast<T>(v));
  return array;
}

template <class T>
Doubles widened(const T* values, std::int64_t count) {
  return values ? Doubles(values, values + count) : Doubles{};
}

// Statistics and parameters as given; an empty mean is zero, an empty scale one, an empty bias zero.
struct Given {
  Doubles mean, inv_std, scale, bias;

  double centre(const Run& r) const { return mean.empty() ? 0 : mean.data()[r.statistic]; }
  double factor(const Run& r) const { return inv_std.data()[r.statistic]; }
  double scale_at(const Run& r, std::int64_t i) const {
    return scale.empty() ? 1 : scale.data()[r.parameter + i * r.parameter_step];
  }
  double bias_at(const Run& r, std::int64_t i) const {
    return bias.empty() ? 0 : bias.data()[r.parameter + i * r.parameter_step];
  }
};

struct Statistics {
  Doubles mean, inv_std, variance;
};

template <class T>
Statistics statistics(const Layout& l, const T* x, double epsilon) {
  Statistics s{zeros(l.statistics), zeros(l.statistics), zeros(l.statistics)};
  const double count = static_cast<double>(l.count);
  if (l.centred) {
    for_each_run(l, [&](const Run& r) {
      double sum = 0;
      for (std::int64_t i = 0; i < l.run; ++i) sum += x[r.first + i];
      s.mean.data()[r.statistic] += sum;
    });
    for (double& m : s.mean) m /= count;
  }
  for_each_run(l, [&](const Run& r) {
    const double mean = s.mean.data()[r.statistic];
    double sum = 0;
    for (std::int64_t i = 0; i < l.run; ++i) sum += (x[r.first + i] - mean) * (x[r.first + i] - mean);
    s.variance.data()[r.statistic] += sum;
  });
  for (std::size_t i = 0; i < s.variance.size(); ++i) {
    s.variance[i] /= count;
    s.inv_std[i] = 1 / std::sqrt(s.variance[i] + epsilon);
  }
  return s;
}

Doubles inverse_deviation(Doubles variance, double epsilon) {
  for (double& v : variance) v = 1 / std::sqrt(v + epsilon);
  return variance;
}

// running = (1-momentum)·running + momentum·batch
Doubles moved(Doubles running, const Doubles& batch, double momentum, double factor = 1) {
  for (std::size_t i = 0; i < running.size(); ++i)
    running[i] = (1 - momentum) * running[i] + momentum * batch[i] * factor;
  return running;
}

// Turns the variance over `count` elements into the unbiased estimate that running variances keep.
double unbiased(std::int64_t count) {
  return count > 1 ? static_cast<double>(count) / static_cast<double>(count - 1) : 1;
}

template <class T>
Array<T> normalise(const Layout& l, const Array<T>& x, const Given& given) {
  Array<T> y{x.shape, std::vector<T>(x.data.size())};
  for_each_run(l, [&](const Run& r) {
    const T* from = x.data.data() + r.first;
    T* to = y.data.data() + r.first;
    for (std::int64_t i = 0; i < l.run; ++i)
      to[i] =
          static_cast<T>((from[i] - given.centre(r)) * given.factor(r) * given.scale_at(r, i) + given.bias_at(r, i));
  });
  return y;
}

struct Sums {
  Doubles plain, weighted;  // Σ dy and Σ dy·x̂, each times what the pass says
};

// Over what shares a parameter. Without x there is no weighted sum.
template <class T>
Sums parameter_sums(const Layout& l, const T* dy, const T* x, const Given& given) {
  Sums s{zeros(l.parameters), zeros(x ? l.parameters : 0)};
  for_each_run(l, [&](const Run& r) {
    for (std::int64_t i = 0; i < l.run; ++i) {
      const std::int64_t p = r.parameter + i * r.parameter_step;
      const double d = dy[r.first + i];
      s.plain.data()[p] += d;
      if (x) s.weighted.data()[p] += d * (x[r.first + i] - given.centre(r)) * given.factor(r);
    }
  });
  return s;
}

// Over what is normalised together, with the scale inside.
template <class T>
Sums group_sums(const Layout& l, const T* dy, const T* x, const Given& given) {
  Sums s{zeros(l.statistics), zeros(l.statistics)};
  for_each_run(l, [&](const Run& r) {
    for (std::int64_t i = 0; i < l.run; ++i) {
      const double d = dy[r.first + i] * given.scale_at(r, i);
      s.plain.data()[r.statistic] += d;
      s.weighted.data()[r.statistic] += d * (x[r.first + i] - given.centre(r)) * given.factor(r);
    }
  });
  return s;
}

// dx = inv_std · (γ·dy - (s1 + x̂·s2)/n). Batch shares γ among all it sums over: its sums come without γ and are
// multiplied here. Rms has no mean, hence no s1. Frozen statistics do not depend on x: no sums at all.
template <class T>
Array<T> input_gradient(const Layout& l, const Array<T>& dy, const T* x, const Given& given, const Sums& sums) {
  Array<T> dx{dy.shape, std::vector<T>(dy.data.size())};
  const double count = static_cast<double>(l.count);
  for_each_run(l, [&](const Run& r) {
    const T* from = dy.data.data() + r.first;
    T* to = dx.data.data() + r.first;
    for (std::int64_t i = 0; i < l.run; ++i) {
      const double scale = given.scale_at(r, i);
      double correction = 0;
      if (l.kind != NormKind::FrozenBatch) {
        const double hat = (x[r.first + i] - given.centre(r)) * given.factor(r);
        const double s1 = l.centred ? sums.plain.data()[r.statistic] : 0;
        correction = (s1 + hat * sums.weighted.data()[r.statistic]) / count;
        if (l.kind == NormKind::Batch) correction *= scale;
      }
      to[i] = static_cast<T>((from[i] * scale - correction) * given.factor(r));
    }
  });
  return dx;
}

template <class T>
Arrays<T> evaluate_pass(const NormPart& op, const Call<T>& call, const Layout& l) {
  Arrays<T> results(call.outputs.size());
  const auto give = [&](std::size_t i, const Doubles& values) {
    if (call.wanted(i)) results[i] = rounded<T>(values, call.shapes[i]);
  };
  const std::int64_t all = elements(call.need(0).shape);
  // Operands from the mean on; `scale_at` is where the scale stands, 0: there is none.
  const auto given_from = [&](std::size_t mean_at, std::size_t scale_at) {
    Given g;
    if (l.centred) g.mean = widened(call.sized(mean_at, l.statistics), l.statistics);
    g.inv_std = widened(call.sized(mean_at + 1, l.statistics), l.statistics);
    if (scale_at) g.scale = widened(call.sized_or_null(scale_at, l.parameters), l.parameters);
    return g;
  };
  switch (op.pass) {
    case NormPass::Statistics: {
      const Statistics s = statistics(l, call.need(0).data.data(), op.epsilon);
      give(0, s.mean), give(1, s.inv_std), give(2, s.variance);
      break;
    }
    case NormPass::Apply: {
      Given g = given_from(1, 3);
      g.bias = widened(call.sized_or_null(4, l.parameters), l.parameters);
      if (call.wanted(0)) results[0] = normalise(l, call.need(0), g);
      break;
    }
    case NormPass::ParameterSums: {
      const T* x = call.wanted(0) ? call.sized(1, all) : nullptr;
      const Sums s = parameter_sums(l, call.sized(0, all), x, x ? given_from(2, 0) : Given{});
      give(0, s.weighted), give(1, s.plain);
      break;
    }
    case NormPass::GroupSums: {
      const Sums s = group_sums(l, call.sized(0, all), call.sized(1, all), given_from(2, 4));
      give(0, s.plain), give(1, s.weighted);
      break;
    }
    case NormPass::InputGradient: {
      Sums s;
      const bool frozen = l.kind == NormKind::FrozenBatch;
      if (!frozen && l.centred) s.plain = widened(call.sized(5, l.statistics), l.statistics);
      if (!frozen) s.weighted = widened(call.sized(6, l.statistics), l.statistics);
      Given g;
      if (!frozen)
        g = given_from(2, 4);
      else {
        g.inv_std = widened(call.sized(3, l.statistics), l.statistics);
        g.scale = widened(call.sized_or_null(4, l.parameters), l.parameters);
      }
      if (call.wanted(0)) results[0] = input_gradient(l, call.need(0), frozen ? nullptr : call.sized(1, all), g, s);
      break;
    }
    case NormPass::RunningUpdate: break;
  }
  return results;
}

}  // namespace

template <class T>
Arrays<T> apply(const Norm& op, const Call<T>& call) {
  const Array<T>& x = call.need(0);
  const Layout l = layout_of(op, x.shape);
  Arrays<T> results(call.outputs.size());
  const auto give = [&](std::size_t i, const Doubles& values) {
    if (call.wanted(i)) results[i] = rounded<T>(values, call.shapes[i]);
  };
  Given given;
  given.scale = widened(call.sized_or_null(1, l.parameters), l.parameters);
  if (op.kind != NormKind::Rms) given.bias = widened(call.sized_or_null(2, l.parameters), l.parameters);
  if (op.kind == NormKind::FrozenBatch) {
    given.mean = widened(call.sized(3, l.statistics), l.statistics);
    given.inv_std = inverse_deviation(widened(call.sized(4, l.statistics), l.statistics), op.epsilon);
  } else {
    const Statistics s = statistics(l, x.data.data(), op.epsilon);
    given.mean = s.mean;
    given.inv_std = s.inv_std;
    if (op.kind == NormKind::Rms) {
      give(1, s.inv_std);
    } else {
      give(1, s.mean), give(2, s.inv_std);
    }
    if (op.kind == NormKind::Batch && call.maybe(3)) {
      give(3, moved(widened(call.sized(3, l.statistics), l.statistics), s.mean, op.momentum));
      give(4, moved(widened(call.sized(4, l.statistics), l.statistics), s.variance, op.momentum, unbiased(l.count)));
    }
  }
  if (call.wanted(0)) results[0] = normalise(l, x, given);
  return results;
}

template <class T>
Arrays<T> apply(const NormGradient& op, const Call<T>& call) {
  const Array<T>& dy = call.need(0);
  const Layout l = layout_of(op, dy.shape);
  const std::int64_t all = elements(dy.shape);
  const T* x = call.sized_or_null(1, all);
  Given given;
  given.scale = widened(call.sized_or_null(2, l.parameters), l.parameters);
  if (l.centred) given.mean = widened(call.sized(3, l.statistics), l.statistics);
  given.inv_std = widened(call.sized(l.centred ? 4 : 3, l.statistics), l.statistics);
  const bool frozen = op.kind == NormKind::FrozenBatch;
  if (frozen) given.inv_std = inverse_deviation(std::move(given.inv_std), op.epsilon);
  if (!x && (!frozen || call.wanted(1))) throw ValueError("input 1 is missing");

  const Sums of_parameters = parameter_sums(l, dy.data.data(), x, given);
  Arrays<T> results(call.outputs.size());
  if (call.wanted(1)) results[1] = rounded<T>(of_parameters.weighted, call.shapes[1]);
  if (call.wanted(2)) results[2] = rounded<T>(of_parameters.plain, call.shapes[2]);
  if (call.wanted(0)) {
    const bool batch = frozen || op.kind == NormKind::Batch;
    results[0] = input_gradient(l, dy, x, given, batch ? of_parameters : group_sums(l, dy.data.data(), x, given));
  }
  return results;
}

template <class T>
Arrays<T> apply(const NormPart& op, const Call<T>& call) {
  if (op.pass != NormPass::RunningUpdate) return evaluate_pass(op, call, layout_of(op, call.need(0).shape));
  const std::int64_t count = elements(call.need(0).shape);
  const auto operand = [&](std::size_t i) { return widened(call.sized(i, count), count); };
  Arrays<T> results(call.outputs.size());
  if (call.wanted(0)) results[0] = rounded<T>(moved(operand(0), operand(2), op.momentum), call.shapes[0]);
  if (call.wanted(1))
    results[1] = rounded<T>(moved(operand(1), operand(3), op.momentum, unbiased(op.count)), call.shapes[1]);
  return results;
}

template Arrays<float> apply(const Norm&, const Call<float>&);
template Arrays<double> apply(const Norm&, const Call<double>&);
template Arrays<float> apply(const NormGradient&, const Call<float>&);
template Arrays<double> apply(const NormGradient&, const Call<double>&);
template Arrays<float> apply(const NormPart&, const Call<float>&);
template Arrays<double> apply(const NormPart&, const Call<double>&);

}  // namespace monet
