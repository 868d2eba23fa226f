#pragma once
#include <cstddef>
#include <memory>

#include "monet/mpi/launch.h"
#include "monet/mpi/link.h"

namespace monet::mpi {

// This process as a rank of the job that a launcher started. ranks.cpp is the only file that knows MPI; a build without
// it takes no_ranks.cpp instead.
class Ranks {
 public:
  // Starts MPI. InputError if this build has none, or another one than the launcher.
  explicit Ranks(const Launch& launch);
  ~Ranks();  // ends it: waits for all ranks to come here
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  std::size_t on_this_host() const;
  Link link();  // to be used no longer than this lives, by the thread that made it

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace monet::mpi
