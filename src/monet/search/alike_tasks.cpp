#include "monet/search/alike_tasks.h"

#include <vector>

#include "monet/base/parallel.h"

namespace monet::search {

std::size_t AlikeTasks::run(std::span<const Task> tasks, const Work& work, const Done& done) {
  std::vector<std::string> signatures(tasks.size());
  parallel_for(tasks.size(), threads_, [&](std::size_t i) {
    if (!deadline_.is_over()) signatures[i] = exploration_.signature(tasks[i]);
  });
  std::size_t shared = 0;
  std::vector<Task> first;
  std::vector<std::vector<std::size_t>> alike;  // by the first of them
  std::unordered_map<std::string_view, std::size_t> place;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const std::string& signature = signatures[i];
    if (const auto known = known_.find(signature); known != known_.end()) {
      done(i, known->second);
      ++shared;
      continue;
    }
    const auto [at, is_new] = place.try_emplace(signature, first.size());
    if (is_new || signature.empty()) {
      first.push_back(tasks[i]);
      alike.push_back({i});
    } else {
      alike[at->second].push_back(i);
    }
  }
  work(first, [&](std::size_t k, const TaskResult& result) {
    for (const std::size_t i : alike[k]) done(i, result);
    shared += alike[k].size() - 1;
    if (const std::string& signature = signatures[alike[k].front()]; !signature.empty())
      known_.emplace(signature, result);
  });
  return shared;
}

}  // namespace monet::search
