#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// The words of the text form of a graph: how names, strings and numbers are written, and how they are read.

namespace monet {

// The name as it is if it can be told from the signs around it, else quoted: `_` is an absent operand, `->` an arrow,
// and in "x: f32[2]" the colon ends the name.
std::string name_text(std::string_view name);

// For messages: in quotes of one kind or the other, cut short if it is long.
std::string name_shown(std::string_view name);

// Between double quotes with JSON's escapes. Bytes beyond ASCII stay as they are, valid UTF-8 or not: any name
// survives.
std::string quoted(std::string_view text);

// The fewest digits that read back as the same double; "inf", "-inf", "nan".
std::string number_text(double value);

// What is wrong with a line. The parser notes it and goes on with the next line.
struct Fault {
  std::size_t offset = 0;  // in bytes from the start of the line
  std::string message, hint;
  std::string undefined = {};  // the tensor that is not defined, where that is the fault
};

// Reads one line from left to right; throws Fault. Spaces between words do not matter.
class LineReader {
 public:
  explicit LineReader(std::string_view line) : line_(line) { skip_space(); }

  std::size_t offset() const { return at_; }
  bool at_end() const { return at_ == line_.size() || line_[at_] == '#'; }

  bool take(std::string_view sign);                            // skips it if it is next
  void expect(std::string_view sign, std::string_view where);  // … or fault: "expected '=' after the node's name"
  void expect_end();
  bool take_word(std::string_view word);  // skips this whole word if it is next
  bool take_absent();                     // skips a lone `_`

  std::string_view word();                    // letters, digits and _; "" if there is none
  std::string_view peek_word() const;         // the same without moving on
  std::string name(std::string_view what);    // bare or quoted
  std::string string(std::string_view what);  // quoted
  std::string_view format();                  // up to '[', a space or the end
  std::int64_t integer(std::string_view what);
  double number(std::string_view what);
  std::vector<std::int64_t> integers(std::string_view open, std::string_view close, std::string_view what);

  // What is next, for messages: "'xyz'" or "the end of the line".
  std::string next() const;
  [[noreturn]] void fail(std::string message, std::string hint = "") const;

 private:
  void skip_space();
  std::string_view bare() const;  // the bare name that is next, "" if there is none
  unsigned escaped_unit();        // four hexadecimal digits
  void escape(std::string& out);  // after the backslash

  std::string_view line_;
  std::size_t at_ = 0;
};

}  // namespace monet
