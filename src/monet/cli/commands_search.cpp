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

}  // namespace monet::cli
