#pragma once
#include <stdexcept>
#include <string>
#include <vector>

#include "monet/base/diagnostic.h"

namespace monet {

// A fault of the node or tensor at hand; whoever knows its place makes it a Diagnostic.
class ModelError : public std::runtime_error {
 public:
  explicit ModelError(const std::string& message, std::string hint = "")
      : std::runtime_error(message), hint_(std::move(hint)) {}
  const std::string& hint() const { return hint_; }

 private:
  std::string hint_;
};

// What is found wrong in one file.
struct Findings {
  std::string file;
  std::vector<Diagnostic> errors, warnings;

  void error(std::string where, std::string message, std::string hint = "") {
    errors.push_back(make(std::move(where), std::move(message), std::move(hint), Severity::Error));
  }
  void warn(std::string where, std::string message, std::string hint = "") {
    warnings.push_back(make(std::move(where), std::move(message), std::move(hint), Severity::Warning));
  }
  // A reader of a long list stops at twenty: what follows is mostly echo.
  bool enough() const { return errors.size() >= 20; }
  void throw_if_any() const {
    if (!errors.empty()) throw InputError(errors);
  }

 private:
  Diagnostic make(std::string where, std::string message, std::string hint, Severity severity) const {
    return Diagnostic{.file = file,
                      .line = 0,
                      .column = 0,
                      .where = std::move(where),
                      .message = std::move(message),
                      .hint = std::move(hint),
                      .severity = severity};
  }
};

}  // namespace monet
