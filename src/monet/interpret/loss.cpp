// Cross entropy. The mean is taken over the labels that count; with none the loss is 0.
#include <fmt/format.h>

#include <cmath>

#include "monet/interpret/families.h"
#include "monet/interpret/walk.h"

namespace monet {
namespace {

constexpr std::int64_t kIgnored = -1, kClassElsewhere = -2;

// Where the log probability of every label stands, kIgnored where the label is ignored, kClassElsewhere where its class
// is in another part.
struct Picks {
  std::vector<std::int64_t> positions;
  double divisor = 1;  // 1 for a sum
};

template <class LossOp, class T>
Picks pick(const LossOp& op, std::int64_t axis, const Shape& log_prob, const Array<T>& labels) {
  Picks picks;
  Part part{};
  if constexpr (requires { op.part; }) part = op.part;
  if (part == Part{}) part = {log_prob, Ints(log_prob.size(), 0), {}, {}};
  const std::int64_t classes = part.whole[static_cast<std::size_t>(axis)];
  std::int64_t counted = 0;
  for (std::size_t i = 0; i < labels.data.size(); ++i) {
    const double label = labels.data[i];
    if (label == static_cast<double>(op.ignore_index)) continue;
    if (!(label >= 0 && label < static_cast<double>(classes)))
      throw ValueError(fmt::format("label {} (number {}) is not among {} classes", label, i, classes));
    ++counted;
  }
  if (op.mean && counted > 0) picks.divisor = static_cast<double>(counted);

  const AxisSplit split = split_at(log_prob, axis);
  const std::int64_t first_class = part.origin[static_cast<std::size_t>(axis)];
  Shape own = log_prob, whole = part.whole;
  Ints origin = part.origin;
  for (Ints* list : {&own, &whole, &origin}) list->erase(list->begin() + axis);
  const Ints strides = row_major_strides(whole);
  const T* from = labels.data.data();
  for (std::size_t i = 0; i < origin.size(); ++i) from += origin[i] * strides[i];
  picks.positions.resize(static_cast<std::size_t>(split.outer * split.inner));
  for_each_line<2>(own, {row_major_strides(own), strides}, [&](const auto& at, std::int64_t count, const auto& step) {
    for (std::int64_t l = 0; l < count; ++l) {
      const std::int64_t i = at[0] + l * step[0], n = i / split.inner, inner = i % split.inner;
      const double label = from[at[1] + l * step[1]];
      std::int64_t& position = picks.positions.data()[i];
      if (label == static_cast<double>(op.ignore_index)) {
        position = kIgnored;
        continue;
      }
      const std::int64_t c = static_cast<std::int64_t>(label) - first_class;
      position = c < 0 || c >= split.extent ? kClassElsewhere : (n * split.extent + c) * split.inner + inner;
    }
  });
  return picks;
}

template <class T>
Array<T> mean_loss(const Picks& picks, const Array<T>& log_prob) {
  double sum = 0;
  for (const std::int64_t at : picks.positions)
    if (at >= 0) sum -= log_prob.data.data()[at];
  return {{}, {static_cast<T>(sum / picks.divisor)}};
}

}  // namespace

template <class T>
Arrays<T> apply(const CrossEntropy& op, const Call<T>& call) {
  const Array<T>& logits = call.need(0);
  const Call<T> softmax{call.inputs.first(1), {}, {logits.shape}, call.step};
  Array<T> log_prob = apply(Softmax{.axis = 1, .log = true}, softmax);
  Arrays<T> results(call.outputs.size());
  if (call.wanted(0)) results[0] = mean_loss(pick(op, 1, logits.shape, call.need(1)), log_prob);
  if (call.wanted(1)) results[1] = std::move(log_prob);
  return results;
}

template <class T>
Array<T> apply(const NegativeLogLikelihood& op, const Call<T>& call) {
  const Array<T>& log_prob = call.need(0);
  return mean_loss(pick(op, 1, log_prob.shape, call.need(1)), log_prob);
}

// (softmax - one_hot) · dloss / labels that count
template <class T>
Array<T> apply(const CrossEntropyGradient& op, const Call<T>& call) {
  const double dloss = *call.sized(0, 1);
  const Array<T>& log_prob = call.need(1);
  const AxisSplit split = split_at(log_prob.shape, op.axis);
  const Picks picks = pick(op, op.axis, log_prob.shape, call.need(2));
  Array<T> dlogits = call.zeros(0);
  for (std::int64_t i = 0; i < split.outer * split.inner; ++i) {
    const std::int64_t picked = picks.positions.data()[i];
    if (picked == kIgnored) continue;
    const std::int64_t first = i / split.inner * split.extent * split.inner + i % split.inner;
    for (std::int64_t at = first; at < first + split.extent * split.inner; at += split.inner) {
      const double difference = std::exp(log_prob.data.data()[at]) - (at == picked ? 1 : 0);
      dlogits.data.data()[at] = static_cast<T>(difference * dloss / picks.divisor);
    }
  }
  return dlogits;
}

template <class T>
Array<T> apply(const NegativeLogLikelihoodGradient& op, const Call<T>& call) {
  const double dloss = *call.sized(0, 1);
  const Picks picks = pick(op, 1, call.need(1).shape, call.need(2));
  Array<T> dlog_prob = call.zeros(0);
  for (const std::int64_t at : picks.positions)
    if (at >= 0) dlog_prob.data.data()[at] = static_cast<T>(-dloss / picks.divisor);
  return dlog_prob;
}

template Arrays<float> apply(const CrossEntropy&, const Call<float>&);
template Arrays<double> apply(const CrossEntropy&, const Call<double>&);
template Array<float> apply(const NegativeLogLikelihood&, const Call<float>&);
template Array<double> apply(const NegativeLogLikelihood&, const Call<double>&);
template Array<float> apply(const CrossEntropyGradient&, const Call<float>&);
template Array<double> apply(const CrossEntropyGradient&, const Call<double>&);
template Array<float> apply(const NegativeLogLikelihoodGradient&, const Call<float>&);
template Array<double> apply(const NegativeLogLikelihoodGradient&, const Call<double>&);

}  // namespace monet
