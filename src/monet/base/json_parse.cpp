// JSON text (RFC 8259, strictly) to the same located tree as YAML. Golden files are megabytes, so it copies each byte
// once and looks at it once or twice.
#include <fmt/format.h>

#include <algorithm>

#include "monet/base/config.h"
#include "monet/base/utf8.h"

namespace monet::config {
namespace {

class JsonParser {
 public:
  JsonParser(std::string_view text, const std::string& path, const Limits& limits)
      : text_(text), path_(path), builder_(Syntax::Json, limits) {
    if (text.size() > limits.bytes)
      fail(0, fmt::format("{} bytes are more than the {} a JSON file may have", text.size(), limits.bytes));
    builder_.add_file(path);
    // One value in eight bytes is what dense numbers come to.
    builder_.reserve(std::min(text.size() / 8 + 16, limits.nodes), text.size());
  }

  Tree run() {
    if (text_.starts_with("\xef\xbb\xbf")) at_ = line_start_ = 3;
    document();
    space();
    if (at_ < text_.size()) fail(at_, "something follows the end of the document");
    return builder_.finish();
  }

 private:
  [[noreturn]] void fail(std::size_t where, std::string message) const {
    throw InputError(Diagnostic{.file = path_,
                                .line = static_cast<int>(line_),
                                .column = static_cast<int>(where - std::min(where, line_start_) + 1),
                                .message = "not JSON: " + std::move(message)});
  }

  Location place() const {
    return {.file = 0, .line = line_, .column = static_cast<std::uint32_t>(at_ - line_start_ + 1)};
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  void space() {
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '\n') {
        ++line_;
        line_start_ = at_ + 1;
      } else if (c != ' ' && c != '\t' && c != '\r') {
        return;
      }
    }
  }

  // A loop over the brackets that are open, so that depth costs no stack.
  void document() {
    std::vector<Kind> open;
    for (;;) {
      space();
      const bool opened = value(open);
      if (opened && !first_of(open)) continue;
      while (!open.empty() && !after_value(open)) open.pop_back();
      if (open.empty()) return;
    }
  }

  // Begins a value; true if it is a bracket whose contents follow.
  bool value(std::vector<Kind>& open) {
    switch (peek()) {
      case '{':
      case '[': {
        const Kind kind = peek() == '{' ? Kind::Map : Kind::Sequence;
        builder_.open(kind, place());
        ++at_;
        open.push_back(kind);
        return true;
      }
      case '"': {
        const Location where = place();
        const std::string_view text = string();
        builder_.scalar(text, true, where);
        return false;
      }
      default: word(); return false;
    }
  }

  // After an opening bracket: true if it is closed at once; else reads the key of the first entry.
  bool first_of(std::vector<Kind>& open) {
    space();
    const bool is_map = open.back() == Kind::Map;
    if (peek() == (is_map ? '}' : ']')) {
      ++at_;
      builder_.close();
      open.pop_back();
      return true;
    }
    if (is_map) key();
    return false;
  }

  // After a value inside brackets: true if another follows, false if the bracket was closed.
  bool after_value(const std::vector<Kind>& open) {
    space();
    const bool is_map = open.back() == Kind::Map;
    const char close = is_map ? '}' : ']';
    if (peek() == close) {
      ++at_;
      builder_.close();
      return false;
    }
    if (peek() != ',')
      fail(at_, at_ >= text_.size() ? "the file ends too early" : fmt::format("',' or '{}' expected", close));
    ++at_;
    space();
    if (is_map) key();
    return true;
  }

  void key() {
    if (peek() != '"') fail(at_, "a key in double quotes expected");
    const Location where = place();
    const std::string_view text = string();
    builder_.scalar(text, true, where);
    space();
    if (peek() != ':') fail(at_, "':' expected");
    ++at_;
  }

  // What Python writes for a cost without bound. Who reads a number refuses it.
  static bool is_infinity(std::string_view text) { return text == "Infinity" || text == "-Infinity"; }

  // Numbers, true, false and null; words are plain scalars, as in YAML.
  void word() {
    const std::size_t start = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '.' ||
                                  text_[at_] == '-' || text_[at_] == '+'))
      ++at_;
    const std::string_view text = text_.substr(start, at_ - start);
    const Location where{.file = 0, .line = line_, .column = static_cast<std::uint32_t>(start - line_start_ + 1)};
    if (text == "null")
      builder_.null(where);
    else if (text == "true" || text == "false" || is_number(text) || is_infinity(text))
      builder_.scalar(text, false, where);
    else if (text.empty())
      fail(start, at_ >= text_.size() ? "the file ends too early" : "a value expected");
    else
      fail(start, fmt::format("'{}' is no value", text.substr(0, 40)));
  }

  static bool is_number(std::string_view text) {
    std::size_t i = 0;
    const auto digits = [&] {
      const std::size_t from = i;
      while (i < text.size() && text[i] >= '0' && text[i] <= '9') ++i;
      return i - from;
    };
    if (i < text.size() && text[i] == '-') ++i;
    const bool zero = i < text.size() && text[i] == '0';
    const std::size_t whole = digits();
    if (whole == 0 || (zero && whole > 1)) return false;
    if (i < text.size() && text[i] == '.') {
      ++i;
      if (digits() == 0) return false;
    }
    if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
      ++i;
      if (i < text.size() && (text[i] == '+' || text[i] == '-')) ++i;
      if (digits() == 0) return false;
    }
    return i == text.size();
  }

  // The string that begins at the quote; a part of the input if nothing in it is escaped.
  std::string_view string() {
    const std::size_t start = ++at_;
    bool plain = true;
    for (; at_ < text_.size() && text_[at_] != '"';) {
      const auto byte = static_cast<unsigned char>(text_[at_]);
      if (byte == '\\') {
        if (plain) unescaped_.assign(text_.substr(start, at_ - start));
        plain = false;
        escape();
        continue;
      }
      if (byte < 0x20) fail(at_, fmt::format("byte 0x{:02x} in a string must be escaped", byte));
      const std::size_t length = byte < 0x80 ? 1 : utf8_length(text_.substr(at_));
      if (length == 0) fail(at_, fmt::format("byte 0x{:02x} is no UTF-8", byte));
      if (!plain) unescaped_.append(text_.substr(at_, length));
      at_ += length;
    }
    if (at_ >= text_.size()) fail(start - 1, "this string has no end");
    const std::size_t end = at_++;
    return plain ? text_.substr(start, end - start) : std::string_view(unescaped_);
  }

  void escape() {
    const std::size_t start = at_++;
    const char c = peek();
    ++at_;
    constexpr std::string_view kNames = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
    if (const std::size_t i = kNames.find(c); c != '\0' && i != std::string_view::npos) {
      unescaped_ += kMeanings[i];
      return;
    }
    if (c != 'u') fail(start, "unknown escape in a string");
    std::uint32_t code = hex(start);
    if (code >= 0xd800 && code < 0xdc00 && text_.substr(at_).starts_with("\\u")) {
      at_ += 2;
      const std::uint32_t low = hex(start);
      if (low < 0xdc00 || low > 0xdfff) fail(start, "half a surrogate pair");
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    } else if (code >= 0xd800 && code < 0xe000) {
      fail(start, "half a surrogate pair");
    }
    append_utf8(code);
  }

  std::uint32_t hex(std::size_t start) {
    std::uint32_t code = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      const char c = peek();
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) fail(start, "\\u needs four hexadecimal digits");
      code = code * 16 + static_cast<std::uint32_t>(digit);
    }
    return code;
  }

  void append_utf8(std::uint32_t code) {
    const auto put = [&](std::uint32_t byte) { unescaped_ += static_cast<char>(byte); };
    if (code < 0x80) {
      put(code);
    } else if (code < 0x800) {
      put(0xc0 | code >> 6);
      put(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
      put(0xe0 | code >> 12);
      put(0x80 | (code >> 6 & 0x3f));
      put(0x80 | (code & 0x3f));
    } else {
      put(0xf0 | code >> 18);
      put(0x80 | (code >> 12 & 0x3f));
      put(0x80 | (code >> 6 & 0x3f));
      put(0x80 | (code & 0x3f));
    }
  }

  std::string_view text_;
  const std::string& path_;
  Builder builder_;
  std::size_t at_ = 0, line_start_ = 0;
  std::uint32_t line_ = 1;
  std::string unescaped_;
};

}  // namespace

Tree parse_json(std::string_view text, const std::string& path, const Limits& limits) {
  return JsonParser(text, path, limits).run();
}

}  // namespace monet::config
