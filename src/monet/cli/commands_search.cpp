#include "monet/cli/commands_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <optional>

#include "monet/base/file.h"
#include "monet/base/parallel.h"
#include "monet/base/shell.h"
#include "monet/cli/clock.h"
#include "monet/cli/interrupt.h"
#include "monet/cli/status_line.h"
#include "monet/mpi/explore_ranks.h"
#include "monet/verbs/explore_query.h"
#include "monet/verbs/refuse.h"

namespace monet::cli {
namespace {

int run_count(const ExploreRequest& request, const Output& output, const Clock& clock) {
  const ExploreProblem problem = explore_problem(request);
  const SpaceCount count = count_space(problem, request);
  fmt::print("{}", output.json ? dump(Document{"explore", problem.inputs, options_json(request), json(count),
                                               clock.seconds(), threads_for(request.evaluate.threads)})
                               : text(count, problem));
  return count.valid > 0 ? 0 : 1;
}

int run_query(const ExploreCommand& command, const Output& output) {
  if (!command.request.models.empty() || !command.request.space.empty() || command.count)
    refuse("--query", "it asks a run that is there, and evaluates nothing", "leave MODEL, --space and --count away");
  if (command.out.empty()) refuse("--query", "of which run?", "name its folder: --out DIR");
  if (output.json) refuse("--query", "its answer is CSV", "leave --json away");
  fmt::print("{}", query_csv(command.out, *command.query));
  return 0;
}

void write_explored(const ExploreRun& run, const ExploreRequest& request, const std::string& folder,
                    const std::string& document) {
  make_folder(folder + "/chips");
  remove_numbered(folder + "/chips", ".yaml");  // of an earlier front
  for (std::size_t w = 0; w < run.found.fronts.size(); ++w)
    for (const std::uint32_t i : run.found.fronts[w]) {
      const search::Candidate& candidate = run.found.points[i].candidate;
      write_file(fmt::format("{}/chips/{}.yaml", folder, i), chip_yaml(run, candidate));
      if (const std::string plan = plan_yaml(run, candidate, w); !plan.empty())
        write_file(fmt::format("{}/{}", folder, plan_name(request, i, w)), plan);
    }
  write_file(folder + "/points.csv", csv(run));
  write_file(folder + "/result.json", document);
}

// How to evaluate the first point of a workload's front. A plan is one of a workload, so with one the mode is its own.
std::string alone_text(const ExploreRun& run, const ExploreRequest& request, std::size_t workload,
                       const ExploreCommand& command) {
  const std::uint32_t point = run.found.fronts[workload].front();
  const search::Candidate& candidate = run.found.points[point].candidate;
  const bool has_plan = !plan_yaml(run, candidate, workload).empty();
  if (has_plan && command.out.empty())
    return "\n--out DIR writes the chips of the fronts with their plans, for evaluate\n";
  const std::string mode = has_plan ? mode_of(request, workload) : request.evaluate.mode;
  std::string flags = flags_of(run, candidate, mode);
  const std::vector<search::Axis>& axes = run.problem.exploration->axes();
  for (const auto& [name, words] : command.flags) {  // but for those that the point decides
    const bool is_decided = std::any_of(axes.begin(), axes.end(),
                                        [&flag = name](const search::Axis& axis) { return "--" + axis.name == flag; });
    if (name != "--dim" && !is_decided && (name != "--recompute" || mode != "inference")) flags += words;
  }
  for (const std::string& dim : run.problem.dims[workload])
    flags += " --dim " + shell_word(fmt::format("{}={}", dim, request.evaluate.model.dims.at(dim)));
  return fmt::format("\none of them alone: monet evaluate {} --on {}{} --mode {}{}{}\n",
                     shell_word(model_of(request, workload)), shell_word(run.problem.family->space().chip), flags, mode,
                     request.evaluate.fused_updates ? " --updates fused" : "",
                     has_plan ? " --plan " + shell_word(command.out + "/" + plan_name(request, point, workload)) : "");
}

}  // namespace

int run_fuse(const FuseCommand& command, const Output& output) {
  const Clock clock;
  const Interrupt interrupt;
  Progress progress;
  FuseRequest request = command.request;
  request.watch = {.deadline = Deadline(request.seconds, &interrupt.asked()), .progress = &progress};
  const FuseRun run = [&] {
    const StatusLine status(progress, request.watch.deadline, output.quiet);
    return fuse(request);
  }();
  if (!output.quiet) print_diagnostics(run.warnings);
  const std::string document = dump(Document{"fuse", run.inputs, options_json(request), json(run), clock.seconds(),
                                             threads_for(request.evaluate.threads)});
  if (!command.out.empty()) {
    make_folder(command.out);
    write_file(command.out + "/plan.yaml", run.plan_yaml);
    write_file(command.out + "/result.json", document);
  }
  fmt::print("{}", output.json ? document : text(run, request));
  if (interrupt.asked()) return 130;
  return run.variants[run.best].figures.is_possible ? 0 : 1;
}

int run_checkpoint(const CheckpointCommand& command, const Output& output) {
  const Clock clock;
  const Interrupt interrupt;
  Progress progress;
  CheckpointRequest request = command.request;
  request.watch = {.deadline = Deadline(request.seconds, &interrupt.asked()), .progress = &progress};
  if (!command.out.empty()) {
    make_folder(command.out);
    request.store = command.out + "/points.sqlite";
  }
  const CheckpointRun run = [&] {
    const StatusLine status(progress, request.watch.deadline, output.quiet);
    return checkpoint(request);
  }();
  if (!output.quiet) print_diagnostics(run.warnings);
  const std::string document = dump(Document{"checkpoint", run.inputs, options_json(request), json(run, request),
                                             clock.seconds(), threads_for(request.evaluate.threads)});
  if (!command.out.empty()) {
    make_folder(command.out + "/plans");
    remove_numbered(command.out + "/plans", ".yaml");  // of an earlier front
    for (const std::uint32_t i : run.found.front)
      write_file(fmt::format("{}/plans/{}.yaml", command.out, i), plan_yaml(run, i));
    write_file(command.out + "/points.csv", csv(run));
    write_file(command.out + "/result.json", document);
  }
  fmt::print("{}", output.json ? document : text(run, request));
  if (!output.json && !command.out.empty() && !run.found.front.empty()) {
    const std::uint32_t point = run.found.front.front();
    std::string flags = batch_flag(run, request, point) + " --on " + request.evaluate.hardware;
    for (const auto& [name, words] : command.flags) flags += words;
    fmt::print("\n{0}/plans has a plan for each point of the front: monet evaluate {1}{2} --plan {0}/plans/{3}.yaml\n",
               command.out, request.evaluate.model.model, flags, point);
  }
  if (interrupt.asked()) return 130;
  return run.found.front.empty() ? 1 : 0;
}

int run_explore(const ExploreCommand& command, const Output& output, const mpi::Launch& launch) {
  const Clock clock;
  const Interrupt interrupt(launch.ranks > 1);
  ExploreRequest request = command.request;
  if (command.query) return launch.rank == 0 ? run_query(command, output) : 0;
  if (command.count) return launch.rank == 0 ? run_count(request, output, clock) : 0;
  std::optional<mpi::Ranks> ranks;
  ExploreRun run;
  std::optional<mpi::Crew> crew;  // goes before what it works on, and tells the other ranks, whatever happens
  std::size_t rank_count = 1;
  if (launch.ranks > 1) {
    ranks.emplace(launch);
    request.evaluate.threads = mpi::threads_of(*ranks, request.evaluate.threads);
    const mpi::Link link = ranks->link();
    rank_count = link.ranks;
    if (link.rank > 0) {
      mpi::serve_explore(*ranks, request);
      return 0;
    }
    crew.emplace(link);
  }
  Progress progress;
  request.watch = {.deadline = Deadline(request.seconds, &interrupt.asked()), .progress = &progress};
  if (!command.out.empty()) {
    make_folder(command.out);
    request.store = command.out + "/points.sqlite";
  }
  {
    const StatusLine status(progress, request.watch.deadline, output.quiet);
    run = crew ? mpi::explore_by(*crew, request) : explore(request, explore_problem(request));
  }
  if (!output.quiet) print_diagnostics(run.problem.warnings);
  const std::string document =
      dump(Document{"explore", run.problem.inputs, options_json(request), json(run, request), clock.seconds(),
                    threads_for(request.evaluate.threads), rank_count, effort_json(run)});
  if (!command.out.empty()) write_explored(run, request, command.out, document);
  fmt::print("{}", output.json ? document : text(run, request));
  const auto front = std::find_if(run.found.fronts.begin(), run.found.fronts.end(),
                                  [](const std::vector<std::uint32_t>& f) { return !f.empty(); });
  const bool is_any = front != run.found.fronts.end();
  if (!output.json && is_any)
    fmt::print("{}", alone_text(run, request, static_cast<std::size_t>(front - run.found.fronts.begin()), command));
  std::fflush(stdout);  // who ends a job does not wait for long
  if (crew) mpi::end_explore(*crew, request, run);
  if (interrupt.asked()) return 130;
  return is_any ? 0 : 1;
}

}  // namespace monet::cli
