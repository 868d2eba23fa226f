#include "monet/mpi/explore_ranks.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>

#include "monet/base/parallel.h"
#include "monet/base/sha256.h"
#include "monet/mpi/mappings.h"
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

// The cache and the exploration stay where they are, whoever owns the problem.
Post post_of(const ExploreRequest& request, const ExploreProblem& problem) {
  cost::Cache& cache = *problem.cache;
  cache.keep_found();
  return {.question = digest_of(request, problem),
          .run = [&exploration = *problem.exploration](const search::Task& task) { return exploration.run(task); },
          .found = [&cache] { return pack_mappings(cache.take_found()); },
          .learn =
              [&cache](std::string_view bytes) {
                std::vector<cost::KeyedMapping> mappings = unpack_mappings(bytes);
                const std::size_t count = mappings.size();
                cache.learn(std::move(mappings));
                return count;
              }};
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
    return post_of(request, problem);
  });
}

ExploreRun explore_by(Crew& crew, ExploreRequest request) {
  ExploreProblem problem = explore_problem(request);
  warn_of_bound(request, problem);
  crew.assemble(hello_of(request), post_of(request, problem));
  ExploreRun run =
      explore(request, std::move(problem),
              [&](std::span<const search::Task> tasks, const search::Claim& claim,
                  const search::AlikeTasks::Done& done) { crew.work(tasks, request.watch.deadline, done, claim); });
  for (std::size_t r = 0; r < crew.efforts().size(); ++r) {
    const Hello& hello = crew.hellos()[r];
    const Effort& effort = crew.efforts()[r];
    run.efforts.push_back({.host = hello.host,
                           .threads = hello.threads,
                           .tasks = effort.tasks,
                           .mappings_searched = r == 0 ? run.problem.cache->searched() : effort.mappings,
                           .busy_s = effort.busy_s,
                           .idle_s = crew.working_s() * static_cast<double>(hello.threads) - effort.busy_s});
  }
  return run;
}

void end_explore(Crew& crew, const ExploreRequest& request, ExploreRun& run) {
  crew.dismiss();
  if (request.evaluate.cache.empty()) return;
  write_cache(request.evaluate.cache, *run.problem.cache, run.problem.warnings);
}

}  // namespace monet::mpi
