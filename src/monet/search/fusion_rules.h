#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "monet/base/config.h"

namespace monet::search {

// Which groups of nodes may be fused. Every rule is a parameter; docs/fuse.md has the form of rule files.

// At most so many nodes of these kinds; `with`: in groups only that have one of those, too. A kind is the name of an
// operator (conv, conv_data_gradient, matmul, …) or of a class of work (contraction, elementwise, reduction, movement,
// …).
struct KindLimit {
  std::vector<std::string> of{};
  std::uint32_t most = 1;
  std::vector<std::string> with{};
  bool operator==(const KindLimit&) const = default;
};

struct FusionRules {
  std::string name{};
  std::uint32_t limit = 6;  // nodes in a group
  std::vector<KindLimit> kinds{};
  bool rows_divide = true;     // of any two nodes, the rows of one are a multiple of the other's
  bool weights_fit = true;     // those of all nodes that a core may run, in its memory for weights
  bool boundary_fits = false;  // a row or sample of everything that enters or leaves the group, in the memory of a core
  std::uint32_t most_outputs = 1;        // nodes whose results are read outside; 0: any number
  std::uint32_t most_producers = 0;      // nodes outside whose results are read; 0: any number
  bool statistics_are_barriers = false;  // who needs a sum over the whole batch is not fused with who makes it
  bool movement_is_free = true;          // transposes, pads and gathers are no nodes, but go with their first reader
  bool updates_are_one = false;          // the element-wise steps of a weight's update are one node
  bool operator==(const FusionRules&) const = default;
};

// The solver of MONET, in the version whose published groups its rules allow; and ours, which know what MONET's do not.
FusionRules monet_rules();
FusionRules default_rules();

// A rule file. Throws InputError.
FusionRules parse_rules(const std::string& text, const std::string& file);
bool looks_like_rules(const config::Value& root);

}  // namespace monet::search
