#pragma once
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "monet/search/exploration.h"

namespace monet::search {

// Values of several variables can make the same chip: a mesh and its mirror image, say. Of tasks that are alike, one is
// run.
class AlikeTasks {
 public:
  explicit AlikeTasks(const Exploration& exploration) : exploration_(exploration) {}  // which must stay alive

  using Done = std::function<void(std::size_t, const TaskResult&)>;
  using Work = std::function<void(std::span<const Task>, const Claim&, const Done&)>;
  // Has `work` do those that are like none before, in this call or an earlier one, and tells `done` of every task that
  // has a result, one at a time. Gives how many of these were not worked on.
  std::size_t run(std::span<const Task> tasks, const Work& work, const Done& done);

 private:
  struct Found {
    bool is_there = false;
    TaskResult result{};
    std::vector<std::size_t> waiting{};  // tasks of this call
  };
  const Exploration& exploration_;
  std::mutex mutex_;                              // of what follows
  std::unordered_map<std::string, Found> found_;  // by signature
};

}  // namespace monet::search
