// Functions of several elements, with broadcasting; casts; dropout. Computed in double and rounded once to T.
#include <cmath>
#include <utility>

#include "monet/base/rng.h"
#include "monet/interpret/families.h"
#include "monet/interpret/walk.h"

namespace monet {
namespace {

double truth(bool value) { return value ? 1 : 0; }

// Toward zero; by zero gives zero, so that no input makes an integer that is none.
double divide_integers(double a, double b) { return b == 0 ? 0 : std::trunc(a / b); }

// With the sign of the divisor.
double modulo(double a, double b, bool integers) {
  if (integers && b == 0) return 0;
  const double r = std::fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

// Calls visit(f) with the kind's function of two elements; outside the loop, so that each loop knows its function.
template <class Visitor>
void visit_function(BinaryKind kind, bool integers, Visitor&& visit) {
  switch (kind) {
    case BinaryKind::Add: return visit([](double a, double b) { return a + b; });
    case BinaryKind::Sub: return visit([](double a, double b) { return a - b; });
    case BinaryKind::Mul: return visit([](double a, double b) { return a * b; });
    case BinaryKind::Div:
      if (!integers) return visit([](double a, double b) { return a / b; });
      return visit([](double a, double b) { return divide_integers(a, b); });
    case BinaryKind::Pow: return visit([](double a, double b) { return std::pow(a, b); });
    case BinaryKind::Max: return visit([](double a, double b) { return a > b || std::isnan(a) ? a : b; });
    case BinaryKind::Min: return visit([](double a, double b) { return a < b || std::isnan(a) ? a : b; });
    case BinaryKind::Mod: return visit([=](double a, double b) { return modulo(a, b, integers); });
    case BinaryKind::ExpDifference: return visit([](double a, double b) { return std::exp(a - b); });
    case BinaryKind::Equal: return visit([](double a, double b) { return truth(a == b); });
    case BinaryKind::Less: return visit([](double a, double b) { return truth(a < b); });
    case BinaryKind::LessEqual: return visit([](double a, double b) { return truth(a <= b); });
    case BinaryKind::Greater: return visit([](double a, double b) { return truth(a > b); });
    case BinaryKind::GreaterEqual: return visit([](double a, double b) { return truth(a >= b); });
    case BinaryKind::And: return visit([](double a, double b) { return truth(a != 0 && b != 0); });
    case BinaryKind::Or: return visit([](double a, double b) { return truth(a != 0 || b != 0); });
    case BinaryKind::Xor: return visit([](double a, double b) { return truth((a != 0) != (b != 0)); });
  }
}

// y[i] = f(a[i·a_step], b[i·b_step]); the common steps spelt out, which lets the compiler use vectors.
template <class T, class F>
void combine_line(std::int64_t count, T* y, const T* a, std::int64_t a_step, const T* b, std::int64_t b_step, F&& f) {
  if (a_step == 1 && b_step == 1)
    for (std::int64_t i = 0; i < count; ++i) y[i] = static_cast<T>(f(a[i], b[i]));
  else if (a_step == 1 && b_step == 0)
    for (std::int64_t i = 0; i < count; ++i) y[i] = static_cast<T>(f(a[i], b[0]));
  else if (a_step == 0 && b_step == 1)
    for (std::int64_t i = 0; i < count; ++i) y[i] = static_cast<T>(f(a[0], b[i]));
  else
    for (std::int64_t i = 0; i < count; ++i) y[i] = static_cast<T>(f(a[i * a_step], b[i * b_step]));
}

// The numbers an integer format can hold; those of 64 bits end where double still counts exactly to the limit.
std::pair<double, double> integer_range(Element element) {
  switch (element) {
    case Element::I64: return {-0x1p63, 0x1p63};
    case Element::I32: return {-0x1p31, 0x1p31 - 1};
    case Element::I16: return {-0x1p15, 0x1p15 - 1};
    case Element::I8: return {-128, 127};
    case Element::I4: return {-8, 7};
    case Element::U64: return {0, 0x1p64};
    case Element::U32: return {0, 0x1p32 - 1};
    case Element::U16: return {0, 0x1p16 - 1};
    case Element::U8: return {0, 255};
    case Element::U4: return {0, 15};
    case Element::F64:
    case Element::F32:
    case Element::F16:
    case Element::BF16:
    case Element::F8E4M3:
    case Element::F8E5M2:
    case Element::Bool:
    case Element::Bit: break;
  }
  return {0, 1};
}

double cast_to(Element element, double x) {
  if (is_float(element)) return x;
  if (is_truth(element)) return truth(x != 0);
  if (std::isnan(x)) return 0;
  const auto [low, high] = integer_range(element);
  return std::min(std::max(std::trunc(x), low), high);
}

// Which elements a dropout keeps: drawn by their place in the whole tensor, of which `shape` may be a part.
template <class Op>
std::vector<bool> draw_mask(const Op& op, std::uint64_t step, const Shape& shape) {
  const Shape& whole = op.part.whole.empty() ? shape : op.part.whole;
  const Ints strides = row_major_strides(whole);
  std::int64_t first = 0;
  for (std::size_t i = 0; i < op.part.origin.size(); ++i) first += op.part.origin[i] * strides[i];
  std::vector<bool> kept(static_cast<std::size_t>(elements(shape)));
  for_each_line<2>(shape, {row_major_strides(shape), strides},
                   [&](const auto& at, std::int64_t count, const auto& apart) {
                     for (std::int64_t i = 0; i < count; ++i) {
                       const auto element = static_cast<std::uint64_t>(first + at[1] + i * apart[1]);
                       kept[static_cast<std::size_t>(at[0] + i * apart[0])] =
                           random_uniform(static_cast<std::uint64_t>(op.seed), step, element) >= op.ratio;
                     }
                   });
  return kept;
}

}  // namespace

template <class T>
Array<T> apply(const Binary& op, const Call<T>& call) {
  const Array<T>&a = call.need(0), &b = call.need(1);
  Array<T> y = call.zeros(0);
  const std::array<Ints, 3> strides{row_major_strides(y.shape), broadcast_strides(a.shape, y.shape),
                                    broadcast_strides(b.shape, y.shape)};
  visit_function(op.kind, call.holds_integers(), [&](const auto& f) {
    // Lines of y are contiguous: a single element, whose stride is 0, is all of its line.
    for_each_line<3>(y.shape, strides, [&](const auto& at, std::int64_t count, const auto& step) {
      combine_line(count, y.data.data() + at[0], a.data.data() + at[1], step[1], b.data.data() + at[2], step[2], f);
    });
  });
  return y;
}

template <class T>
Array<T> apply(const Sum&, const Call<T>& call) {
  Array<T> y = call.zeros(0);
  for (std::size_t operand = 0; operand < call.inputs.size(); ++operand) {
    const Array<T>& x = call.need(operand);
    for_each_line<2>(y.shape, {row_major_strides(y.shape), broadcast_strides(x.shape, y.shape)},
                     [&](const auto& at, std::int64_t count, const auto& step) {
                       T* to = y.data.data() + at[0];
                       const T* from = x.data.data() + at[1];
                       for (std::int64_t i = 0; i < count; ++i) to[i * step[0]] += from[i * step[1]];
                     });
  }
  return y;
}

template <class T>
Array<T> apply(const Select&, const Call<T>& call) {
  const Array<T>&condition = call.need(0), &a = call.need(1), &b = call.need(2);
  Array<T> y = call.zeros(0);
  for_each_line<4>(y.shape,
                   {row_major_strides(y.shape), broadcast_strides(condition.shape, y.shape),
                    broadcast_strides(a.shape, y.shape), broadcast_strides(b.shape, y.shape)},
                   [&](const auto& at, std::int64_t count, const auto& step) {
                     T* to = y.data.data() + at[0];
                     const T *which = condition.data.data() + at[1], *left = a.data.data() + at[2],
                             *right = b.data.data() + at[3];
                     for (std::int64_t i = 0; i < count; ++i)
                       to[i * step[0]] = which[i * step[1]] != T{0} ? left[i * step[2]] : right[i * step[3]];
                   });
  return y;
}

template <class T>
Array<T> apply(const Cast& op, const Call<T>& call) {
  const Array<T>& x = call.need(0);
  Array<T> y = call.zeros(0);
  for (std::size_t i = 0; i < x.data.size(); ++i) y.data[i] = static_cast<T>(cast_to(op.to, x.data[i]));
  return y;
}

template <class T>
Arrays<T> apply(const Dropout& op, const Call<T>& call) {
  const Array<T>& x = call.need(0);
  Array<T> y = call.zeros(0), mask = call.zeros(1);
  const double scale = 1 / (1 - op.ratio);
  const std::vector<bool> kept = draw_mask(op, call.step, x.shape);
  for (std::size_t i = 0; i < x.data.size(); ++i)
    if (kept[i]) {
      y.data[i] = static_cast<T>(x.data[i] * scale);
      mask.data[i] = T{1};
    }
  Arrays<T> results(call.outputs.size());
  if (call.wanted(0)) results[0] = std::move(y);
  if (call.wanted(1)) results[1] = std::move(mask);
  return results;
}

template <class T>
Array<T> apply(const DropoutGradient& op, const Call<T>& call) {
  const Array<T>& dy = call.need(0);
  const Array<T>* mask = call.maybe(1);
  Array<T> dx = call.zeros(0);
  const double scale = 1 / (1 - op.ratio);
  std::vector<bool> kept;
  if (!mask) kept = draw_mask(op, call.step, dy.shape);
  for (std::size_t i = 0; i < dy.data.size(); ++i)
    if (mask ? mask->data[i] != T{0} : kept[i]) dx.data[i] = static_cast<T>(dy.data[i] * scale);
  return dx;
}

template Array<float> apply(const Binary&, const Call<float>&);
template Array<double> apply(const Binary&, const Call<double>&);
template Array<float> apply(const Sum&, const Call<float>&);
template Array<double> apply(const Sum&, const Call<double>&);
template Array<float> apply(const Select&, const Call<float>&);
template Array<double> apply(const Select&, const Call<double>&);
template Array<float> apply(const Cast&, const Call<float>&);
template Array<double> apply(const Cast&, const Call<double>&);
template Arrays<float> apply(const Dropout&, const Call<float>&);
template Arrays<double> apply(const Dropout&, const Call<double>&);
template Array<float> apply(const DropoutGradient&, const Call<float>&);
template Array<double> apply(const DropoutGradient&, const Call<double>&);

}  // namespace monet
