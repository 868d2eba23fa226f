#pragma once
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "monet/mpi/messages.h"

namespace monet::mpi {

using RunTask = std::function<search::TaskResult(const search::Task&)>;

// The threads of a rank that run tasks, in the order in which they are given.
class Hands {
 public:
  Hands(std::size_t threads, RunTask run);
  ~Hands();  // finishes what is begun and forgets the rest
  Hands(const Hands&) = delete;
  Hands& operator=(const Hands&) = delete;

  void give(Assignment assignment);
  std::vector<std::uint64_t> take_back();  // what is not begun
  // What was finished since the last call; waits for something, but not longer than said.
  std::vector<Done> finished(std::chrono::milliseconds most);

 private:
  void work();

  RunTask run_;
  std::mutex mutex_;
  std::condition_variable given_, done_;
  std::deque<Assignment> waiting_;
  std::vector<Done> finished_;
  bool is_over_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace monet::mpi
