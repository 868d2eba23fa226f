#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "monet/base/config.h"

namespace monet {

// What a file of cases may say or leave out.

bool has(const config::Value& root, std::string_view key);
// A number as Python's YAML reads it; none: there is no value, or another kind of one.
std::optional<double> number_of(const std::optional<config::Value>& value);
std::string text_of(const config::Value& map, std::string_view key, std::string otherwise = "");
// The name of a file without its folder and its last ending.
std::string stem_of(const std::string& path);

}  // namespace monet
