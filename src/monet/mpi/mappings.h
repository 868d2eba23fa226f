#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "monet/cost/cached_mapping.h"

namespace monet::mpi {

// Mappings on their way to another rank, which has the same question and so the same keys. Bytes of several lists one
// after the other are the bytes of one list: who passes them on need not know what they are.
std::string pack_mappings(const std::vector<cost::KeyedMapping>& mappings);
std::vector<cost::KeyedMapping> unpack_mappings(std::string_view bytes);

}  // namespace monet::mpi
