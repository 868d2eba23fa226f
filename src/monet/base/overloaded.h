#pragma once

namespace monet {

// std::visit with one lambda per alternative: a missing alternative does not compile.
template <class... Ts>
struct overloaded : Ts... {
  using Ts::operator()...;
};
template <class... Ts>
overloaded(Ts...) -> overloaded<Ts...>;

}  // namespace monet
