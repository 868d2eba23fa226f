#include "monet/base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

namespace monet {
namespace {

TEST(Parallel, DoesEveryIndexOnce) {
  for (const std::size_t threads : {0u, 1u, 3u, 64u}) {
    std::vector<std::atomic<int>> done(1000);
    parallel_for(done.size(), threads, [&](std::size_t i) { ++done[i]; });
    for (const std::atomic<int>& times : done) EXPECT_EQ(times, 1);
  }
  parallel_for(0, 4, [](std::size_t) { FAIL(); });
}

TEST(Parallel, ThrowsWhatAPlainLoopWouldThrow) {
  for (const std::size_t threads : {1u, 4u})
    for (int round = 0; round < 20; ++round) {
      std::string message;
      try {
        parallel_for(100, threads, [](std::size_t i) {
          if (i >= 7) throw std::runtime_error(std::to_string(i));
        });
      } catch (const std::runtime_error& error) {
        message = error.what();
      }
      EXPECT_EQ(message, "7");
    }
}

}  // namespace
}  // namespace monet
