#include "monet/graph/text_tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "monet/base/overloaded.h"
#include "monet/graph/infer.h"
#include "monet/graph/text_operator.h"

namespace monet {
namespace {

std::string numbers(const std::vector<double>& values) {
  std::string text;
  for (const double value : values) text += (text.empty() ? "" : ", ") + number_text(value);
  return text;
}

}  // namespace

std::string type_text(const Tensor& t) {
  return fmt::format("{} : {}{}", name_text(t.name), to_string(t.format), to_string(t.shape));
}

std::string initial_text(const Initial& initial, std::string_view copied) {
  using R = std::string;
  return std::visit(overloaded{
                        [](std::monostate) -> R { return ""; },
                        [](const Splat& v) -> R { return fmt::format("splat({})", number_text(v.value)); },
                        [](const Dense& v) -> R { return fmt::format("dense({})", numbers(v.values)); },
                        [](const Triangle& v) -> R {
                          return fmt::format("triangle(k={}, below={}, above={})", v.k, number_text(v.below),
                                             number_text(v.above));
                        },
                        [](const Rotary& v) -> R {
                          return fmt::format("rotary({}, base={})", v.sine ? "sin" : "cos", number_text(v.base));
                        },
                        [&](const CopyOf&) -> R { return fmt::format("copy_of({})", copied); },
                    },
                    initial);
}

void read_type(LineReader& line, Tensor& tensor) {
  const std::size_t offset = line.offset();
  const std::string_view text = line.format();
  const std::optional<Format> format = parse_format(text);
  if (!format)
    throw Fault{offset,
                text.empty() ? fmt::format("expected a type such as f32[2,4], found {}", line.next())
                             : fmt::format("unknown format '{}'", text.substr(0, 60)),
                word_hint(text.substr(0, text.find('/')), names_up_to(Element::Bit))};
  tensor.format = *format;
  tensor.shape = line.integers("[", "]", "the shape");
  try {
    check_shape(tensor.shape);
  } catch (const ShapeError& error) {
    throw Fault{offset, error.what(), ""};
  }
}

void read_layout(LineReader& line, Tensor& tensor) {
  const std::size_t offset = line.offset();
  const Ints dimensions = line.integers("(", ")", "the layout");
  Ints sorted = dimensions, all(tensor.shape.size());
  std::sort(sorted.begin(), sorted.end());
  std::iota(all.begin(), all.end(), 0);
  if (sorted != all)
    throw Fault{offset, fmt::format("the layout must name each of the {} dimensions once", all.size()), ""};
  for (const std::int64_t d : dimensions) tensor.layout.push_back(static_cast<std::uint8_t>(d));
}

StatedInitial read_initial(LineReader& line, const Tensor& tensor) {
  const std::size_t offset = line.offset();
  const std::string next = line.next();
  const std::string_view kind = line.word();
  const auto named_value = [&](std::string_view key) {
    if (!line.take_word(key)) line.fail(fmt::format("expected '{}=' in {}(…), found {}", key, kind, line.next()));
    line.expect("=", fmt::format("after '{}'", key));
  };
  const auto comma = [&] { line.expect(",", fmt::format("in {}(…)", kind)); };
  const auto need = [&](bool holds, std::string message) {
    if (!holds) throw Fault{offset, std::move(message), ""};
  };
  StatedInitial stated;
  const std::vector<std::string> kinds{"splat", "dense", "triangle", "rotary", "copy_of"};
  if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end())
    throw Fault{offset, fmt::format("unknown initial value {}", next), word_hint(kind, kinds)};
  line.expect("(", fmt::format("after '{}'", kind));
  if (kind == "splat") {
    stated.value = Splat{line.number("the value")};
  } else if (kind == "dense") {
    Dense dense;
    do dense.values.push_back(line.number("the value"));
    while (line.take(","));
    need(static_cast<std::int64_t>(dense.values.size()) == elements(tensor.shape),
         fmt::format("{} needs {} values, {} given", to_string(tensor.shape), elements(tensor.shape),
                     dense.values.size()));
    stated.value = std::move(dense);
  } else if (kind == "triangle") {
    need(tensor.shape.size() >= 2, "a triangle needs two dimensions");
    Triangle triangle;
    named_value("k"), triangle.k = line.integer("'k'"), comma();
    named_value("below"), triangle.below = line.number("'below'"), comma();
    named_value("above"), triangle.above = line.number("'above'");
    stated.value = triangle;
  } else if (kind == "rotary") {
    need(tensor.shape.size() == 2 && tensor.shape[1] % 2 == 0, "rotary values need a shape [S,D] with an even D");
    Rotary rotary;
    rotary.sine = line.take_word("sin");
    if (!rotary.sine && !line.take_word("cos")) line.fail("rotary values are 'cos' or 'sin'");
    comma(), named_value("base"), rotary.base = line.number("'base'");
    stated.value = rotary;
  } else {
    stated.copied_offset = line.offset();
    stated.copied = line.name("a tensor");
    stated.value = CopyOf{};
  }
  line.expect(")", fmt::format("at the end of {}(…)", kind));
  return stated;
}

}  // namespace monet
