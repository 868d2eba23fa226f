#include "monet/cost/cache.h"

#include <gtest/gtest.h>

#include <thread>

#include "monet/base/diagnostic.h"
#include "monet/hardware/library.h"

namespace monet::cost {
namespace {

Layer matrix_product(std::int64_t rows, std::string name) {
  Layer layer{.name = std::move(name), .operator_type = "Gemm"};
  layer.dimensions = {{"D", rows}, {"K", 64}, {"C", 48}};
  const work::Axis d{rows, 0, {{0, 1}}}, k{64, 0, {{1, 1}}}, c{48, 0, {{2, 1}}};
  layer.operands = {{.name = "O", .slot = hardware::Slot::Output, .bits = 8, .partial_bits = 16, .axes = {d, k}},
                    {.name = "W", .slot = hardware::Slot::Weight, .bits = 8, .partial_bits = 8, .axes = {k, c}},
                    {.name = "I", .slot = hardware::Slot::Input, .bits = 8, .partial_bits = 8, .axes = {d, c}}};
  return layer;
}

hardware::Core chip() { return hardware::find_hardware("tpu_like").hardware.cores[0]; }

TEST(Cache, FindsWhatIsTheSameUnderAnotherName) {
  Cache cache;
  const MapResult first = cache.map(matrix_product(96, "a"), chip(), {}, {});
  const MapResult again = cache.map(matrix_product(96, "b"), chip(), {}, {});
  EXPECT_EQ(cache.hits(), 1u);
  EXPECT_EQ(cache.size(), 1u);
  ASSERT_TRUE(first.mapped && again.mapped);
  EXPECT_EQ(first.mapped->order, again.mapped->order);
  EXPECT_EQ(first.mapped->evaluation.latency, again.mapped->evaluation.latency);
  EXPECT_EQ(first.mapped->evaluation.energy_pj, again.mapped->evaluation.energy_pj);
  EXPECT_EQ(again.mapped->layer.name, "b");
}

TEST(Cache, TellsApartWhateverChangesTheResult) {
  const hardware::Core core = chip();
  const std::string key = content_key(matrix_product(96, "a"), core, {}, {});
  EXPECT_NE(key, content_key(matrix_product(95, "a"), core, {}, {}));
  EXPECT_NE(key, content_key(matrix_product(96, "a"), core, {}, {.criterion = Criterion::Energy}));
  EXPECT_NE(key, content_key(matrix_product(96, "a"), core, {}, {.quirks = kZigzagQuirks}));
  MappingRequest request;
  request.spatial = {{"D1", {{"K", 16}}}};
  EXPECT_NE(key, content_key(matrix_product(96, "a"), core, request, {}));
  hardware::Core wider = core;
  wider.memories.back().ports[0].max_bits_per_cycle *= 2;
  EXPECT_NE(key, content_key(matrix_product(96, "a"), wider, {}, {}));
  Layer narrow = matrix_product(96, "a");
  narrow.operands[1].bits = 4;
  EXPECT_NE(key, content_key(narrow, core, {}, {}));
}

TEST(Cache, SurvivesAFile) {
  Cache cache;
  const MapResult found = cache.map(matrix_product(96, "a"), chip(), {}, {});
  hardware::Core tiny = chip();
  for (hardware::Memory& memory : tiny.memories) memory.size_bits = 8;
  const MapResult none = cache.map(matrix_product(96, "a"), tiny, {}, {});
  ASSERT_TRUE(found.mapped);
  ASSERT_FALSE(none.mapped);
  const std::string text = cache.text();
  Cache later;
  later.add(text, "cache.json");
  EXPECT_EQ(later.text(), text);
  const MapResult again = later.map(matrix_product(96, "a"), chip(), {}, {});
  EXPECT_EQ(later.hits(), 1u);
  EXPECT_EQ(again.mapped->evaluation.latency, found.mapped->evaluation.latency);
  EXPECT_EQ(again.mapped->is_proven, found.mapped->is_proven);
  EXPECT_EQ(later.map(matrix_product(96, "a"), tiny, {}, {}).reason, none.reason);
}

TEST(Cache, DoesNotBelieveAFile) {
  Cache cache;
  cache.map(matrix_product(96, "a"), chip(), {}, {});
  const std::string text = cache.text();
  // A stored order that does not multiply to the layer is searched again.
  std::string wrong = text;
  const std::size_t order = wrong.find("\"order\"");
  ASSERT_NE(order, std::string::npos);
  const std::size_t digit = wrong.find_first_of("123456789", wrong.find("2.0", order));
  ASSERT_NE(digit, std::string::npos);
  wrong[digit] = '7';
  Cache doubtful;
  doubtful.add(wrong, "cache.json");
  const MapResult again = doubtful.map(matrix_product(96, "a"), chip(), {}, {});
  EXPECT_EQ(doubtful.hits(), 0u);
  ASSERT_TRUE(again.mapped);
  EXPECT_THROW(Cache().add("{}", "cache.json"), InputError);
  EXPECT_THROW(Cache().add("{\"kind\": \"x\", \"version\": 1, \"entries\": []}", "cache.json"), InputError);
  EXPECT_THROW(Cache().add(text.substr(0, text.size() / 2), "cache.json"), InputError);
}

TEST(Cache, ThreadsShareIt) {
  Cache cache;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (std::int64_t rows = 32; rows < 40; ++rows) cache.map(matrix_product(rows, "a"), chip(), {}, {});
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(cache.size(), 8u);
  Cache alone;
  for (std::int64_t rows = 32; rows < 40; ++rows) alone.map(matrix_product(rows, "a"), chip(), {}, {});
  EXPECT_EQ(cache.text(), alone.text());
}

}  // namespace
}  // namespace monet::cost
