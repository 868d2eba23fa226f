#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "monet/base/config.h"
#include "monet/base/config_section.h"
#include "monet/base/json.h"

namespace monet {

struct DocumentInput {
  std::string name, path, sha256;
};

// The frame every result is written in. All but `run` is the same for the same inputs and options.
struct Document {
  std::string verb;
  std::vector<DocumentInput> inputs;
  Json options = Json::object();
  Json result = Json::object();
  double elapsed_s = 0;
  std::size_t threads = 1;  // of a rank
  std::size_t ranks = 1;
  std::vector<std::pair<std::string, Json>> more{};  // that the verb says of the run
};
std::string dump(const Document& document);

// ---- Documents read again ----

// The verb that wrote it; empty if this is no such document.
std::string verb_of(const config::Value& root);

// A part of a document of `verb`: "options", "result". Throws InputError if it is none, or another verb's.
config::Value document_part(const config::Tree& document, std::string_view verb, std::string_view part);

// Options that most verbs have: "set", parameters of the chip, and "dims", sizes of the model.
void read_settings(config::Section& options, config::Findings& findings,
                   std::vector<std::pair<std::string, std::string>>& parameters,
                   std::map<std::string, std::int64_t>& dims);

// The version of the tool.
std::string version();

}  // namespace monet
