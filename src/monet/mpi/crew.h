#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "monet/base/watch.h"
#include "monet/mpi/hands.h"
#include "monet/mpi/link.h"

namespace monet::mpi {

// The first rank hands out tasks one by one and takes results in as they come; it has threads that work, too, as every
// other rank has. On each rank one thread alone sends and receives; it sleeps between looks, for MPI itself would wait
// at the expense of a core. Results are by task: who worked on which does not show.
// What a rank finds out about mappings it tells the first one at once, which passes it on to all others: points share
// most of their mappings, and each is to be searched once in all, not once on every rank.

// What a rank works on and by what. `found` and `learn` may be none: then ranks keep to themselves what they find.
struct Post {
  Question question{};
  RunTask run{};
  std::function<std::string()> found{};                  // mappings found here since the last call, as bytes
  std::function<std::size_t(std::string_view)> learn{};  // mappings of other ranks; how many
};

// What a rank has done so far, as the first one has heard.
struct Effort {
  std::size_t tasks = 0;
  std::size_t mappings = 0;  // that it found and told; none of the first rank
  double busy_s = 0;         // in tasks, of all threads
};

// All ranks, as the first one sees them.
class Crew {
 public:
  explicit Crew(Link link);
  ~Crew();  // dismisses
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  // Waits until all are ready. Throws InputError where one cannot work or has another question than this one.
  void assemble(Hello own, Post post);

  // Results in the order of the tasks, none for those that were not done before the deadline, or not claimed. `done` is
  // told of each as it comes. A task that fails ends it; of several, the first one's exception is thrown, as without
  // ranks.
  std::vector<search::TaskResult> work(std::span<const search::Task> tasks, const Deadline& deadline,
                                       const std::function<void(std::size_t, const search::TaskResult&)>& done,
                                       const search::Claim& claim = {});

  // Waits until all others have left, and learns what they still found.
  void dismiss();

  const std::vector<Hello>& hellos() const { return hellos_; }     // by rank
  const std::vector<Effort>& efforts() const { return efforts_; }  // likewise
  double working_s() const { return working_s_; }                  // in `work`, in all

 private:
  struct Batch;
  std::size_t hands() const;  // threads that work, on all ranks
  void hand_out(Batch& batch);
  void give(Batch& batch, std::size_t rank);
  void settle(Batch& batch, std::size_t rank, Done done,
              const std::function<void(std::size_t, const search::TaskResult&)>& tell);
  void halt(Batch& batch);
  void hear(std::size_t from, std::string mappings);
  void pass_on();

  Link link_;
  Post post_;
  std::optional<Hands> own_;
  std::vector<Hello> hellos_;      // by rank
  std::vector<std::size_t> held_;  // by rank: tasks given and not heard of
  std::vector<Effort> efforts_;    // by rank
  std::vector<Envelope> news_;     // to be passed on: mappings, and whose they are
  std::chrono::steady_clock::time_point told_{};
  double working_s_ = 0;
  std::uint64_t next_id_ = 0;
  bool is_dismissed_ = false;
};

// Any other rank, until it is dismissed. `prepare` may throw: the first rank is told.
// What else goes wrong here ends the process, and the job with it: nobody is to wait for a rank that has given up.
void serve(const Link& link, Hello hello, const std::function<Post()>& prepare) noexcept;

}  // namespace monet::mpi
