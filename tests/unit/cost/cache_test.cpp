#include "monet/cost/cache.h"

#include <fmt/format.h>
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

// The text with the first `from` after `key` replaced, all else left as it is.
std::string changed(std::string text, const std::string& key, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from, text.find(key));
  EXPECT_NE(at, std::string::npos) << key << " " << from;
  return text.replace(at, from.size(), to);
}

TEST(Cache, DoesNotBelieveAFile) {
  Cache cache;
  const MapResult first = cache.map(matrix_product(96, "a"), chip(), {}, {});
  const std::string text = cache.text();
  ASSERT_TRUE(first.mapped);
  // What is no mapping of the layer, does not fit, or costs something else is searched again.
  const std::vector<std::array<std::string, 3>> changes{
      {"\"order\"", "2.0", "7.0"},   {"\"order\"", "[[", "[[3,1.0],["}, {"\"cuts\"", ",8,0", ",9,0"},
      {"\"spatial\"", "32", "16"},   {"\"spatial\"", "32", "0"},        {"\"costs\"", "[", "[1"},
      {"\"doubled\"", "[[0", "[[1"},
  };
  for (const auto& [key, from, to] : changes) {
    SCOPED_TRACE(key + " " + to);
    Cache doubtful;
    EXPECT_EQ(doubtful.add(changed(text, key, from, to), "cache.json", false), 0u);
    EXPECT_EQ(doubtful.size(), 1u);
    const MapResult again = doubtful.map(matrix_product(96, "a"), chip(), {}, {});
    EXPECT_EQ(doubtful.hits(), 0u);
    EXPECT_EQ(doubtful.searched(), 1u);
    ASSERT_TRUE(again.mapped);
    EXPECT_EQ(again.mapped->order, first.mapped->order);
    EXPECT_EQ(doubtful.text(), text);
  }
}

std::string fault_of(const std::string& text) {
  try {
    Cache().add(text, "cache.json");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(Cache, SaysWhereAFileIsDamaged) {
  Cache cache;
  cache.map(matrix_product(96, "a"), chip(), {}, {});
  cache.map(matrix_product(97, "a"), chip(), {}, {});
  const std::string text = cache.text();
  EXPECT_EQ(fault_of(text), "");
  const std::size_t second = text.rfind("\"evaluated\":");
  std::string flipped = text;
  flipped[second + 12] = flipped[second + 12] == '1' ? '2' : '1';
  EXPECT_NE(fault_of(flipped).find("cache.json:3:1: error: an entry does not match its digest"), std::string::npos)
      << fault_of(flipped);
  EXPECT_NE(fault_of(text.substr(0, text.size() / 2)).find("cache.json:"), std::string::npos);
  EXPECT_NE(fault_of(changed(text, "\"cuts\"", "[[", "[[99,")).find("cache.json:2:"), std::string::npos);
  EXPECT_NE(fault_of("{}").find("kind"), std::string::npos);
  EXPECT_NE(fault_of("{\"kind\": \"x\", \"version\": 2, \"entries\": []}").find("not a cost cache"), std::string::npos);
}

TEST(Cache, LeavesOtherVersionsOut) {
  Cache cache;
  cache.map(matrix_product(96, "a"), chip(), {}, {});
  Cache later;
  EXPECT_EQ(later.add(changed(cache.text(), "\"version\"", fmt::format("{}", kCacheVersion), "1"), "cache.json"), 1u);
  EXPECT_EQ(later.size(), 0u);
}

TEST(Cache, NamesDoNotRunIntoFactors) {
  const auto key = [](const std::string& dimension, std::int64_t factor) {
    MappingRequest request;
    request.spatial = {{"D1", {{dimension, factor}}}};
    return content_key(matrix_product(96, "a"), chip(), request, {});
  };
  EXPECT_NE(key("K", 32), key("K3", 2));
}

// What had no time to end is of use to this run, not to a file.
TEST(Cache, StoresNothingThatWasCutShort) {
  const std::atomic<bool> asked = true;
  const MapOptions hurried{.watch = {.deadline = Deadline(std::nullopt, &asked)}};
  Cache cache;
  const MapResult cut = cache.map(matrix_product(96, "a"), chip(), {}, hurried);
  EXPECT_TRUE(cut.mapped ? cut.mapped->is_stopped : cut.is_stopped);
  EXPECT_EQ(cache.map(matrix_product(96, "b"), chip(), {}, hurried).reason, cut.reason);
  EXPECT_EQ(cache.searched(), 1u);
  EXPECT_EQ(cache.text(), Cache().text());
  cache.forget_stopped();
  const MapResult whole = cache.map(matrix_product(96, "a"), chip(), {}, {});
  ASSERT_TRUE(whole.mapped);
  EXPECT_TRUE(whole.mapped->is_proven);
  EXPECT_NE(cache.text(), Cache().text());
}

// Every size of the highest memory, from too small to more than enough: each is answered as if it were the only one,
// and those that a search would not tell apart are searched once, whichever comes first.
TEST(Cache, SizesThatASearchDoesNotTellApartShareIt) {
  const Layer layer = matrix_product(96, "a");
  const auto sized = [](std::int64_t bytes) {
    hardware::Core core = chip();
    core.memories.back().size_bits = bytes * 8;
    return core;
  };
  std::vector<std::int64_t> sizes;
  for (std::int64_t bytes = 8192; bytes <= 65536; bytes += 2048) sizes.push_back(bytes);
  Cache up, down;
  std::size_t possible = 0;
  for (const std::int64_t bytes : sizes) {
    const hardware::Core core = sized(bytes);
    ASSERT_EQ(key_of(core, {}).roomy, (std::vector<std::size_t>{core.memories.size() - 1}));
    const MapResult alone = map_layer(layer, core, {}, {}), found = up.map(layer, core, {}, {});
    EXPECT_EQ(found.reason, alone.reason) << bytes;
    ASSERT_EQ(found.mapped.has_value(), alone.mapped.has_value()) << bytes;
    if (!alone.mapped) continue;
    ++possible;
    EXPECT_EQ(found.mapped->order, alone.mapped->order) << bytes;
    EXPECT_EQ(found.mapped->evaluation.cuts, alone.mapped->evaluation.cuts) << bytes;
    EXPECT_EQ(found.mapped->evaluation.latency, alone.mapped->evaluation.latency) << bytes;
    EXPECT_EQ(found.mapped->evaluation.energy_pj, alone.mapped->evaluation.energy_pj) << bytes;
    EXPECT_EQ(found.mapped->evaluated, alone.mapped->evaluated) << bytes;
    EXPECT_EQ(found.mapped->problem.memories.back().size_bits, static_cast<double>(bytes * 8));
  }
  EXPECT_GT(possible, 0u);
  EXPECT_LT(possible, sizes.size());
  EXPECT_LT(up.searched(), sizes.size() / 2);
  EXPECT_GT(up.searched(), 1u);
  for (auto bytes = sizes.rbegin(); bytes != sizes.rend(); ++bytes) down.map(layer, sized(*bytes), {}, {});
  EXPECT_EQ(down.searched(), up.searched());
  EXPECT_EQ(down.text(), up.text());
  Cache later;
  later.add(up.text(), "cache.json");
  for (const std::int64_t bytes : sizes) later.map(layer, sized(bytes), {}, {});
  EXPECT_EQ(later.searched(), 0u);
}

// How wide an element is decides what can be unrolled, too, where it is wider than any that is usual.
TEST(Cache, WideElementsDoNotShareSizes) {
  Layer layer = matrix_product(96, "a");
  hardware::Core larger = chip();
  larger.memories.back().size_bits *= 2;
  EXPECT_EQ(content_key(layer, chip(), {}, {}), content_key(layer, larger, {}, {}));
  layer.operands[2].bits = 65;
  EXPECT_NE(content_key(layer, chip(), {}, {}), content_key(layer, larger, {}, {}));
  Cache cache;
  for (const hardware::Core& core : {chip(), larger, chip()}) {
    const MapResult alone = map_layer(layer, core, {}, {}), found = cache.map(layer, core, {}, {});
    ASSERT_EQ(found.mapped.has_value(), alone.mapped.has_value());
    if (!alone.mapped) continue;
    EXPECT_EQ(found.mapped->order, alone.mapped->order);
  }
  EXPECT_EQ(cache.searched(), 2u);
}

TEST(Cache, LearnsWhatAnotherFound) {
  Cache cache, other;
  cache.map(matrix_product(90, "a"), chip(), {}, {});
  EXPECT_TRUE(cache.take_found().empty());  // nobody asked for it
  cache.keep_found();
  other.keep_found();
  hardware::Core tiny = chip();
  for (hardware::Memory& memory : tiny.memories) memory.size_bits = 8;
  cache.map(matrix_product(90, "a"), chip(), {}, {});  // looked up, not found
  const MapResult found = cache.map(matrix_product(96, "a"), chip(), {}, {});
  const MapResult none = cache.map(matrix_product(96, "a"), tiny, {}, {});
  const std::vector<KeyedMapping> news = cache.take_found();
  ASSERT_EQ(news.size(), 2u);
  CachedMapping expected = cached(found, key_of(chip(), {}).roomy);
  expected.is_own = true;
  EXPECT_EQ(news[0].mapping, expected);
  EXPECT_EQ(news[1].mapping.reason, none.reason);
  EXPECT_TRUE(cache.take_found().empty());
  other.learn(news);
  const MapResult again = other.map(matrix_product(96, "b"), chip(), {}, {});
  EXPECT_EQ(other.map(matrix_product(96, "b"), tiny, {}, {}).reason, none.reason);
  EXPECT_EQ(cached(again), cached(found));
  EXPECT_EQ(other.searched(), 0u);
  EXPECT_EQ(other.hits(), 2u);
  EXPECT_TRUE(other.take_found().empty());  // it would go round and round
}

TEST(Cache, DoesNotBelieveWhatItLearns) {
  Cache cache, other;
  cache.keep_found();
  const MapResult found = cache.map(matrix_product(96, "a"), chip(), {}, {});
  std::vector<KeyedMapping> news = cache.take_found();
  news[0].mapping.costs.latency += 1;
  other.learn(news);
  EXPECT_EQ(cached(other.map(matrix_product(96, "a"), chip(), {}, {})), cached(found));
  EXPECT_EQ(other.searched(), 1u);
}

TEST(Cache, TellsNobodyOfWhatWasCutShort) {
  const std::atomic<bool> asked = true;
  Cache cache;
  cache.keep_found();
  cache.map(matrix_product(96, "a"), chip(), {}, {.watch = {.deadline = Deadline(std::nullopt, &asked)}});
  EXPECT_TRUE(cache.take_found().empty());
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
  EXPECT_EQ(cache.searched(), 8u);  // however they met
  EXPECT_EQ(cache.hits(), 24u);
  Cache alone;
  for (std::int64_t rows = 32; rows < 40; ++rows) alone.map(matrix_product(rows, "a"), chip(), {}, {});
  EXPECT_EQ(cache.text(), alone.text());
}

}  // namespace
}  // namespace monet::cost
