#include "monet/cli/commands_cost.h"

#include <fmt/format.h>

#include <filesystem>

#include "monet/base/file.h"
#include "monet/cli/clock.h"

namespace monet::cli {
namespace {

Json names(const std::vector<std::string>& list) { return Json(list); }

}  // namespace

int run_map(const MapCommand& command, const Output& output) {
  const Clock clock;
  const MapRun run = map_layers(command.request);
  if (!output.quiet) print_diagnostics(run.warnings);
  const std::string document =
      dump(Document{"map", run.inputs, options_json(command.request), json(run), clock.seconds()});
  if (!command.out.empty()) {
    std::error_code error;
    std::filesystem::create_directories(command.out, error);
    if (error)
      throw InputError(Diagnostic{.file = command.out, .message = "cannot make the folder: " + error.message()});
    write_file(command.out + "/result.json", document);
  }
  fmt::print("{}", output.json ? document : text(run));
  return run.is_feasible() ? 0 : 1;
}

int run_explain(const ExplainRequest& request, const Output& output) {
  const Clock clock;
  const Explanation explanation = explain(request);
  if (!output.quiet) print_diagnostics(explanation.map.warnings);
  Json options = Json::object().set("run", request.run).set("what", request.what);
  if (!request.map.hardware.empty()) options.set("map", options_json(request.map));
  if (output.json)
    fmt::print("{}", dump(Document{"explain", explanation.map.inputs, std::move(options),
                                   json(explanation, request.what), clock.seconds()}));
  else
    fmt::print("{}", text(explanation, request.what));
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
