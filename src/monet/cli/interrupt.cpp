#include "monet/cli/interrupt.h"

#include <csignal>
#include <ctime>

namespace monet::cli {
namespace {

// A handler reaches nothing but statics, and may neither lock nor allocate.
std::atomic<bool> interrupted = false;
std::atomic<std::int64_t> first_at_ns = 0;
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<std::int64_t>::is_always_lock_free);

// Who starts us may pass the terminal's signal on: what follows at once is the same key stroke.
constexpr std::int64_t kSameNs = 300'000'000;

std::int64_t now_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

void on_interrupt(int) {
  if (!interrupted.exchange(true)) {
    first_at_ns = now_ns();
  } else if (now_ns() - first_at_ns > kSameNs) {
    std::signal(SIGINT, SIG_DFL);
    std::raise(SIGINT);
  }
}

void on_terminate(int) {
  if (!interrupted.exchange(true)) first_at_ns = now_ns();
}

void handle(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(signal, &action, nullptr);
}

}  // namespace

Interrupt::Interrupt(bool terminate) {
  interrupted = false;
  handle(SIGINT, on_interrupt);
  if (terminate) handle(SIGTERM, on_terminate);
}

Interrupt::~Interrupt() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

const std::atomic<bool>& Interrupt::asked() const { return interrupted; }

}  // namespace monet::cli
