#include "monet/mpi/explore_ranks.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>

#include "monet/base/parallel.h"
#include "monet/base/sha256.h"
#include "monet/verbs/cost_cache.h"

namespace monet::mpi {
namespace {

Question digest_of(const ExploreRequest& request, const ExploreProblem& problem) {
  Question out{.digest = sha256_hex(question_of(request, problem))};
  for (const DocumentInput& input : problem.inputs) out.inputs.emplace_back(input.path, input.sha256);
  return out;
}

Hello hello_of(const ExploreRequest& request) {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return {.host = name.data(), .threads = threads_for(request.evaluate.threads)};
}

// Open MPI binds ranks to cores, and threads with them.
void warn_of_bound(const ExploreRequest& request, ExploreProblem& problem) {
  const std::size_t cores = threads_for(0);
  if (request.evaluate.threads > cores)
    problem.warnings.push_back({.where = "--threads",
                                .message = fmt::format("{} threads in a rank, which may use {} core{}",
                                                       request.evaluate.threads, cores, cores == 1 ? "" : "s"),
                                .hint = "mpirun --bind-to none lets it use all of its host",
                                .severity = Severity::Warning});
}

}  // namespace

std::size_t threads_of(const Ranks& ranks, std::size_t asked) {
  return asked == 0 && ranks.on_this_host() > 1 ? 1 : threads_for(asked);
}

void serve_explore(Ranks& ranks, const ExploreRequest& request) {
  ExploreProblem problem;
  serve(ranks.link(), hello_of(request), [&] {
    problem = explore_problem(request);
    Post post{.question = digest_of(request, problem),
              .run = [&](const search::Task& task) { return problem.exploration->run(task); }};
    if (!request.evaluate.cache.empty()) post.mappings = [&] { return problem.cache->text(); };
    return post;
  });
}

ExploreRun explore_by(Crew& crew, ExploreRequest request) {
  ExploreProblem problem = explore_problem(request);
  warn_of_bound(request, problem);
  Hello own = hello_of(request);
  own.question = digest_of(request, problem);
  crew.assemble(std::move(own),
                [exploration = problem.exploration.get()](const search::Task& task) { return exploration->run(task); });
  return explore(request, std::move(problem),
                 [&](std::span<const search::Task> tasks,
                     const std::function<void(std::size_t, const search::TaskResult&)>& done) {
                   return crew.work(tasks, request.watch.deadline, done);
                 });
}

void end_explore(Crew& crew, const ExploreRequest& request, ExploreRun& run) {
  const std::vector<std::string> found = crew.dismiss();
  if (request.evaluate.cache.empty()) return;
  for (const std::string& text : found) run.problem.cache->add(text, request.evaluate.cache);
  write_cache(request.evaluate.cache, *run.problem.cache, run.problem.warnings);
}

}  // namespace monet::mpi
