#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace monet::cost {

// For the quirk set_order: which element of a Python set comes first.

enum class PythonClass { LayerDim, OADimension };  // whose names the set holds

std::uint64_t python_hash(PythonClass kind, std::string_view name);

// Indices of `names` in the order in which a set iterates to which they were added one after the other.
std::vector<std::size_t> python_set_order(PythonClass kind, const std::vector<std::string>& names);

}  // namespace monet::cost
