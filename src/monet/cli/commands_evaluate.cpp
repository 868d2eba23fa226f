#include "monet/cli/commands_evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "monet/base/file.h"
#include "monet/base/parallel.h"
#include "monet/cli/clock.h"
#include "monet/cli/interrupt.h"
#include "monet/cli/status_line.h"
#include "monet/report/trace.h"
#include "monet/verbs/demo.h"
#include "monet/verbs/evaluate_stream.h"

namespace monet::cli {
namespace {

// "trace.json" to "trace_inference.json".
std::string with_suffix(const std::string& path, const std::string& suffix) {
  const std::filesystem::path p(path);
  return (p.parent_path() / (p.stem().string() + "_" + suffix + p.extension().string())).string();
}

int run_evaluate_stream(const EvaluateCommand& command, const Output& output) {
  const Clock clock;
  if (!command.trace.empty())
    throw InputError(Diagnostic{
        .where = "--trace", .message = "there is no trace of Stream's schedules", .hint = "--json lists the layers"});
  const StreamEvaluation run = evaluate_stream(command.request);
  if (!output.quiet) print_diagnostics(run.warnings);
  const std::string document =
      dump(Document{"evaluate", run.inputs, stream_options_json(command.request), json(run), clock.seconds()});
  if (!command.out.empty()) {
    make_folder(command.out);
    write_file(command.out + "/result.json", document);
  }
  fmt::print("{}", output.json ? document : text(run, command.request));
  return run.is_feasible() ? 0 : 1;
}

std::string document_of(const EvaluateRun& run, const EvaluateRequest& request, const Clock& clock) {
  return dump(Document{"evaluate", run.inputs, options_json(request), json(run), clock.seconds(),
                       threads_for(request.threads)});
}

void write_run(const std::string& folder, const EvaluateRun& run, const EvaluateRequest& request,
               const std::string& document) {
  make_folder(folder);
  for (const Evaluated& mode : run.modes) {
    const std::string suffix = run.modes.size() > 1 ? "_" + mode.mode : "";
    write_file(folder + "/plan" + suffix + ".yaml", plan_yaml(run, mode));
    if (mode.is_feasible()) write_file(folder + "/report" + suffix + ".html", page(run, mode, request));
  }
  write_file(folder + "/result.json", document);
}

}  // namespace

int run_evaluate(const EvaluateCommand& command, const Output& output) {
  if (!command.quirks.empty() && !parse_schedule_quirks(command.quirks).empty())
    return run_evaluate_stream(command, output);
  const Clock clock;
  const EvaluateRun run = evaluate(command.request);
  if (!output.quiet) print_diagnostics(run.warnings);
  const std::string document = document_of(run, command.request, clock);
  if (!command.out.empty()) write_run(command.out, run, command.request, document);
  if (!command.trace.empty())
    for (const Evaluated& mode : run.modes) {
      if (!mode.is_feasible()) continue;
      const Trace trace = trace_json(mode.graph, run.chip, mode.result());
      write_file(run.modes.size() > 1 ? with_suffix(command.trace, mode.mode) : command.trace, trace.json);
      if (!output.quiet && !trace.merged.empty()) fmt::print(stderr, "monet: {}: {}\n", command.trace, trace.merged);
    }
  fmt::print("{}", output.json ? document : text(run, command.request));
  return run.is_feasible() ? 0 : 1;
}

int run_sweep(const SweepCommand& command, const Output& output) {
  const Clock clock;
  const Interrupt interrupt;
  Progress progress;
  SweepRequest request = command.request;
  request.watch = {.deadline = Deadline(std::nullopt, &interrupt.asked()), .progress = &progress};
  const Sweep result = [&] {
    const StatusLine status(progress, request.watch.deadline, output.quiet);
    return sweep(request);
  }();
  if (!output.quiet) print_diagnostics(result.warnings);
  const std::string document =
      dump(Document{"sweep", result.inputs, options_json(command.request.base).set("vary", Json(command.request.vary)),
                    json(result), clock.seconds(), threads_for(command.request.base.threads)});
  if (!command.out.empty()) {
    make_folder(command.out);
    write_file(command.out + "/points.csv", csv(result));
    write_file(command.out + "/result.json", document);
  }
  fmt::print("{}", output.json ? document : text(result, command.request));
  if (!output.quiet && result.done < result.size)
    fmt::print(stderr, "monet: interrupted: {} of {} points are there\n", result.done, result.size);
  if (interrupt.asked()) return 130;
  const bool any =
      std::any_of(result.points.begin(), result.points.end(), [](const SweepPoint& p) { return p.is_feasible; });
  return any ? 0 : 1;
}

int run_compare(const std::string& first, const std::string& second, const Output& output) {
  const Clock clock;
  const RunComparison result = compare_runs(first, second);
  if (output.json)
    fmt::print("{}", dump(Document{"compare", result.inputs, Json::object().set("first", first).set("second", second),
                                   json(result), clock.seconds()}));
  else
    fmt::print("{}", text(result));
  return 0;
}

int run_verify_schedule(const VerifyScheduleRequest& request, const Output& output) {
  const Clock clock;
  const VerifiedSchedule verified = verify_schedule(request);
  if (!output.quiet) print_diagnostics(verified.run.warnings);
  if (output.json)
    fmt::print("{}",
               dump(Document{"verify", verified.run.inputs, options_json(request.evaluate).set("seed", request.seed),
                             json(verified), clock.seconds(), threads_for(request.evaluate.threads)}));
  else
    fmt::print("{}", text(verified, request));
  return verified.agrees ? 0 : 1;
}

int run_explain_run(const ExplainRunRequest& request, const Output& output) {
  const Clock clock;
  const RunExplanation x = explain_run(request);
  if (!output.quiet) print_diagnostics(x.run.warnings);
  if (output.json)
    fmt::print("{}",
               dump(Document{"explain", x.run.inputs, Json::object().set("run", request.run).set("what", request.what),
                             json(x), clock.seconds()}));
  else
    fmt::print("{}", text(x));
  return x.run.modes[x.mode].is_feasible() ? 0 : 1;
}

int run_demo(const std::string& out, const Output& output) {
  const Clock clock;
  const Demo shown = demo();
  fmt::print("{}\n", text(shown));
  const DemoRow& first = shown.rows.front();
  write_run(out, first.run, first.request, document_of(first.run, first.request, clock));
  // Small ones of the same kind, on numbers: the gradients, and the schedule.
  bool is_right = true;
  const auto prove = [&](const std::string& model, const std::string& chip) {
    VerifyRequest gradients;
    gradients.model.model = model;
    gradients.model.batch = 2;
    gradients.samples = 1;
    is_right = run_verify(gradients, {.json = false, .quiet = output.quiet}) == 0 && is_right;
    fmt::print("\n");
    VerifyScheduleRequest schedule;
    schedule.evaluate.model = gradients.model;
    schedule.evaluate.hardware = chip;
    is_right = run_verify_schedule(schedule, {.json = false, .quiet = true}) == 0 && is_right;
    fmt::print("\n");
  };
  prove("resnet18:image=32,classes=10,width=16", "edge_tpu_hda");
  prove("gpt2:layers=2,width=32,heads=4,vocab=100,seq=16", "fusemax");
  fmt::print(
      "the first one's memory over time and every tile: {}/report.html; why it takes so long: monet explain {} "
      "latency\n",
      out, out);
  return is_right ? 0 : 2;
}

}  // namespace monet::cli
