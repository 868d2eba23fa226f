#pragma once
#include <string>
#include <variant>
#include <vector>

#include "monet/verbs/validate.h"

namespace monet {

// Energies are sums: theirs may have been made in another order.
constexpr double kEnergyTolerance = 1e-9;

// Collects the comparisons of one row.
class Comparison {
 public:
  explicit Comparison(std::string id) { row_.id = std::move(id); }
  void compare(const std::string& figure, double ours, double theirs, double tolerance = 0);
  // A figure that one of the two does not have.
  void differ(const std::string& figure, std::variant<double, std::string> ours,
              std::variant<double, std::string> theirs);
  // The row; `shown` is the figure it shows if nothing is off.
  ValidationRow finish(const std::string& shown) const;

 private:
  struct Entry {
    std::string figure;
    double ours, theirs, error;
  };
  ValidationRow row_{.matches = true};
  std::vector<Entry> entries_;
  bool differs_ = false;
};

}  // namespace monet
