#include "monet/interpret/combine.h"

#include <cmath>

#include "monet/base/assert.h"

namespace monet {
namespace {

template <class T, class F>
void merge_each(const Array<T>& part, Array<T>& total, F&& f) {
  MONET_ASSERT(part.shape == total.shape && part.data.size() == total.data.size(), "parts of the same elements");
  for (std::size_t i = 0; i < part.data.size(); ++i)
    total.data[i] = static_cast<T>(f(static_cast<double>(total.data[i]), static_cast<double>(part.data[i])));
}

// Shares of what was there and of what comes.
struct Weights {
  double old_share, new_share;
  double mean(double a, double b) const { return old_share * a + new_share * b; }
};

template <class T>
void merge_means(const std::vector<Array<T>>& part, std::vector<Array<T>>& total, const Weights& w) {
  for (std::size_t i = 0; i < part.size(); ++i)
    merge_each(part[i], total[i], [&](double a, double b) { return w.mean(a, b); });
}

// Outputs 0 mean (absent for Rms), 1 inverse deviation, 2 variance; the last two may be absent.
template <class T>
void merge_statistics(const std::vector<Array<T>>& part, std::vector<Array<T>>& total, const Weights& w) {
  const bool has_mean = !total[0].data.empty();
  // What lies between the means of the two adds to the variance of both.
  const auto between = [&](std::size_t i) {
    if (!has_mean) return 0.0;
    const double difference = static_cast<double>(part[0].data[i]) - static_cast<double>(total[0].data[i]);
    return w.old_share * w.new_share * difference * difference;
  };
  for (std::size_t output = 1; output < total.size(); ++output)
    for (std::size_t i = 0; i < total[output].data.size(); ++i) {
      const double a = total[output].data[i], b = part[output].data[i];
      const double merged =
          output == 1 ? 1 / std::sqrt(w.mean(1 / (a * a), 1 / (b * b)) + between(i)) : w.mean(a, b) + between(i);
      total[output].data[i] = static_cast<T>(merged);
    }
  if (has_mean) merge_each(part[0], total[0], [&](double a, double b) { return w.mean(a, b); });
}

}  // namespace

template <class T>
void combine(const Combine& how, const std::vector<Array<T>>& part, Partial<T>& total) {
  if (total.count == 0) {
    total = {part, how.count};
    return;
  }
  MONET_ASSERT(part.size() == total.values.size(), "parts of the same node");
  const double before = static_cast<double>(total.count), added = static_cast<double>(how.count);
  const Weights weights{before / (before + added), added / (before + added)};
  const auto each = [&](auto f) {
    for (std::size_t i = 0; i < part.size(); ++i) merge_each(part[i], total.values[i], f);
  };
  switch (how.kind) {
    case CombineKind::None: MONET_ASSERT(false, "a result that is no part of a reduction is whole");
    case CombineKind::Sum: each([](double a, double b) { return a + b; }); break;
    case CombineKind::Max: each([](double a, double b) { return b > a || std::isnan(b) ? b : a; }); break;
    case CombineKind::Min: each([](double a, double b) { return b < a || std::isnan(b) ? b : a; }); break;
    case CombineKind::Mean: merge_means(part, total.values, weights); break;
    case CombineKind::Statistics: merge_statistics(part, total.values, weights); break;
  }
  total.count += how.count;
}

template void combine(const Combine&, const std::vector<Array<float>>&, Partial<float>&);
template void combine(const Combine&, const std::vector<Array<double>>&, Partial<double>&);

}  // namespace monet
