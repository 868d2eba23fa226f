#pragma once
#include <string>
#include <vector>

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
};
std::string dump(const Document& document);

// The version of the tool.
std::string version();

}  // namespace monet
