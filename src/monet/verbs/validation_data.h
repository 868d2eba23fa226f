#pragma once
#include <string_view>

namespace monet {

// data/validation/zigzag.json, in the binary itself; made at build time.
std::string_view zigzag_validation_data();

}  // namespace monet
