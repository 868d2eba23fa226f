#include "monet/cli/commands_cost.h"

#include <fmt/format.h>

#include "monet/base/file.h"
#include "monet/base/parallel.h"
#include "monet/cli/clock.h"
#include "monet/cli/interrupt.h"
#include "monet/cli/status_line.h"

namespace monet::cli {
namespace {

void print_stopped(const MapRun& run, const MapRequest& request) {
  std::size_t found = 0, missing = 0;
  for (const MappedLayer& m : run.layers)
    if (m.is_stopped) ++(m.mapped ? found : missing);
  const std::string why =
      run.stopped == Stop::Asked ? "interrupted" : fmt::format("stopped by --time {:g}", request.time_s.value_or(0));
  std::string what = missing > 0 ? "no mapping was found yet" : "the best mapping found so far is given";
  if (run.layers.size() > 1)
    what = fmt::format("of {} layers, {} with the best mapping found so far, {} with none yet", run.layers.size(),
                       found, missing);
  fmt::print(stderr, "monet: {}: {}\n", why, what);
}

Json names(const std::vector<std::string>& list) { return Json(list); }

}  // namespace

int run_map(const MapCommand& command, const Output& output) {
  const Clock clock;
  const Interrupt interrupt;
  const Deadline deadline(std::nullopt, &interrupt.asked());
  Progress progress;
  MapObserver observer{.watch = {.deadline = deadline, .progress = &progress}};
  if (!output.quiet) observer.say = [](const std::string& text) { fmt::print(stderr, "monet: {}\n", text); };
  const MapRun run = [&] {
    const Deadline shown = command.request.time_s ? deadline.within(*command.request.time_s) : deadline;
    const StatusLine status(progress, shown, output.quiet);
    return map_layers(command.request, observer);
  }();
  if (!output.quiet) print_diagnostics(run.warnings);
  const std::string document = dump(Document{"map", run.inputs, options_json(command.request), json(run),
                                             clock.seconds(), threads_for(command.request.threads)});
  if (!command.out.empty()) {
    make_folder(command.out);
    write_file(command.out + "/result.json", document);
  }
  fmt::print("{}", output.json ? document : text(run));
  if (!output.quiet && run.stopped != Stop::No) print_stopped(run, command.request);
  if (run.stopped == Stop::Asked) return 130;
  return run.is_feasible() ? 0 : 1;
}

int run_explain(const ExplainRequest& request, const Output& output) {
  const Clock clock;
  const Explanation explanation = explain(request);
  if (!output.quiet) print_diagnostics(explanation.map.warnings);
  Json options = Json::object().set("run", request.run).set("what", request.what);
  if (!request.map.hardware.empty()) options.set("map", options_json(request.map));
  if (output.json)
    fmt::print("{}", dump(Document{"explain", explanation.map.inputs, std::move(options), json(explanation),
                                   clock.seconds()}));
  else
    fmt::print("{}", text(explanation));
  return explanation.map.layers[explanation.layer].mapped ? 0 : 1;
}

int run_validate(const ValidateRequest& request, const Output& output) {
  const Clock clock;
  const ValidateResult result = validate(request);
  if (output.json)
    fmt::print("{}", dump(Document{"validate", result.inputs,
                                   Json::object()
                                       .set("suite", request.suite)
                                       .set("cases", names(request.cases))
                                       .set("accelerators", names(request.accelerators))
                                       .set("files", names(request.folders)),
                                   json(result), clock.seconds()}));
  else
    fmt::print("{}", text(result));
  return result.matches ? 0 : 1;
}

}  // namespace monet::cli
