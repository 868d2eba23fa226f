#include "monet/cli/given_flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "monet/base/diagnostic.h"
#include "monet/base/shell.h"

namespace monet::cli {

std::vector<const CLI::Option*> options_but(const CLI::App& app, const std::vector<std::string>& others) {
  std::vector<const CLI::Option*> out;
  for (const CLI::Option* option : app.get_options()) {
    const std::vector<std::string>& names = option->get_lnames();
    if (names.empty() || names[0] == "help") continue;
    if (std::find(others.begin(), others.end(), names[0]) == others.end()) out.push_back(option);
  }
  return out;
}

std::vector<std::pair<std::string, std::string>> given(const std::vector<const CLI::Option*>& options) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const CLI::Option* option : options) {
    if (option->count() == 0) continue;
    const std::string name = "--" + option->get_lnames()[0];
    std::string words;
    if (option->get_expected_max() == 0)
      words = " " + name;
    else
      for (const std::string& value : option->results()) words += fmt::format(" {} {}", name, shell_word(value));
    out.emplace_back(name, words);
  }
  return out;
}

void refuse_empty(CLI::App& app, const std::string& flag) {
  for (CLI::App* verb : app.get_subcommands([](CLI::App*) { return true; }))
    if (CLI::Option* option = verb->get_option_no_throw(flag))
      option->each([flag](const std::string& value) {
        if (value.empty())
          throw InputError(Diagnostic{
              .where = flag, .message = "it names no folder", .hint = "a variable of the shell may be empty"});
      });
}

void refuse_given(const CLI::App& app, const std::vector<std::string>& flags, const std::string& message,
                  const std::string& hint) {
  std::vector<Diagnostic> found;
  for (const std::string& flag : flags)
    if (app.count(flag) > 0) found.push_back({.where = flag, .message = message, .hint = hint});
  if (!found.empty()) throw InputError(std::move(found));
}

}  // namespace monet::cli
