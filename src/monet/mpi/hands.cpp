#include "monet/mpi/hands.h"

#include <utility>

namespace monet::mpi {

Hands::Hands(std::size_t threads, RunTask run) : run_(std::move(run)) {
  for (std::size_t t = 0; t < threads; ++t) threads_.emplace_back([this] { work(); });
}

Hands::~Hands() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  given_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Hands::give(Assignment assignment) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(assignment));
  }
  given_.notify_one();
}

std::vector<std::uint64_t> Hands::take_back() {
  const std::lock_guard lock(mutex_);
  std::vector<std::uint64_t> out;
  for (const Assignment& a : waiting_) out.push_back(a.id);
  waiting_.clear();
  return out;
}

std::vector<Done> Hands::finished(std::chrono::milliseconds most) {
  std::unique_lock lock(mutex_);
  done_.wait_for(lock, most, [this] { return !finished_.empty(); });
  return std::exchange(finished_, {});
}

void Hands::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    given_.wait(lock, [this] { return is_over_ || !waiting_.empty(); });
    if (is_over_) return;
    const Assignment one = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    Done done{.id = one.id};
    const auto begun = std::chrono::steady_clock::now();
    try {
      done.result = run_(one.task);
    } catch (...) {
      done.failure = failure_of(std::current_exception());
    }
    done.busy_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    lock.lock();
    finished_.push_back(std::move(done));
    done_.notify_one();
  }
}

}  // namespace monet::mpi
