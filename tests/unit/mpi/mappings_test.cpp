#include "monet/mpi/mappings.h"

#include <gtest/gtest.h>

#include <limits>

namespace monet::mpi {
namespace {

cost::KeyedMapping mapping() {
  cost::KeyedMapping out{.key = std::string(64, 'f')};
  cost::CachedMapping& m = out.mapping;
  m.spatial = {{{.dimension = 2, .factor = 16, .turn = 1}, {.dimension = 0, .factor = 3}}, {}};
  m.order = {{0, 7}, {3, 1e15}};
  m.cuts[1] = {0, 1, 2, 3, 4, 5, 6, 64};
  m.doubled[2][7] = true;
  m.spatials = 5;
  m.spatials_left = 4;
  m.evaluated = 1ull << 60;
  m.orderings = 1e300;
  m.is_proven = true;
  m.bound = std::numeric_limits<double>::infinity();
  m.costs = {.energy_pj = 0.1, .latency = 1.0 / 3};
  m.rooms = {{.held = 8, .refused = 64}, {.held = 16}};
  return out;
}

TEST(Mappings, ArriveAsTheyWere) {
  const std::vector<cost::KeyedMapping> all{
      mapping(), {.key = "none", .mapping = {.reason = "no room", .is_stopped = true}}, {}};
  EXPECT_EQ(unpack_mappings(pack_mappings(all)), all);
  EXPECT_EQ(pack_mappings({}), "");
  EXPECT_TRUE(unpack_mappings("").empty());
}

TEST(Mappings, OfSeveralRanksAreOneList) {
  const cost::KeyedMapping a = mapping(), b{.key = "b"};
  EXPECT_EQ(unpack_mappings(pack_mappings({a}) + pack_mappings({}) + pack_mappings({b, a})),
            (std::vector<cost::KeyedMapping>{a, b, a}));
}

}  // namespace
}  // namespace monet::mpi
