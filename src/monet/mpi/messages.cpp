#include "monet/mpi/messages.h"

#include <cstring>
#include <new>
#include <stdexcept>
#include <tuple>
#include <type_traits>

#include "monet/base/assert.h"

namespace monet::mpi {
namespace {

// Members of a struct in the order in which they go.
template <class T>
constexpr std::tuple kMembers{};
template <>
constexpr std::tuple kMembers<Diagnostic>{&Diagnostic::file,    &Diagnostic::line,    &Diagnostic::column,
                                          &Diagnostic::where,   &Diagnostic::message, &Diagnostic::hint,
                                          &Diagnostic::severity};
template <>
constexpr std::tuple kMembers<Failure>{&Failure::kind, &Failure::diagnostics, &Failure::text};
template <>
constexpr std::tuple kMembers<Question>{&Question::digest, &Question::inputs};
template <>
constexpr std::tuple kMembers<search::Task>{&search::Task::candidate, &search::Task::workloads};
template <>
constexpr std::tuple kMembers<Assignment>{&Assignment::id, &Assignment::task};
template <>
constexpr std::tuple kMembers<Hello>{&Hello::host, &Hello::threads, &Hello::question, &Hello::failure};
template <>
constexpr std::tuple kMembers<Done>{&Done::id, &Done::result, &Done::failure};
template <>
constexpr std::tuple kMembers<Bye>{&Bye::mappings};

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

template <std::size_t kind = 0>
Message message_of(std::size_t wanted, Unpacker& from) {
  if constexpr (kind < std::variant_size_v<Message>) {
    if (wanted == kind) return from.get<std::variant_alternative_t<kind, Message>>();
    return message_of<kind + 1>(wanted, from);
  }
  MONET_ASSERT(false, "a message is of a known kind");
  return Halt{};
}

}  // namespace

Failure failure_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const InputError& e) {
    return {.kind = Failure::Kind::Input, .diagnostics = e.diagnostics()};
  } catch (const std::bad_alloc&) {
    return {.kind = Failure::Kind::Memory};
  } catch (const std::exception& e) {
    return {.kind = Failure::Kind::Other, .text = e.what()};
  }
}

void raise(const Failure& failure) {
  switch (failure.kind) {
    case Failure::Kind::Input: throw InputError(failure.diagnostics);
    case Failure::Kind::Memory: throw std::bad_alloc();
    case Failure::Kind::Other: break;
  }
  throw std::runtime_error(failure.text);
}

std::string pack(const Message& message) {
  Packer out;
  out.put(message.index());
  std::visit([&](const auto& m) { out.put(m); }, message);
  return std::move(out.bytes);
}

Message unpack(std::string_view bytes) {
  Unpacker in(bytes);
  const auto kind = in.get<std::size_t>();
  Message message = message_of(kind, in);
  MONET_ASSERT(in.is_empty(), "a message is read to its end");
  return message;
}

}  // namespace monet::mpi
