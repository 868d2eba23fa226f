// YAML text to a located tree. yaml-cpp's event parser does the grammar; limits, anchors and merges are ours, because
// they are where a small file can become a large one. yaml-cpp stays in this file.
#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <sstream>
#include <unordered_map>

#include "monet/base/config.h"
#include "monet/base/utf8.h"

namespace monet::config {
namespace {

[[noreturn]] void fail(const std::string& path, std::size_t line, std::size_t column, std::string message,
                       std::string hint = "") {
  throw InputError(Diagnostic{.file = path,
                              .line = static_cast<int>(line),
                              .column = static_cast<int>(column),
                              .message = std::move(message),
                              .hint = std::move(hint)});
}

class Handler final : public YAML::EventHandler {
 public:
  Handler(const std::string& path, const Limits& limits) : path_(path), builder_(Syntax::Yaml, limits) {
    builder_.add_file(path);
    builder_.merge_on_close(true);
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ > 0)
      fail(path_, line(mark), column(mark), "a second document begins here", "one file holds one document");
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    // "? " and ": value" without a key
    if (builder_.expects_key()) fail(path_, line(mark), column(mark), "a key is missing here");
    remember(anchor, builder_.null(at(mark)));
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end() || !builder_.is_closed(found->second))
      fail(path_, line(mark), column(mark), "this alias refers to what it is part of");
    builder_.alias(found->second, at(mark));
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    check_tag(mark, tag);
    const bool plain = tag == "?" || tag.empty();
    // Plain ~ and null come as scalars; an empty plain scalar is nothing too.
    const bool nothing =
        plain && (value.empty() || value == "~" || value == "null" || value == "Null" || value == "NULL");
    if (nothing && !builder_.expects_key())
      remember(anchor, builder_.null(at(mark)));
    else
      remember(anchor, builder_.scalar(value, !plain, at(mark)));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    check_tag(mark, tag);
    remember(anchor, builder_.open(Kind::Sequence, at(mark)));
  }
  void OnSequenceEnd() override { builder_.close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    check_tag(mark, tag);
    remember(anchor, builder_.open(Kind::Map, at(mark)));
  }
  void OnMapEnd() override { builder_.close(); }

  Tree finish() { return builder_.finish(); }

 private:
  static std::size_t line(const YAML::Mark& mark) { return static_cast<std::size_t>(std::max(mark.line, 0)) + 1; }
  static std::size_t column(const YAML::Mark& mark) { return static_cast<std::size_t>(std::max(mark.column, 0)) + 1; }
  static Location at(const YAML::Mark& mark) {
    return {
        .file = 0, .line = static_cast<std::uint32_t>(line(mark)), .column = static_cast<std::uint32_t>(column(mark))};
  }
  void remember(YAML::anchor_t anchor, std::uint32_t node) {
    if (anchor != 0) anchors_[anchor] = node;
  }
  // "?" is no tag, "!" a quoted scalar; what other tags mean is a program's business.
  void check_tag(const YAML::Mark& mark, const std::string& tag) const {
    if (tag.empty() || tag == "?" || tag == "!" || tag == "tag:yaml.org,2002:str") return;
    fail(path_, line(mark), column(mark), fmt::format("the tag '{}' has no meaning here", tag.substr(0, 60)),
         "leave it out");
  }

  std::string path_;
  Builder builder_;
  int documents_ = 0;
  std::unordered_map<YAML::anchor_t, std::uint32_t> anchors_;
};

// yaml-cpp reads on with what it can make of bad bytes; a configuration with them is not what its author meant. It also
// takes in a whole flow ([…], {…}) before it says what is in it, so brackets and commas are counted beforehand:
// roughly, as quotes and comments may hold some too, but no file that is meant well comes near.
class ByteCheck {
 public:
  ByteCheck(std::string_view text, const std::string& path, const Limits& limits)
      : text_(text), path_(path), limits_(limits) {}

  void run() {
    if (text_.size() > limits_.bytes)
      fail(path_, 0, 0, fmt::format("{} bytes are more than the {} a YAML file may have", text_.size(), limits_.bytes));
    for (std::size_t i = 0; i < text_.size();) {
      const auto byte = static_cast<unsigned char>(text_[i]);
      if (byte == '\n') {
        ++line_;
        start_ = i + 1;
      } else if (byte < 0x20 && byte != '\t' && byte != '\r') {
        refuse(i, fmt::format("byte 0x{:02x} is no text", byte), "is this a YAML file?");
      }
      const std::size_t length = utf8_length(text_.substr(i));
      if (length == 0) refuse(i, fmt::format("byte 0x{:02x} is no UTF-8", byte), "save the file as UTF-8");
      count(text_[i], i);
      i += length;
    }
  }

 private:
  [[noreturn]] void refuse(std::size_t at, std::string message, std::string hint) const {
    fail(path_, line_, at - start_ + 1, std::move(message), std::move(hint));
  }
  void count(char c, std::size_t at) {
    const bool opens = c == '[' || c == '{';
    if (opens) ++depth_;
    if ((c == ']' || c == '}') && depth_ > 0) --depth_;
    if (opens || c == ',') ++values_;
    if (depth_ > kManyBrackets * limits_.depth)
      refuse(at, fmt::format("nested more than {} levels deep", limits_.depth),
             "no such file is meant to be that deep");
    if (values_ > limits_.nodes)
      refuse(at, fmt::format("more than {} values", limits_.nodes), "no such file is meant to be that large");
  }
  static constexpr std::size_t kManyBrackets = 10;

  std::string_view text_;
  const std::string& path_;
  const Limits& limits_;
  std::size_t line_ = 1, start_ = 0, depth_ = 0, values_ = 0;
};

}  // namespace

Tree parse_yaml(std::string_view text, const std::string& path, const Limits& limits) {
  ByteCheck(text, path, limits).run();
  Handler handler(path, limits);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(handler)) {
    }
  } catch (const YAML::Exception& error) {
    const bool placed = !error.mark.is_null();
    fail(path, placed ? static_cast<std::size_t>(std::max(error.mark.line, 0)) + 1 : 0,
         placed ? static_cast<std::size_t>(std::max(error.mark.column, 0)) + 1 : 0,
         fmt::format("not YAML: {}", error.msg));
  }
  return handler.finish();
}

}  // namespace monet::config
