#include "monet/base/parallel.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <vector>

namespace monet {

// std::thread::hardware_concurrency counts cores that a launcher or a container may have denied us.
std::size_t threads_for(std::size_t asked) {
  if (asked > 0) return asked;
  cpu_set_t cores;
  if (::sched_getaffinity(0, sizeof cores, &cores) == 0)
    return static_cast<std::size_t>(std::max(1, CPU_COUNT(&cores)));
  return std::max(1u, std::thread::hardware_concurrency());  // more cores than the set has room for
}

void parallel_for(std::size_t count, std::size_t threads, const std::function<void(std::size_t)>& work) {
  threads = std::min(threads_for(threads), count);
  if (threads <= 1) {
    for (std::size_t i = 0; i < count; ++i) work(i);
    return;
  }
  std::vector<std::exception_ptr> failures(count);
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> failed = false;
  const auto run = [&] {
    // Indices are taken in order and what is taken is done, so every one below a failed one is.
    while (!failed) {
      const std::size_t i = next++;
      if (i >= count) return;
      try {
        work(i);
      } catch (...) {
        failures[i] = std::current_exception();
        failed = true;
      }
    }
  };
  std::vector<std::thread> pool;
  for (std::size_t t = 0; t < threads; ++t) pool.emplace_back(run);
  for (std::thread& thread : pool) thread.join();
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

}  // namespace monet
