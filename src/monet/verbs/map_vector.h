#pragma once
#include <string>

#include "monet/base/json.h"
#include "monet/verbs/map.h"

namespace monet {

// Element-wise work on a core: one node as a screen of text, or as a row in the list of a model's nodes.
std::string vector_text(const MapRun& run, const MappedVector& v);
std::string vector_list(const MapRun& run);
Json vector_json(const MapRun& run, const MappedVector& v);

}  // namespace monet
