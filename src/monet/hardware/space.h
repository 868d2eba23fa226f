#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "monet/base/config_expression.h"
#include "monet/hardware/budget.h"
#include "monet/hardware/library.h"

namespace monet::hardware {

// A space of chips: the file of one, with variables in it, and what must hold. docs/explore.md has the form of its
// file.

struct Variable {
  // A parameter of the chip's file, the path of a field in it (with dots), or a name that only expressions use.
  std::string name{};
  std::vector<std::string> values{};  // to choose from, as they are written into the file; empty: computed
  std::string computed{};             // text with ${…} of variables above
  bool operator==(const Variable&) const = default;
  bool is_free() const { return !values.empty(); }
};

struct Space {
  std::string name{}, description{}, source{};
  std::string chip{};  // of the library, or a file
  std::vector<Variable> variables{};
  std::vector<config::Condition> constraints{};
  bool operator==(const Space&) const = default;
};

// What constraints may name beside variables.
inline constexpr std::string_view kAreaName = "area_mm2", kTdpName = "tdp_w", kMemoryName = "memory_bytes",
                                  kLanesName = "macs_per_cycle";

// One choice for each free variable, in their order.
using Point = std::vector<std::uint16_t>;

struct LoadedSpace {
  Space space{};
  std::vector<SourceFile> files{};
  // Where each stands in the first of them.
  std::vector<config::Location> variables{}, constraints{};
  config::Location chip{};
};
// Throws InputError. A chip's path is taken relative to the file of the space.
LoadedSpace parse_space(std::string_view text, const std::string& path);
LoadedSpace find_space(const std::string& name_or_path);  // of the library, or a file
bool looks_like_space(const config::Value& root);

std::span<const LibraryFile> space_files();  // data/spaces, in the binary itself; sorted by path
std::vector<std::string> space_names();

// A chip of a space, or why there is none.
struct Member {
  std::optional<Hardware> hardware{};
  ChipBudget budget{};
  std::string reason{};    // the constraint that does not hold, in figures; or what is wrong with the chip
  std::size_t broken = 0;  // of the constraints; as many as there are: the chip itself
};

// The chips of a space. The chip's file is read once.
class Family {
 public:
  // Throws InputError where a variable is nothing of the chip's, or an expression names what there is not.
  explicit Family(LoadedSpace loaded);

  const Space& space() const { return space_; }
  const std::vector<SourceFile>& files() const { return files_; }  // of the space and of its chip
  const std::vector<std::size_t>& free() const { return free_; }   // of the variables
  std::vector<std::uint16_t> choices() const;                      // how many each free variable has
  double size() const;                                             // points in all

  // The free variables' values as written.
  std::vector<std::string> values(const Point& point) const;
  // The point of these values, by name; none if there is no such.
  std::optional<Point> point_of(const std::vector<std::pair<std::string, std::string>>& values) const;

  Member member(const Point& point) const;
  // The same in two steps, between which the chip may be changed: a chip that may break constraints of what it is, then
  // whether it does. Its budget is the caller's to keep true.
  Member made(const Point& point) const;
  void judge(const Point& point, Member& member) const;
  bool has_clock() const { return has_clock_; }        // or may have: else no chip has a figure of power
  bool limits_area() const { return limits_area_; }    // a constraint names it
  bool limits_power() const { return limits_power_; }  // likewise

  // Parameters and fields of the chip's file for a point.
  LoadOptions options(const Point& point) const;

 private:
  // Every variable as text, and those that are numbers as such.
  struct Assigned {
    std::vector<std::string> texts{};
    config::Scope numbers{};
    std::string fault{}, unknown{};  // of an expression without a value
    std::size_t faulty = 0;          // its variable
  };
  Assigned assign(const Point& point) const;
  // Whether the constraints that need the chip, or those that do not, all hold; if not, says which does not.
  // `numbers`: where the first ones are too long to be computed with, the last ones count.
  bool holds(bool with_chip, const std::vector<config::Scope>& numbers, Member& member) const;
  LoadOptions options(const Assigned& assigned) const;
  void check(const LoadedSpace& loaded, const Loaded& chip);
  void check_values(const LoadedSpace& loaded) const;

  Space space_;
  std::vector<SourceFile> files_;
  std::vector<std::size_t> free_;
  std::vector<bool> is_parameter_, is_field_;  // by variable
  std::vector<bool> needs_chip_;               // by constraint
  bool limits_area_ = false, limits_power_ = false, has_clock_ = false;
  std::shared_ptr<const Sources> sources_;  // of the chip
  std::string path_;
};

}  // namespace monet::hardware
