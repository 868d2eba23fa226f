#include "monet/report/document.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <optional>

namespace monet {
namespace {

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

}  // namespace

std::string version() { return MONET_VERSION; }

std::string verb_of(const config::Value& root) {
  const std::optional<config::Value> head = root.is_map() ? root.find("monet") : std::nullopt;
  const std::optional<config::Value> command = head && head->is_map() ? head->find("command") : std::nullopt;
  return command && command->is_scalar() ? std::string(command->text()) : "";
}

config::Value document_part(const config::Tree& document, std::string_view verb, std::string_view part) {
  const config::Value root = document.root();
  const std::optional<config::Value> found = root.is_map() ? root.find(part) : std::nullopt;
  if (verb_of(root) == verb && found && found->is_map()) return *found;
  config::Findings findings;
  findings.error(root, fmt::format("not the result of `monet {} --out`", verb));
  findings.throw_if_failed();
  return root;
}

void read_settings(config::Section& options, config::Findings& findings,
                   std::vector<std::pair<std::string, std::string>>& parameters,
                   std::map<std::string, std::int64_t>& dims) {
  if (const std::optional<config::Value> map = options.find("set"); map && map->is_map())
    for (std::size_t i = 0; i < map->size(); ++i)
      if ((*map)[i].is_scalar())
        parameters.emplace_back(std::string(map->key(i).text()), std::string((*map)[i].text()));
  if (const std::optional<config::Value> map = options.find("dims"); map && map->is_map())
    for (std::size_t i = 0; i < map->size(); ++i) {
      const std::string name(map->key(i).text());
      if (!(*map)[i].is_scalar()) continue;
      if (const auto size = config::read_integer((*map)[i], name, {.least = 1}, config::Dialect::Strict, findings))
        dims[name] = *size;
    }
}

std::string dump(const Document& d) {
  Json inputs = Json::object();
  for (const DocumentInput& i : d.inputs)
    inputs.set(i.name, Json::object().set("path", i.path).set("sha256", i.sha256));
  Json run = Json::object();
  run.set("threads", d.threads).set("ranks", d.ranks).set("elapsed_s", d.elapsed_s).set("host", host_name());
  for (const auto& [name, value] : d.more) run.set(name, value);
  Json document = Json::object();
  document.set("monet", Json::object().set("version", version()).set("command", d.verb))
      .set("inputs", std::move(inputs))
      .set("options", d.options)
      .set("result", d.result)
      .set("run", std::move(run));
  return document.dump(2) + "\n";
}

}  // namespace monet
