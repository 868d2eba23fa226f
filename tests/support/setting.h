#pragma once
#include <cstdint>
#include <cstdlib>

namespace monet::test {

// A number that the environment gives, such as how many cases are drawn.
inline std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* given = std::getenv(name);
  return given == nullptr ? otherwise : std::strtoull(given, nullptr, 10);
}

}  // namespace monet::test
