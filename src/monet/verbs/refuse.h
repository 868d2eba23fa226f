#pragma once
#include <string>
#include <utility>

#include "monet/base/diagnostic.h"

namespace monet {

// What was asked cannot be done: `where` is the flag or argument that asks for it.
[[noreturn]] inline void refuse(std::string where, std::string message, std::string hint = "") {
  throw InputError(Diagnostic{.where = std::move(where), .message = std::move(message), .hint = std::move(hint)});
}

}  // namespace monet
