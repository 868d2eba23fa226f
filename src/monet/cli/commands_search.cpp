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

}  // namespace monet::cli
