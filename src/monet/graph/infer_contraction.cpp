// Shapes of matrix products and attention.
#include <fmt/format.h>

#include <algorithm>

#include "monet/graph/infer_rules.h"

namespace monet::inference {
namespace {

void check_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor* mask, std::int64_t block) {
  const std::size_t r = q.shape.size();
  if (r < 2 || k.shape.size() != r || v.shape.size() != r) fail("q, k and v must have the same rank, at least 2");
  if (!std::equal(q.shape.begin(), q.shape.end() - 2, k.shape.begin()) ||
      !std::equal(q.shape.begin(), q.shape.end() - 2, v.shape.begin()))
    fail(fmt::format("batch dimensions of q {}, k {} and v {} differ", to_string(q.shape), to_string(k.shape),
                     to_string(v.shape)));
  if (q.shape[r - 1] != k.shape[r - 1] || k.shape[r - 2] != v.shape[r - 2])
    fail(fmt::format("q {}, k {} and v {} do not fit", to_string(q.shape), to_string(k.shape), to_string(v.shape)));
  if (block < 1) fail("block must be positive");
  Shape scores = q.shape;
  scores[r - 1] = k.shape[r - 2];
  if (mask && broadcast(mask->shape, scores) != scores)
    fail(fmt::format("mask {} does not broadcast to {}", to_string(mask->shape), to_string(scores)));
}

}  // namespace

Outputs infer_matmul(const MatMul& op, Operands in) {
  at_most(in, 3);
  const Tensor &a = need(in, 0), &b = need(in, 1);
  if (a.shape.size() < 2 || b.shape.size() < 2)
    fail(fmt::format("operands {} and {} need two dimensions", to_string(a.shape), to_string(b.shape)));
  const auto matrix = [](const Shape& s, bool transposed) {
    const std::int64_t rows = s[s.size() - 2], columns = s[s.size() - 1];
    return transposed ? std::pair{columns, rows} : std::pair{rows, columns};
  };
  const auto [m, k] = matrix(a.shape, op.trans_a);
  const auto [k2, n] = matrix(b.shape, op.trans_b);
  if (k != k2)
    fail(
        fmt::format("{} and {} do not multiply: inner sizes {} and {}", to_string(a.shape), to_string(b.shape), k, k2));
  Shape y = broadcast(Shape(a.shape.begin(), a.shape.end() - 2), Shape(b.shape.begin(), b.shape.end() - 2));
  y.push_back(m);
  y.push_back(n);
  if (const Tensor* c = maybe(in, 2); c && broadcast(c->shape, y) != y)
    fail(fmt::format("addend {} does not broadcast to {}", to_string(c->shape), to_string(y)));
  return {{y, promote(a, b), ""}};
}

Outputs infer_attention(const Attention& op, Operands in) {
  at_most(in, 4);
  const Tensor &q = need(in, 0), &k = need(in, 1), &v = need(in, 2);
  check_attention(q, k, v, maybe(in, 3), op.block);
  Shape o = q.shape, lse = q.shape;
  o.back() = v.shape.back();
  lse.back() = 1;
  return {{o, q.format, ""}, {lse, wide(q.format), "log_sum_exp"}};
}

Outputs infer_attention_gradient(const AttentionGradient& op, Operands in) {
  at_most(in, 7);
  const Tensor &dout = need(in, 0), &q = need(in, 1), &k = need(in, 2), &v = need(in, 3);
  check_attention(q, k, v, maybe(in, 6), op.block);
  Shape o = q.shape, lse = q.shape;
  o.back() = v.shape.back();
  lse.back() = 1;
  if (dout.shape != o || need(in, 4).shape != o)
    fail(fmt::format("output and its gradient should be {}", to_string(o)));
  if (need(in, 5).shape != lse) fail(fmt::format("log_sum_exp should be {}", to_string(lse)));
  return {{q.shape, dout.format, ""}, {k.shape, dout.format, "k"}, {v.shape, dout.format, "v"}};
}

}  // namespace monet::inference
