#pragma once
#include <atomic>
#include <cstdint>

namespace monet::cli {

// While it lives, the first SIGINT only sets a flag, for a search to stop and say what it has; a second one ends the
// process as ever. With `terminate`, SIGTERM sets it, too: that is how mpirun and batch systems end a job.
class Interrupt {
 public:
  explicit Interrupt(bool terminate = false);
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  const std::atomic<bool>& asked() const;
};

}  // namespace monet::cli
