#include "monet/report/document.h"

#include <unistd.h>

#include <array>

namespace monet {
namespace {

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

}  // namespace

std::string version() { return MONET_VERSION; }

std::string dump(const Document& d) {
  Json inputs = Json::object();
  for (const DocumentInput& i : d.inputs)
    inputs.set(i.name, Json::object().set("path", i.path).set("sha256", i.sha256));
  Json run = Json::object();
  run.set("threads", 1).set("ranks", 1).set("elapsed_s", d.elapsed_s).set("host", host_name());
  Json document = Json::object();
  document.set("monet", Json::object().set("version", version()).set("command", d.verb))
      .set("inputs", std::move(inputs))
      .set("options", d.options)
      .set("result", d.result)
      .set("run", std::move(run));
  return document.dump(2) + "\n";
}

}  // namespace monet
