#pragma once
#include <array>
#include <cstdint>

#include "monet/cost/problem.h"

namespace monet::cost {

// Products over a list of loops, taken one loop after the other. A partially relevant loop is split in two factors: by
// how much it makes the data grow and how often it comes back to the same data. Where factors are not whole numbers the
// order of the multiplications decides how the products round; this is the reference's.
struct LoopProducts {
  double relevant = 1, irrelevant = 1;
  double all = 1;
  bool returns = false;  // some loop comes back to data
};

class LoopWalk {
 public:
  explicit LoopWalk(const OperandProblem& o) : o_(o) {
    a_.fill(1);
    b_.fill(1);
    data_.fill(1);
    reuse_.fill(1);
  }

  void step(std::uint32_t dimension, double factor, LoopProducts& products) {
    const Relevance relevance = o_.relevance[dimension];
    if (relevance == Relevance::Relevant) {
      products.relevant *= factor;
      products.all *= factor;
    } else if (relevance == Relevance::None) {
      products.irrelevant *= factor;
      products.all *= factor;
      products.returns = products.returns || factor > 1;
    } else {
      for (std::size_t i = 0; i < o_.relations.size(); ++i) split(i, dimension, factor, products);
    }
  }

 private:
  void split(std::size_t i, std::uint32_t dimension, double factor, LoopProducts& products) {
    const Relation& r = o_.relations[i];
    if (r.a != dimension && r.b != dimension) return;
    (r.a == dimension ? a_ : b_)[i] *= factor;
    const double data = distinct(r, static_cast<double>(static_cast<std::int64_t>(a_[i])),
                                 static_cast<double>(static_cast<std::int64_t>(b_[i])));
    const double reuse = a_[i] * b_[i] / data;
    const double more = data / data_[i], again = reuse / reuse_[i];
    products.relevant *= more;
    products.irrelevant *= again;
    products.all = products.all * more * again;
    products.returns = products.returns || again > 1;
    data_[i] = data;
    reuse_[i] = reuse;
  }

  const OperandProblem& o_;
  std::array<double, kMaxRelations> a_{}, b_{}, data_{}, reuse_{};
};

}  // namespace monet::cost
