#pragma once
#include <exception>
#include <string>
#include <vector>

namespace monet {

enum class Severity { Error, Warning };

// One fault of the user's input: where it is, what it is, what to do about it.
// Text files give line and column (1-based); binary files give `where`, such as "node 12 'conv1' (Conv)".
struct Diagnostic {
  std::string file{};
  int line = 0;
  int column = 0;
  std::string where{};
  std::string message{};
  std::string hint{};
  Severity severity = Severity::Error;
  bool operator==(const Diagnostic&) const = default;
};

// "hw.yaml:5:19: error: 'bits_per_cycle' must be positive (hint)"
std::string to_string(const Diagnostic& diagnostic);

// Thrown once per bad input, with everything found wrong in it.
class InputError : public std::exception {
 public:
  explicit InputError(std::vector<Diagnostic> diagnostics);
  explicit InputError(Diagnostic diagnostic);
  const char* what() const noexcept override { return text_.c_str(); }
  const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }

 private:
  std::vector<Diagnostic> diagnostics_;
  std::string text_;
};

// Throws what is wrong with a file as a whole.
[[noreturn]] void refuse_file(const std::string& path, std::string message, std::string hint);

}  // namespace monet
