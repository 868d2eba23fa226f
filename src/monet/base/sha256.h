#pragma once
#include <string>
#include <string_view>

namespace monet {

// SHA-256 (FIPS 180-4) of `bytes` in 64 lower-case hexadecimal digits: names inputs and results by what they hold.
std::string sha256_hex(std::string_view bytes);

}  // namespace monet
