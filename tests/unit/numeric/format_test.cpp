#include "monet/numeric/format.h"

#include <gtest/gtest.h>

#include <vector>

namespace monet {
namespace {

using Shape = std::vector<std::int64_t>;

TEST(Element, HasTheNameAndBitsOfItsKind) {
  const std::vector<std::pair<std::string, int>> expected{
      {"f64", 64}, {"f32", 32}, {"f16", 16}, {"bf16", 16}, {"f8e4m3", 8}, {"f8e5m2", 8},
      {"i64", 64}, {"i32", 32}, {"i16", 16}, {"i8", 8},    {"i4", 4},     {"u64", 64},
      {"u32", 32}, {"u16", 16}, {"u8", 8},   {"u4", 4},    {"bool", 8},   {"bit", 1}};
  for (std::size_t e = 0; e < expected.size(); ++e) {
    const auto element = static_cast<Element>(e);
    EXPECT_EQ(name(element), expected[e].first);
    EXPECT_EQ(bits(element), expected[e].second) << expected[e].first;
    EXPECT_EQ(element_named(expected[e].first), element);
    EXPECT_EQ(is_float(element) + is_integer(element) + is_truth(element), 1) << expected[e].first;
  }
  EXPECT_EQ(static_cast<std::size_t>(Element::Bit) + 1, expected.size());
  EXPECT_EQ(element_named("F32"), std::nullopt);
  EXPECT_EQ(element_named(""), std::nullopt);
}

TEST(Element, IsFloatIntegerOrTruth) {
  EXPECT_TRUE(is_float(Element::F8E5M2));
  EXPECT_TRUE(is_integer(Element::I64));
  EXPECT_TRUE(is_integer(Element::U4));
  EXPECT_TRUE(is_truth(Element::Bool));
  EXPECT_TRUE(is_truth(Element::Bit));
}

TEST(Format, ReadsWhatItWrites) {
  for (int e = 0; e <= static_cast<int>(Element::Bit); ++e)
    for (const std::uint32_t group : {0u, 8u}) {
      const Format format =
          group == 0 ? Format{static_cast<Element>(e)} : Format{static_cast<Element>(e), 2, 32, group};
      EXPECT_EQ(parse_format(to_string(format)), format);
    }
  EXPECT_EQ(parse_format("f32/1x32+64"), (Format{Element::F32, 1, 32, 64}));
  EXPECT_EQ(to_string(Format{Element::F16}), "f16");
  EXPECT_EQ(to_string(Format{Element::F8E4M3, 1, 32, 8}), "f8e4m3/1x32+8");
}

TEST(Format, RefusesWhatItWouldNotWrite) {
  for (const char* text :
       {"", "f", "f33", "f32 ", "f32/", "f32/1", "f32/1x32", "f32/1x32+", "f32/1x32+8x", "f32/0x32+8", "f32/1x0+8",
        "f32/1x32+0", "f32/1x32+65", "f32/-1x32+8", "f32/1+32x8", "/1x32+8", "f32/1x99999999999+8"})
    EXPECT_EQ(parse_format(text), std::nullopt) << text;
}

TEST(Format, CountsBits) {
  EXPECT_EQ(storage_bits(Shape{}, Format{Element::F32}), 32u);
  EXPECT_EQ(storage_bits(Shape{2, 3, 5}, Format{Element::BF16}), 480u);
  EXPECT_EQ(storage_bits(Shape{7}, Format{Element::Bit}), 7u);  // bits, not bytes: no rounding here
  EXPECT_EQ(storage_bits(Shape{3}, Format{Element::I4}), 12u);
  EXPECT_EQ(storage_bits(Shape{4}, Format{Element::Bool}), 32u);
}

// 8-bit elements; each block of 1x32 has a scale of 8 bits, and a block begun is a block stored.
TEST(Format, CountsTheScalesOfRaggedBlocks) {
  const Format mx{Element::F8E4M3, 1, 32, 8};
  EXPECT_EQ(storage_bits(Shape{31}, mx), 31 * 8 + 1 * 8u);
  EXPECT_EQ(storage_bits(Shape{32}, mx), 32 * 8 + 1 * 8u);
  EXPECT_EQ(storage_bits(Shape{33}, mx), 33 * 8 + 2 * 8u);
  EXPECT_EQ(storage_bits(Shape{}, mx), 8 + 8u);
  EXPECT_EQ(storage_bits(Shape{4, 33}, mx), 4 * 33 * 8 + 4 * 2 * 8u);
  EXPECT_EQ(storage_bits(Shape{2, 3, 4, 64}, mx), 2 * 3 * 4 * 64 * 8 + 2 * 3 * 4 * 2 * 8u);
}

TEST(Format, CountsTheScalesOfTwoDimensionalBlocks) {
  const Format tile{Element::I4, 16, 16, 16};
  EXPECT_EQ(storage_bits(Shape{16, 16}, tile), 256 * 4 + 16u);
  EXPECT_EQ(storage_bits(Shape{17, 16}, tile), 17 * 16 * 4 + 2 * 16u);
  EXPECT_EQ(storage_bits(Shape{17, 17}, tile), 17 * 17 * 4 + 4 * 16u);
  EXPECT_EQ(storage_bits(Shape{5, 17, 17}, tile), 5 * (17 * 17 * 4 + 4 * 16u));
  EXPECT_EQ(storage_bits(Shape{40}, tile), 40 * 4 + 3 * 16u);  // one row
}

TEST(Format, CountsTheLargestTensors) {
  const std::int64_t most = std::int64_t{1} << 48;
  EXPECT_EQ(storage_bits(Shape{most}, Format{Element::F64}), std::uint64_t{1} << 54);
  EXPECT_EQ(storage_bits(Shape{most, 1}, Format{Element::F8E4M3, 1, 32, 8}), std::uint64_t{1} << 52);
}

}  // namespace
}  // namespace monet
