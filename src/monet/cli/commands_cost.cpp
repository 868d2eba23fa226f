#include "monet/cli/commands_cost.h"

#include <fmt/format.h>

#include <chrono>

namespace monet::cli {
namespace {

class Clock {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

Json names(const std::vector<std::string>& list) { return Json(list); }

}  // namespace

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
