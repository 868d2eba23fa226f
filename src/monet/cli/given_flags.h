#pragma once
#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

// What was said on the command line, to be said to another verb.

namespace monet::cli {

// The options that a verb has so far, without some of them.
std::vector<const CLI::Option*> options_but(const CLI::App& app, const std::vector<std::string>& others);

// Those that were given, by name, as a shell takes them: {"--batch", " --batch 8"}.
std::vector<std::pair<std::string, std::string>> given(const std::vector<const CLI::Option*>& options);

// An empty name of a folder, of all verbs that have the flag. Parsing throws InputError then.
void refuse_empty(CLI::App& app, const std::string& flag);

// Those that would have no effect are refused if they were given. Throws InputError.
void refuse_given(const CLI::App& app, const std::vector<std::string>& flags, const std::string& message,
                  const std::string& hint);

}  // namespace monet::cli
