#pragma once
#include <cstddef>
#include <string>

namespace monet {

// What a gzip file holds; anything else is given back as it is. InputError if it is damaged or holds more than
// `most_bytes`. `path` is only named.
std::string unpacked(std::string bytes, const std::string& path, std::size_t most_bytes = std::size_t{1} << 30);

}  // namespace monet
