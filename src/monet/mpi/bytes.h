#pragma once
#include <array>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "monet/base/assert.h"
#include "monet/search/exploration.h"

namespace monet::mpi {

// Values as bytes and back. Ranks are of one architecture: numbers go as they are.

// Members of a struct in the order in which they go; whoever sends one says them.
template <class T>
constexpr std::tuple kMembers{};

class Packer {
 public:
  std::string bytes{};

  template <class T>
  void put(const T& value) {
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>)
      bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
    else
      std::apply([&](auto... member) { (put(value.*member), ...); }, kMembers<T>);
  }
  void put(const std::string& text) {
    put(text.size());
    bytes += text;
  }
  template <class A, class B>
  void put(const std::pair<A, B>& both) {
    put(both.first);
    put(both.second);
  }
  template <class T>
  void put(const std::vector<T>& list) {
    put(list.size());
    for (const T& item : list) put(item);
  }
  template <class T>
  void put(const std::optional<T>& value) {
    put(value.has_value());
    if (value) put(*value);
  }
  template <class T, std::size_t size>
  void put(const std::array<T, size>& list) {
    for (const T& item : list) put(item);
  }
  void put(const search::ChipFigures& figures) {
    put(figures.reason);
    put(search::numbers_of(figures));
  }
};

class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : bytes_(bytes) {}

  bool is_empty() const { return bytes_.empty(); }

  template <class T>
  void get(T& value) {
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>)
      std::memcpy(&value, next(sizeof value).data(), sizeof value);
    else
      std::apply([&](auto... member) { (get(value.*member), ...); }, kMembers<T>);
  }
  void get(std::string& text) { text = next(get<std::size_t>()); }
  template <class A, class B>
  void get(std::pair<A, B>& both) {
    get(both.first);
    get(both.second);
  }
  template <class T>
  void get(std::vector<T>& list) {
    for (std::size_t left = get<std::size_t>(); left > 0; --left) get(list.emplace_back());
  }
  template <class T>
  void get(std::optional<T>& value) {
    if (get<bool>()) get(value.emplace());
  }
  template <class T, std::size_t size>
  void get(std::array<T, size>& list) {
    for (T& item : list) get(item);
  }
  void get(search::ChipFigures& figures) {
    auto reason = get<std::string>();
    figures = search::figures_of(std::move(reason), get<std::vector<double>>());
  }
  template <class T>
  T get() {
    T value{};
    get(value);
    return value;
  }

 private:
  std::string_view next(std::size_t size) {
    MONET_ASSERT(size <= bytes_.size(), "a message is whole");
    const std::string_view out = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return out;
  }
  std::string_view bytes_;
};

}  // namespace monet::mpi
