#pragma once
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "monet/base/diagnostic.h"
#include "monet/search/exploration.h"

namespace monet::mpi {

// What ranks say to one another, as bytes.

// An exception that is to be thrown at another rank.
struct Failure {
  enum class Kind : std::uint8_t { Input, Memory, Other };
  Kind kind = Kind::Other;
  std::vector<Diagnostic> diagnostics{};  // Input
  std::string text{};                     // Other
  bool operator==(const Failure&) const = default;
};
Failure failure_of(const std::exception_ptr& error);
[[noreturn]] void raise(const Failure& failure);

// What a rank works on: results can be put together only where all ranks have the same.
struct Question {
  std::string digest{};                                       // of everything that results depend on
  std::vector<std::pair<std::string, std::string>> inputs{};  // files: path, digest
  bool operator==(const Question&) const = default;
};

// From the first rank to the others.
struct Assignment {
  std::uint64_t id = 0;  // never the same twice
  search::Task task{};
  bool operator==(const Assignment&) const = default;
};
struct Halt {  // nothing is to be begun any more
  bool operator==(const Halt&) const = default;
};
struct Leave {
  bool operator==(const Leave&) const = default;
};

// From the others to the first.
struct Hello {
  std::string host{};
  std::uint64_t threads = 1;
  Question question{};
  std::optional<Failure> failure{};  // it cannot work
  bool operator==(const Hello&) const = default;
};
struct Done {
  std::uint64_t id = 0;
  search::TaskResult result{};  // none: it was not begun
  std::optional<Failure> failure{};
  double busy_s = 0;
  bool operator==(const Done&) const = default;
};
struct Bye {  // the last that is heard of a rank
  bool operator==(const Bye&) const = default;
};

// Either way: what was found out about mappings, so that no other rank searches them (mappings.h).
struct News {
  std::string mappings{};
  bool operator==(const News&) const = default;
};

using Message = std::variant<Assignment, Halt, Leave, Hello, Done, Bye, News>;
std::string pack(const Message& message);
Message unpack(std::string_view bytes);

}  // namespace monet::mpi
