#pragma once
#include <functional>
#include <span>
#include <string>
#include <unordered_map>

#include "monet/base/watch.h"
#include "monet/search/exploration.h"

namespace monet::search {

// Values of several variables can make the same chip: a mesh and its mirror image, say. Of tasks that are alike, one is
// run.
class AlikeTasks {
 public:
  // What is referred to must stay alive.
  AlikeTasks(const Exploration& exploration, const Deadline& deadline, std::size_t threads)
      : exploration_(exploration), deadline_(deadline), threads_(threads) {}

  using Done = std::function<void(std::size_t, const TaskResult&)>;
  using Work = std::function<void(std::span<const Task>, const Done&)>;
  // Has `work` done those that are like none before, in this call or an earlier one, and tells `done` of every task
  // that has a result. Gives how many were not worked on.
  std::size_t run(std::span<const Task> tasks, const Work& work, const Done& done);

 private:
  const Exploration& exploration_;
  Deadline deadline_;
  std::size_t threads_;
  std::unordered_map<std::string, TaskResult> known_;  // by signature
};

}  // namespace monet::search
