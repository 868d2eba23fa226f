#pragma once
#include <cstdint>
#include <string>

namespace monet::cli {

// What flags say, as numbers. InputError with the flag's name where a text is none of these.

std::int64_t positive(const std::string& flag, const std::string& text);  // a whole number above zero
double above_zero(const std::string& flag, const std::string& text);
double seconds(const std::string& flag, const std::string& text);
double share(const std::string& flag, const std::string& text);      // from 0 to 1
double percent(const std::string& flag, const std::string& text);    // above 0, below 100
double byte_size(const std::string& flag, const std::string& text);  // "13000000", "13MB", "12 MiB"

}  // namespace monet::cli
