#pragma once
#include <string>
#include <vector>

#include "monet/base/diagnostic.h"
#include "monet/hardware/hardware.h"

namespace monet::hardware {

// What must hold of a chip, whatever file it came from. A Hardware without errors here is valid.

struct Fault {
  std::string path{};  // "cores[0].memories[2].ports[1]": readers find the line of the file by it
  std::string message{};
  std::string hint{};
  Severity severity = Severity::Error;
  bool operator==(const Fault&) const = default;
};

std::vector<Fault> examine(const Hardware& hardware);

// Paths of the parts of a chip, as faults name them.
std::string core_path(std::size_t core);
std::string memory_path(std::size_t core, std::size_t memory);
std::string port_path(std::size_t core, std::size_t memory, std::size_t port);
std::string link_path(std::size_t link);

// Largest values a description may have: products of them stay within 64 bits.
inline constexpr std::int64_t kMostBits = std::int64_t{1} << 60;
inline constexpr std::int64_t kMostBitsPerCycle = std::int64_t{1} << 40;
inline constexpr std::int64_t kMostLanes = std::int64_t{1} << 40;
inline constexpr double kMostFigure = 1e18;
inline constexpr std::size_t kMostCores = 4096;
inline constexpr std::size_t kMostLinks = 100'000;

}  // namespace monet::hardware
