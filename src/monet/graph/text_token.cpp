#include "monet/graph/text_token.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace monet {
namespace {

constexpr bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

constexpr bool is_bare_character(char c) {
  return is_word_character(c) || c == '.' || c == '/' || c == ':' || c == '@' || c == '-';
}

// Characters a number may consist of, words such as "inf" included.
constexpr bool is_number_character(char c) { return is_word_character(c) || c == '.' || c == '+' || c == '-'; }

template <class Predicate>
std::string_view leading(std::string_view text, Predicate is_part) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_part);
  return text.substr(0, static_cast<std::size_t>(end - text.begin()));
}

void append_utf8(std::string& out, unsigned code) {
  const auto put = [&](unsigned byte) { out += static_cast<char>(static_cast<unsigned char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | code >> 6);
    put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3F));
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
  }
}

}  // namespace

std::string name_text(std::string_view name) {
  const bool misread = name.empty() || name == "_" || name.front() == '-' || name.front() == ':' || name.back() == ':';
  if (misread || !std::all_of(name.begin(), name.end(), is_bare_character)) return quoted(name);
  return std::string(name);
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
          out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        else
          out += c;
    }
  }
  return out + '"';
}

std::string number_text(double value) {
  if (std::isnan(value)) return "nan";  // sign and payload of a NaN carry no meaning here
  return fmt::format("{}", value);
}

std::string name_shown(std::string_view name) {
  constexpr std::size_t kMost = 60;
  const std::string text = name_text(name);
  if (text.starts_with('"')) return text.size() > kMost ? "a long name in quotes" : text;
  return text.size() > kMost ? fmt::format("'{}…'", text.substr(0, kMost)) : fmt::format("'{}'", text);
}

void LineReader::skip_space() {
  while (at_ < line_.size() && (line_[at_] == ' ' || line_[at_] == '\t' || line_[at_] == '\r')) ++at_;
}

std::string LineReader::next() const {
  if (at_end()) return "the end of the line";
  if (!bare().empty()) return name_shown(bare());
  const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; };  // a UTF-8 sequence
  return fmt::format("'{}{}'", line_[at_], leading(line_.substr(at_ + 1), continues).substr(0, 3));
}

void LineReader::fail(std::string message, std::string hint) const {
  throw Fault{at_, std::move(message), std::move(hint)};
}

bool LineReader::take(std::string_view sign) {
  if (!line_.substr(at_).starts_with(sign)) return false;
  at_ += sign.size();
  skip_space();
  return true;
}

void LineReader::expect(std::string_view sign, std::string_view where) {
  if (!take(sign)) fail(fmt::format("expected '{}' {}, found {}", sign, where, next()));
}

void LineReader::expect_end() {
  if (!at_end()) fail(fmt::format("expected the end of the line, found {}", next()));
}

std::string_view LineReader::peek_word() const { return leading(line_.substr(at_), is_word_character); }

std::string_view LineReader::word() {
  const std::string_view word = peek_word();
  at_ += word.size();
  skip_space();
  return word;
}

std::string_view LineReader::bare() const {
  std::string_view name = leading(line_.substr(at_), is_bare_character);
  const std::string_view after = line_.substr(at_ + name.size());
  if (name.ends_with('-') && after.starts_with('>')) name.remove_suffix(1);
  while (name.ends_with(':')) name.remove_suffix(1);
  return name.starts_with('-') || name.starts_with(':') ? "" : name;
}

bool LineReader::take_word(std::string_view wanted) {
  if (peek_word() != wanted) return false;
  word();
  return true;
}

bool LineReader::take_absent() { return bare() == "_" && take("_"); }

std::string LineReader::name(std::string_view what) {
  if (at_ < line_.size() && line_[at_] == '"') return string(what);
  const std::string_view name = bare();
  if (name.empty())
    fail(fmt::format("expected {}, found {}", what, next()), at_end() ? "" : "other signs need quotes: \"a name\"");
  if (name == "_") fail(fmt::format("expected {}, but '_' stands for an absent operand", what), "quote it: \"_\"");
  at_ += name.size();
  skip_space();
  return std::string(name);
}

unsigned LineReader::escaped_unit() {
  const std::string_view digits = line_.substr(at_, 4);
  unsigned unit = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), unit, 16);
  if (digits.size() < 4 || error != std::errc{} || end != digits.data() + 4)
    fail("'\\u' needs four hexadecimal digits");
  at_ += 4;
  return unit;
}

void LineReader::escape(std::string& out) {
  if (at_ == line_.size()) fail("the string does not end on this line", "close it with a double quote");
  const char c = line_[at_];
  constexpr std::string_view kSigns = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
  if (const std::size_t i = kSigns.find(c); i != std::string_view::npos) {
    out += kMeanings[i];
    ++at_;
    return;
  }
  if (c != 'u') fail(fmt::format("unknown escape '\\{}'", c), "use \\\" \\\\ \\/ \\b \\f \\n \\r \\t or \\uXXXX");
  ++at_;
  unsigned code = escaped_unit();
  if (code >= 0xD800 && code < 0xDC00 && line_.substr(at_).starts_with("\\u")) {
    at_ += 2;
    const unsigned low = escaped_unit();
    if (low < 0xDC00 || low > 0xDFFF) fail("half a surrogate pair is no character");
    code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
  } else if (code >= 0xD800 && code < 0xE000) {
    fail("half a surrogate pair is no character");
  }
  append_utf8(out, code);
}

std::string LineReader::string(std::string_view what) {
  if (at_ == line_.size() || line_[at_] != '"') fail(fmt::format("expected {} in quotes, found {}", what, next()));
  ++at_;
  std::string out;
  for (;;) {
    if (at_ == line_.size()) fail("the string does not end on this line", "close it with a double quote");
    const char c = line_[at_++];
    if (c == '"') break;
    if (c == '\\')
      escape(out);
    else
      out += c;
  }
  skip_space();
  return out;
}

std::string_view LineReader::format() {
  const std::string_view text =
      leading(line_.substr(at_), [](char c) { return is_word_character(c) || c == '/' || c == '+'; });
  at_ += text.size();
  skip_space();
  return text;
}

std::int64_t LineReader::integer(std::string_view what) {
  const std::string_view text = leading(line_.substr(at_), is_number_character);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) fail(fmt::format("{} does not fit 64 bits", what));
  if (error != std::errc{} || end != text.data() + text.size())
    fail(fmt::format("{} must be a whole number, found {}", what, next()));
  at_ += text.size();
  skip_space();
  return value;
}

double LineReader::number(std::string_view what) {
  const std::string_view text = leading(line_.substr(at_), is_number_character);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) fail(fmt::format("{} is out of the range of a double", what));
  if (error != std::errc{} || end != text.data() + text.size())
    fail(fmt::format("{} must be a number, found {}", what, next()));
  at_ += text.size();
  skip_space();
  return value;
}

std::vector<std::int64_t> LineReader::integers(std::string_view open, std::string_view close, std::string_view what) {
  std::vector<std::int64_t> values;
  expect(open, fmt::format("before {}", what));
  if (take(close)) return values;
  const std::string entry = fmt::format("an entry of {}", what);
  do values.push_back(integer(entry));
  while (take(","));
  expect(close, fmt::format("or ',' in {}", what));
  return values;
}

}  // namespace monet
