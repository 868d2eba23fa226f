#include "monet/schedule/tile_costs.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "monet/base/diagnostic.h"
#include "monet/hardware/library.h"

namespace monet::schedule {
namespace {

work::LoopNest matrix_product(std::int64_t rows, std::int64_t columns = 64) {
  using work::Role;
  const work::Axis d{rows, 0, {{0, 1}}}, k{columns, 0, {{1, 1}}}, c{48, 0, {{2, 1}}};
  return {{{"D", rows}, {"K", columns}, {"C", 48}},
          {{.role = Role::Input, .format = {}, .accumulator = {}, .axes = {d, c}},
           {.role = Role::Weight, .format = {}, .accumulator = {}, .axes = {k, c}},
           {.role = Role::Output, .format = {}, .accumulator = {}, .axes = {d, k}}}};
}

struct Pricing {
  std::vector<double> cycles{}, compute_pj{};  // by kind
  std::vector<std::string> searched{};         // keys, in the order in which they were
  std::string failure{};
};
Pricing price(const std::vector<work::LoopNest>& nests, std::uint64_t order) {
  const plan::Chip chip = plan::chip_of(hardware::find_hardware("tpu_like").hardware);
  cost::Cache cache;
  cache.keep_found();
  TileKinds kinds(chip);
  for (const work::LoopNest& nest : nests) kinds.find(0, nest, false, false);
  Pricing out;
  try {
    kinds.price({.threads = 1, .cache = &cache, .order = order});
  } catch (const InputError& error) {
    out.failure = error.what();
  }
  for (const TileKind& kind : kinds.kinds()) {
    out.cycles.push_back(kind.cost.cycles);
    out.compute_pj.push_back(kind.cost.compute_pj);
  }
  for (const cost::KeyedMapping& each : cache.take_found()) out.searched.push_back(each.key);
  return out;
}

TEST(TileKinds, CostTheSameInWhicheverOrderTheyArePriced) {
  std::vector<work::LoopNest> nests;
  for (std::int64_t rows = 32; rows < 40; ++rows) nests.push_back(matrix_product(rows));
  Pricing plain = price(nests, 0), one = price(nests, 1), other = price(nests, 2);
  EXPECT_GT(plain.cycles[7], 0);
  for (Pricing* p : {&one, &other}) {
    EXPECT_EQ(p->cycles, plain.cycles);
    EXPECT_EQ(p->compute_pj, plain.compute_pj);
    EXPECT_NE(p->searched, plain.searched);
  }
  EXPECT_NE(one.searched, other.searched);
  for (Pricing* p : {&plain, &one, &other}) std::sort(p->searched.begin(), p->searched.end());
  EXPECT_EQ(one.searched, plain.searched);
  EXPECT_EQ(other.searched, plain.searched);
}

// What is thrown ends as the reason of a result, which must not hang on the order.
TEST(TileKinds, FailWithTheFirstThatCannotBePriced) {
  const std::int64_t many = std::int64_t{1} << 25;
  std::vector<work::LoopNest> nests{matrix_product(32)};
  for (std::int64_t i = 1; i <= 6; ++i) nests.push_back(matrix_product(i * many, many << 2));  // more than 2^56
  const std::string failure = price(nests, 0).failure;
  EXPECT_NE(failure.find("2.16e+17 multiplications"), std::string::npos) << failure;
  for (std::uint64_t order = 1; order < 6; ++order) EXPECT_EQ(price(nests, order).failure, failure);
}

}  // namespace
}  // namespace monet::schedule
