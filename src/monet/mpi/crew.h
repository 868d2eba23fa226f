#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "monet/base/watch.h"
#include "monet/mpi/hands.h"
#include "monet/mpi/link.h"

namespace monet::mpi {

// The first rank hands out tasks one by one and takes results in as they come; it has threads that work, too, as every
// other rank has. On each rank one thread alone sends and receives; it sleeps between looks, for MPI itself would wait
// at the expense of a core. Results are by task: who worked on which does not show.

struct Post {
  Question question{};
  RunTask run{};
  std::function<std::string()> mappings{};  // for Bye
};

// All ranks, as the first one sees them.
class Crew {
 public:
  explicit Crew(Link link);
  ~Crew();  // dismisses
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  // Waits until all are ready. Throws InputError where one cannot work or has another question than this one.
  void assemble(Hello own, RunTask run);

  // Results in the order of the tasks, none for those that were not done before the deadline. `done` is told of each as
  // it comes. A task that fails ends it; of several, the first one's exception is thrown, as without ranks.
  std::vector<search::TaskResult> work(std::span<const search::Task> tasks, const Deadline& deadline,
                                       const std::function<void(std::size_t, const search::TaskResult&)>& done);

  // Waits until all others have left; mappings that they found.
  std::vector<std::string> dismiss();

 private:
  struct Batch;
  std::size_t hands() const;  // threads that work, on all ranks
  void hand_out(Batch& batch);
  void give(Batch& batch, std::size_t rank);
  void settle(Batch& batch, std::size_t rank, Done done,
              const std::function<void(std::size_t, const search::TaskResult&)>& tell);
  void halt(Batch& batch);

  Link link_;
  std::optional<Hands> own_;
  std::vector<Hello> hellos_;      // by rank
  std::vector<std::size_t> held_;  // by rank: tasks given and not heard of
  std::uint64_t next_id_ = 0;
  bool is_dismissed_ = false;
};

// Any other rank, until it is dismissed. `prepare` may throw: the first rank is told.
// What else goes wrong here ends the process, and the job with it: nobody is to wait for a rank that has given up.
void serve(const Link& link, Hello hello, const std::function<Post()>& prepare) noexcept;

}  // namespace monet::mpi
