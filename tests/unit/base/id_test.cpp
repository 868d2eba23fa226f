#include "monet/base/id.h"

#include <gtest/gtest.h>

#include <type_traits>
#include <unordered_set>

namespace monet {
namespace {

using Apple = Id<struct AppleTag>;
using Pear = Id<struct PearTag>;
static_assert(!std::is_convertible_v<Apple, Pear>, "ids of different things do not mix");
static_assert(!std::is_convertible_v<Apple, std::size_t>, "an id is no number");

TEST(Id, ComparesAndHashesByValue) {
  EXPECT_LT(Apple{1}, Apple{2});
  EXPECT_EQ(Apple{3}.index(), 3u);
  EXPECT_EQ((std::unordered_set<Apple>{Apple{1}, Apple{1}, Apple{2}}.size()), 2u);
}

TEST(Id, NoIdIsTheGreatest) { EXPECT_GT(kNoId<struct AppleTag>, Apple{0xFFFFFFFE}); }

}  // namespace
}  // namespace monet
