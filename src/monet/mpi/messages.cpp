#include "monet/mpi/messages.h"

#include <new>
#include <stdexcept>

#include "monet/mpi/bytes.h"

namespace monet::mpi {

template <>
constexpr std::tuple kMembers<Diagnostic>{&Diagnostic::file,    &Diagnostic::line,    &Diagnostic::column,
                                          &Diagnostic::where,   &Diagnostic::message, &Diagnostic::hint,
                                          &Diagnostic::severity};
template <>
constexpr std::tuple kMembers<Failure>{&Failure::kind, &Failure::diagnostics, &Failure::text};
template <>
constexpr std::tuple kMembers<Question>{&Question::digest, &Question::inputs};
template <>
constexpr std::tuple kMembers<search::ChangedConstant>{&search::ChangedConstant::name,
                                                       &search::ChangedConstant::factor};
template <>
constexpr std::tuple kMembers<search::Task>{&search::Task::candidate, &search::Task::workloads, &search::Task::changed};
template <>
constexpr std::tuple kMembers<Assignment>{&Assignment::id, &Assignment::task};
template <>
constexpr std::tuple kMembers<Hello>{&Hello::host, &Hello::threads, &Hello::question, &Hello::failure};
template <>
constexpr std::tuple kMembers<Done>{&Done::id, &Done::result, &Done::failure, &Done::busy_s};
template <>
constexpr std::tuple kMembers<News>{&News::mappings};

namespace {

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
