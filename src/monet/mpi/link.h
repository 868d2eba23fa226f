#pragma once
#include <cstddef>
#include <functional>
#include <optional>
#include <string>

namespace monet::mpi {

struct Envelope {
  std::size_t from = 0;
  std::string bytes{};
};

// How the ranks of a job reach one another. What one rank sends to another arrives whole and in order. Neither function
// waits; both are called by one thread.
struct Link {
  std::size_t rank = 0, ranks = 1;
  std::function<void(std::size_t to, std::string bytes)> send{};
  std::function<std::optional<Envelope>()> receive{};
};

}  // namespace monet::mpi
