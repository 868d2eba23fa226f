#include "monet/base/diagnostic.h"

#include <fmt/format.h>

namespace monet {

std::string to_string(const Diagnostic& d) {
  std::string text = d.file;
  if (d.line > 0) text += fmt::format(":{}:{}", d.line, d.column);
  if (!d.where.empty()) text += (text.empty() ? "" : ": ") + d.where;
  if (!text.empty()) text += ": ";
  text += d.severity == Severity::Error ? "error: " : "warning: ";
  text += d.message;
  if (!d.hint.empty()) text += fmt::format(" ({})", d.hint);
  return text;
}

InputError::InputError(std::vector<Diagnostic> diagnostics) : diagnostics_(std::move(diagnostics)) {
  for (const Diagnostic& d : diagnostics_) text_ += (text_.empty() ? "" : "\n") + to_string(d);
}

InputError::InputError(Diagnostic diagnostic) : InputError(std::vector<Diagnostic>{std::move(diagnostic)}) {}

void refuse_file(const std::string& path, std::string message, std::string hint) {
  throw InputError(Diagnostic{.file = path, .message = std::move(message), .hint = std::move(hint)});
}

}  // namespace monet
