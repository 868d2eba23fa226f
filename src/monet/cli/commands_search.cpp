#include "monet/cli/commands_search.h"

#include <fmt/format.h>

#include "monet/base/file.h"
#include "monet/cli/clock.h"
#include "monet/cli/interrupt.h"
#include "monet/cli/status_line.h"

namespace monet::cli {

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
  const std::string document = dump(Document{"fuse", run.inputs, options_json(request), json(run), clock.seconds()});
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
  const std::string document =
      dump(Document{"checkpoint", run.inputs, options_json(request), json(run, request), clock.seconds()});
  if (!command.out.empty()) {
    make_folder(command.out + "/plans");
    for (const std::uint32_t i : run.found.front)
      write_file(fmt::format("{}/plans/{}.yaml", command.out, i), plan_yaml(run, i));
    write_file(command.out + "/points.csv", csv(run));
    write_file(command.out + "/result.json", document);
  }
  fmt::print("{}", output.json ? document : text(run, request));
  if (!output.json && !command.out.empty() && !run.found.front.empty())
    fmt::print(
        "\n{0}/plans has a plan for each point of the front: monet evaluate {1}{4} --on {2} --plan "
        "{0}/plans/{3}.yaml\n",
        command.out, request.evaluate.model.model, request.evaluate.hardware, run.found.front.front(),
        batch_flag(run, request, run.found.front.front()));
  if (interrupt.asked()) return 130;
  return run.found.front.empty() ? 1 : 0;
}

int run_explore(const ExploreCommand& command, const Output& output) {
  const Clock clock;
  const Interrupt interrupt;
  Progress progress;
  ExploreRequest request = command.request;
  request.watch = {.deadline = Deadline(request.seconds, &interrupt.asked()), .progress = &progress};
  if (command.count) {
    const ExploreProblem problem = explore_problem(request);
    const SpaceCount count = count_space(problem, request);
    fmt::print("{}", output.json ? dump(Document{"explore", problem.inputs, options_json(request), json(count),
                                                 clock.seconds()})
                                 : text(count, problem));
    return count.valid > 0 ? 0 : 1;
  }
  if (!command.out.empty()) {
    make_folder(command.out);
    request.store = command.out + "/points.sqlite";
  }
  const ExploreRun run = [&] {
    const StatusLine status(progress, request.watch.deadline, output.quiet);
    return explore(request, explore_problem(request));
  }();
  if (!output.quiet) print_diagnostics(run.problem.warnings);
  const std::string document =
      dump(Document{"explore", run.problem.inputs, options_json(request), json(run, request), clock.seconds()});
  bool is_any = false;
  for (const std::vector<std::uint32_t>& front : run.found.fronts) is_any = is_any || !front.empty();
  if (!command.out.empty()) {
    make_folder(command.out + "/chips");
    for (const std::vector<std::uint32_t>& front : run.found.fronts)
      for (const std::uint32_t i : front)
        write_file(fmt::format("{}/chips/{}.yaml", command.out, i), chip_yaml(run, run.found.points[i].candidate));
    write_file(command.out + "/points.csv", csv(run));
    write_file(command.out + "/result.json", document);
  }
  fmt::print("{}", output.json ? document : text(run, request));
  if (!output.json && is_any) {
    std::size_t w = 0;
    while (run.found.fronts[w].empty()) ++w;
    fmt::print("\none of them alone: monet evaluate {} --on {}{} --mode {}{}\n", request.models[0],
               run.problem.family->space().chip, flags_of(run, run.found.points[run.found.fronts[w].front()].candidate),
               request.evaluate.mode, request.evaluate.fused_updates ? " --updates fused" : "");
  }
  if (interrupt.asked()) return 130;
  return is_any ? 0 : 1;
}

}  // namespace monet::cli
