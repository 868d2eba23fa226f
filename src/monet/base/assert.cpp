#include "monet/base/assert.h"

#include <cstdio>
#include <cstdlib>

namespace monet {

void assertion_failed(const char* condition, const char* why, const char* file, int line) {
  std::fprintf(stderr, "monet: internal error at %s:%d: %s (%s)\nPlease report this with the command and its inputs.\n",
               file, line, why, condition);
  std::abort();
}

}  // namespace monet
