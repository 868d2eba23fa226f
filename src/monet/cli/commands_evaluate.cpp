#include "monet/cli/commands_evaluate.h"

#include <fmt/format.h>

#include <filesystem>

#include "monet/base/file.h"
#include "monet/cli/clock.h"

namespace monet::cli {
namespace {

void make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) throw InputError(Diagnostic{.file = path, .message = "cannot make the folder: " + error.message()});
}

}  // namespace

int run_evaluate(const EvaluateCommand& command, const Output& output) {
  const Clock clock;
  const EvaluateRun run = evaluate(command.request);
  if (!output.quiet) print_diagnostics(run.warnings);
  const std::string document =
      dump(Document{"evaluate", run.inputs, options_json(command.request, run), json(run), clock.seconds()});
  if (!command.out.empty()) {
    make_folder(command.out);
    for (const Evaluated& mode : run.modes)
      write_file(command.out + (run.modes.size() > 1 ? "/plan_" + mode.mode + ".yaml" : "/plan.yaml"),
                 plan_yaml(run, mode));
    write_file(command.out + "/result.json", document);
  }
  fmt::print("{}", output.json ? document : text(run, command.request));
  return run.is_feasible() ? 0 : 1;
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

}  // namespace monet::cli
