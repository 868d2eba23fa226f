#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

// What the operator families of op.h are made of.

namespace monet {

template <class Class, class Member>
struct Field {
  std::string_view name;
  Member Class::*member;
};
template <class Class, class Member>
Field(std::string_view, Member Class::*) -> Field<Class, Member>;

using Ints = std::vector<std::int64_t>;

// Set where an operator makes a part of what a larger one makes and must know where the part stands, because its
// numbers depend on it (cut.h makes these). Empty: the operator is whole. The families say what each list means.
struct Part {
  Ints whole, origin, first, count;
  bool operator==(const Part&) const = default;
};

}  // namespace monet
