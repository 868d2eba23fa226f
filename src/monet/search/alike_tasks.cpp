#include "monet/search/alike_tasks.h"

namespace monet::search {

std::size_t AlikeTasks::run(std::span<const Task> tasks, const Work& work, const Done& done) {
  std::vector<std::string> signatures(tasks.size());
  std::size_t shared = 0;
  const auto claim = [&](std::size_t i) {
    std::string signature = exploration_.signature(tasks[i]);
    if (signature.empty()) return true;
    const std::lock_guard lock(mutex_);
    signatures[i] = std::move(signature);
    const auto [at, is_new] = found_.try_emplace(signatures[i]);
    if (is_new) return true;
    if (at->second.is_there) {
      done(i, at->second.result);
      ++shared;
    } else {
      at->second.waiting.push_back(i);
    }
    return false;
  };
  work(tasks, claim, [&](std::size_t i, const TaskResult& result) {
    const std::lock_guard lock(mutex_);
    done(i, result);
    if (signatures[i].empty()) return;
    Found& found = found_.at(signatures[i]);
    for (const std::size_t w : found.waiting) done(w, result);
    shared += found.waiting.size();
    found = {.is_there = true, .result = result};
  });
  std::erase_if(found_, [](const auto& each) { return !each.second.is_there; });  // time was over
  return shared;
}

}  // namespace monet::search
