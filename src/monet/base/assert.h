#pragma once

namespace monet {

// Reports a broken invariant of ours on stderr and aborts. Never reachable from any input.
[[noreturn]] void assertion_failed(const char* condition, const char* why, const char* file, int line);

}  // namespace monet

#define MONET_ASSERT(condition, why) \
  ((condition) ? static_cast<void>(0) : ::monet::assertion_failed(#condition, why, __FILE__, __LINE__))
