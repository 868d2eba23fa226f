#include "monet/base/gzip.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>

#include "monet/base/diagnostic.h"

namespace monet {
namespace {

// printf 'hello, tiles\n' | gzip -n
constexpr std::array<unsigned char, 33> kHello{0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0xcb,
                                               0x48, 0xcd, 0xc9, 0xc9, 0xd7, 0x51, 0x28, 0xc9, 0xcc, 0x49, 0x2d,
                                               0xe6, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x0d, 0x00, 0x00, 0x00};

std::string hello(std::uint32_t crc) {
  std::string bytes(kHello.begin(), kHello.end());
  for (std::size_t i = 0; i < 4; ++i) bytes[25 + i] = static_cast<char>(crc >> (8 * i) & 0xff);
  return bytes;
}

std::uint32_t crc_of(std::string_view text) {  // the reflected polynomial of RFC 1952
  std::uint32_t crc = 0xffffffffu;
  for (const char c : text) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (0xedb88320u & (0u - (crc & 1u)));
  }
  return ~crc;
}

TEST(Gzip, UnpacksMembersOneAfterTheOther) {
  const std::string packed = hello(crc_of("hello, tiles\n"));
  EXPECT_EQ(unpacked(packed, "x.gz"), "hello, tiles\n");
  EXPECT_EQ(unpacked(packed + packed, "x.gz"), "hello, tiles\nhello, tiles\n");
}

TEST(Gzip, LeavesOtherFilesAlone) {
  EXPECT_EQ(unpacked("{}", "x.json"), "{}");
  EXPECT_EQ(unpacked("", "x.json"), "");
  EXPECT_EQ(unpacked("\x1f", "x.json"), "\x1f");
}

TEST(Gzip, SaysThatAFileIsDamagedOrTooLarge) {
  const std::string packed = hello(crc_of("hello, tiles\n"));
  EXPECT_THROW(unpacked(hello(1), "x.gz"), InputError);
  for (std::size_t n = 2; n < packed.size(); ++n) EXPECT_THROW(unpacked(packed.substr(0, n), "x.gz"), InputError) << n;
  EXPECT_THROW(unpacked(packed + "more", "x.gz"), InputError);
  EXPECT_THROW(unpacked(packed, "x.gz", 5), InputError);
}

}  // namespace
}  // namespace monet
