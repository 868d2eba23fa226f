#pragma once
#include <span>
#include <string>
#include <string_view>

namespace monet {

// The candidate closest to `name` by edit distance, or "" when none is close enough to be a likely slip.
std::string nearest(std::string_view name, std::span<const std::string> candidates);

// "did you mean 'x'?" for the nearest candidate, or `otherwise`.
std::string did_you_mean(std::string_view name, std::span<const std::string> candidates, std::string otherwise = "");

}  // namespace monet
