#include "monet/onnx/export_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "monet/base/assert.h"
#include "monet/base/diagnostic.h"
#include "monet/base/overloaded.h"

namespace monet::exporting {
namespace {

// No constant may come near what protobuf can hold in one message.
constexpr std::int64_t kMostConstantElements = std::int64_t{1} << 28;

template <class Integer>
void append_bytes(std::string& bytes, Integer value) {
  for (std::size_t i = 0; i < sizeof(Integer); ++i)
    bytes.push_back(static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i) & 0xff));
}

// The bits of the nearest IEEE-like number with these field widths, ties to even.
std::uint16_t narrow_float(double value, int exponent_bits, int mantissa_bits) {
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 1u << (exponent_bits + mantissa_bits) : 0u);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const auto infinity = static_cast<std::uint16_t>(((1u << exponent_bits) - 1) << mantissa_bits);
  if (std::isnan(value)) return static_cast<std::uint16_t>(infinity | 1u << (mantissa_bits - 1));
  const double magnitude = std::abs(value);
  if (magnitude == 0) return sign;
  if (std::isinf(value)) return static_cast<std::uint16_t>(sign | infinity);
  int exponent = 0;
  std::frexp(magnitude, &exponent);                     // magnitude in [2^(exponent-1), 2^exponent)
  const int lowest = std::max(exponent - 1, 1 - bias);  // subnormal numbers share the smallest exponent
  const double units = std::nearbyint(std::ldexp(magnitude, mantissa_bits - lowest));
  // Counting from the exponent's first number, a mantissa that overflows runs into the next exponent by itself.
  const double code = units + std::ldexp(static_cast<double>(lowest + bias - 1), mantissa_bits);
  return static_cast<std::uint16_t>(sign | (code >= infinity ? infinity : static_cast<std::uint16_t>(code)));
}

template <class Integer>
Integer saturate(double value) {
  if (std::isnan(value)) return 0;
  if (value <= static_cast<double>(std::numeric_limits<Integer>::min())) return std::numeric_limits<Integer>::min();
  if (value >= static_cast<double>(std::numeric_limits<Integer>::max())) return std::numeric_limits<Integer>::max();
  return static_cast<Integer>(value);
}

void append_number(std::string& bytes, double value, Element element) {
  switch (carrier(element)) {
    case Element::F64: return append_bytes(bytes, std::bit_cast<std::uint64_t>(value));
    case Element::F32: return append_bytes(bytes, std::bit_cast<std::uint32_t>(static_cast<float>(value)));
    case Element::F16: return append_bytes(bytes, narrow_float(value, 5, 10));
    case Element::BF16: return append_bytes(bytes, narrow_float(value, 8, 7));
    case Element::I64: return append_bytes(bytes, saturate<std::int64_t>(value));
    case Element::I32: return append_bytes(bytes, saturate<std::int32_t>(value));
    case Element::I16: return append_bytes(bytes, saturate<std::int16_t>(value));
    case Element::I8: return append_bytes(bytes, saturate<std::int8_t>(value));
    case Element::U64: return append_bytes(bytes, saturate<std::uint64_t>(value));
    case Element::U32: return append_bytes(bytes, saturate<std::uint32_t>(value));
    case Element::U16: return append_bytes(bytes, saturate<std::uint16_t>(value));
    case Element::U8: return append_bytes(bytes, saturate<std::uint8_t>(value));
    case Element::Bool: return append_bytes(bytes, static_cast<std::uint8_t>(value != 0));
    case Element::F8E4M3:
    case Element::F8E5M2:
    case Element::I4:
    case Element::U4:
    case Element::Bit: break;
  }
  MONET_ASSERT(false, "no type carries these elements");
}

pb::AttributeProto attribute(const NamedAttribute& named) {
  pb::AttributeProto proto;
  proto.set_name(std::string(named.name));
  std::visit(overloaded{
                 [&](std::int64_t value) {
                   proto.set_type(pb::AttributeProto_AttributeType_INT);
                   proto.set_i(value);
                 },
                 [&](double value) {
                   proto.set_type(pb::AttributeProto_AttributeType_FLOAT);
                   proto.set_f(static_cast<float>(value));
                 },
                 [&](const std::string& value) {
                   proto.set_type(pb::AttributeProto_AttributeType_STRING);
                   proto.set_s(value);
                 },
                 [&](const Ints& values) {
                   proto.set_type(pb::AttributeProto_AttributeType_INTS);
                   for (const std::int64_t value : values) proto.add_ints(value);
                 },
                 [&](const pb::TensorProto& value) {
                   proto.set_type(pb::AttributeProto_AttributeType_TENSOR);
                   *proto.mutable_t() = value;
                 },
             },
             named.value);
  return proto;
}

}  // namespace

Element carrier(Element element) {
  switch (element) {
    case Element::F8E4M3:
    case Element::F8E5M2: return Element::F32;
    case Element::I4: return Element::I8;
    case Element::U4: return Element::U8;
    case Element::Bit: return Element::Bool;
    case Element::F64:
    case Element::F32:
    case Element::F16:
    case Element::BF16:
    case Element::I64:
    case Element::I32:
    case Element::I16:
    case Element::I8:
    case Element::U64:
    case Element::U32:
    case Element::U16:
    case Element::U8:
    case Element::Bool: break;
  }
  return element;
}

Element arithmetic(Element element) {
  if (is_float(element)) return floating(element);
  return element == Element::I32 ? Element::I32 : Element::I64;
}
Element floating(Element element) {
  return element == Element::F64 || element == Element::F16 ? element : Element::F32;
}
Element wide(Element element) { return element == Element::F64 ? Element::F64 : Element::F32; }

pb::TensorProto_DataType onnx_type(Element element) {
  switch (carrier(element)) {
    case Element::F64: return pb::TensorProto_DataType_DOUBLE;
    case Element::F32: return pb::TensorProto_DataType_FLOAT;
    case Element::F16: return pb::TensorProto_DataType_FLOAT16;
    case Element::BF16: return pb::TensorProto_DataType_BFLOAT16;
    case Element::I64: return pb::TensorProto_DataType_INT64;
    case Element::I32: return pb::TensorProto_DataType_INT32;
    case Element::I16: return pb::TensorProto_DataType_INT16;
    case Element::I8: return pb::TensorProto_DataType_INT8;
    case Element::U64: return pb::TensorProto_DataType_UINT64;
    case Element::U32: return pb::TensorProto_DataType_UINT32;
    case Element::U16: return pb::TensorProto_DataType_UINT16;
    case Element::U8: return pb::TensorProto_DataType_UINT8;
    case Element::Bool: return pb::TensorProto_DataType_BOOL;
    case Element::F8E4M3:
    case Element::F8E5M2:
    case Element::I4:
    case Element::U4:
    case Element::Bit: break;
  }
  return pb::TensorProto_DataType_UNDEFINED;
}

Ints joined(const Ints& a, const Ints& b) {
  Ints both = a;
  both.insert(both.end(), b.begin(), b.end());
  return both;
}

std::string encode(std::size_t count, Element element, const std::function<double(std::size_t)>& number) {
  std::string bytes;
  for (std::size_t i = 0; i < count; ++i) append_number(bytes, number(i), element);
  return bytes;
}

// ---- Writer ----

Writer::Writer(const Graph& g, std::int64_t version) : graph(g), opset(version), flat_indices(g.tensors.size()) {
  for (const Tensor& tensor : graph.tensors) values_.insert(tensor.name);
  for (const Node& node : graph.nodes) {
    nodes_.insert(node.name);
    if (std::holds_alternative<Pool>(node.op) && node.outputs.size() > 1 && node.outputs[1] != kNoTensor)
      flat_indices[node.outputs[1].index()] = true;
  }
}

Element Writer::element_of(TensorId tensor) const {
  return flat_indices[tensor.index()] ? Element::I64 : carrier(graph[tensor].format.element);
}

namespace {
std::string unique(std::unordered_set<std::string>& taken, const std::string& name) {
  std::string candidate = name;
  for (std::size_t k = 2; !taken.insert(candidate).second; ++k) candidate = fmt::format("{}.{}", name, k);
  return candidate;
}
}  // namespace

std::string Writer::unique_value(const std::string& name) { return unique(values_, name); }
std::string Writer::unique_node(const std::string& name) { return unique(nodes_, name); }

Value Writer::constant(const Shape& shape, Element element, const std::string& name,
                       const std::function<double(std::size_t)>& number) {
  pb::TensorProto tensor;
  for (const std::int64_t extent : shape) tensor.add_dims(extent);
  tensor.set_data_type(onnx_type(element));
  tensor.set_raw_data(encode(static_cast<std::size_t>(elements(shape)), element, number));
  const auto [it, fresh] = constants_.try_emplace(
      fmt::format("{} {} {}", static_cast<int>(tensor.data_type()), to_string(shape), tensor.raw_data()));
  if (fresh) {
    it->second = unique_value(name);
    tensor.set_name(it->second);
    if (is_float(element) && !shape.empty()) {  // or a reader might take it for a weight
      pb::ValueInfoProto& info = *file.add_value_info();
      info.set_name(it->second);
      info.set_doc_string("monet category=constant");
      pb::TypeProto_Tensor& type = *info.mutable_type()->mutable_tensor_type();
      type.set_elem_type(onnx_type(element));
      for (const std::int64_t extent : shape) type.mutable_shape()->add_dim()->set_dim_value(extent);
    }
    *file.add_initializer() = std::move(tensor);
  }
  return {it->second, carrier(element)};
}

// ---- Scope ----

Scope::Scope(Writer& writer, const Node& node) : writer_(writer), node_(node) {}

bool Scope::has(std::size_t i) const { return i < node_.inputs.size() && node_.inputs[i] != kNoTensor; }
bool Scope::wanted(std::size_t i) const { return i < node_.outputs.size() && node_.outputs[i] != kNoTensor; }
const Tensor& Scope::input(std::size_t i) const {
  if (!has(i)) refuse(fmt::format("input {} is missing", i));
  return writer_.graph[node_.inputs[i]];
}
const Tensor& Scope::output(std::size_t i) const { return writer_.graph[node_.outputs[i]]; }

Value Scope::in(std::size_t i) {
  const Tensor& tensor = input(i);
  if (writer_.flat_indices[node_.inputs[i].index()])
    refuse(fmt::format("reads the pool indices '{}', which ONNX encodes in another way", tensor.name),
           "only a pool gradient can");
  return {tensor.name, writer_.element_of(node_.inputs[i])};
}

Value Scope::in_flat_indices(std::size_t i) {
  const Tensor& tensor = input(i);
  return writer_.flat_indices[node_.inputs[i].index()] ? Value{tensor.name, Element::I64} : Value{};
}

Value Scope::make(std::string_view type, std::vector<Value> operands, Attributes attributes) {
  MONET_ASSERT(!operands.empty(), "a node without operands needs a stated type");
  const Element element = operands[0].element;
  return make(type, std::move(operands), std::move(attributes), element);
}

Value Scope::make(std::string_view type, std::vector<Value> operands, Attributes attributes, Element element) {
  return make(type, std::move(operands), std::move(attributes), std::vector{element})[0];
}

std::vector<Value> Scope::make(std::string_view type, std::vector<Value> operands, Attributes attributes,
                               const std::vector<Element>& elements) {
  while (!operands.empty() && operands.back().name.empty()) operands.pop_back();
  pb::NodeProto part;
  part.set_op_type(std::string(type));
  for (const Value& operand : operands) {
    const auto it = renamed_.find(operand.name);
    part.add_input(it == renamed_.end() ? operand.name : it->second);
  }
  for (const NamedAttribute& named : attributes) *part.add_attribute() = attribute(named);
  std::vector<Value> results;
  for (const Element element : elements) {
    results.push_back({writer_.unique_value(fmt::format("{}/{}", node_.name, type)), element});
    part.add_output(results.back().name);
    own_.insert(results.back().name);
  }
  parts_.push_back(std::move(part));
  return results;
}

void Scope::out(std::size_t i, Value value) {
  if (!wanted(i)) return;
  const std::string& name = output(i).name;
  value = cast(value, writer_.element_of(node_.outputs[i]));
  if (!own_.contains(value.name)) value = make("Identity", {value});
  for (pb::NodeProto& part : parts_) {
    for (std::string& operand : *part.mutable_input())
      if (operand == value.name) operand = name;
    for (std::string& result : *part.mutable_output())
      if (result == value.name) result = name;
  }
  own_.erase(value.name);
  renamed_[value.name] = name;
}

void Scope::finish() {
  std::string first;
  std::unordered_set<std::string> needed;
  for (std::size_t i = outputs(); i-- > 0;)
    if (wanted(i)) needed.insert(first = output(i).name);
  std::vector<pb::NodeProto> kept;
  for (std::size_t p = parts_.size(); p-- > 0;) {
    const auto& results = parts_[p].output();
    if (std::none_of(results.begin(), results.end(), [&](const std::string& r) { return needed.contains(r); }))
      continue;
    needed.insert(parts_[p].input().begin(), parts_[p].input().end());
    kept.push_back(std::move(parts_[p]));
  }
  for (std::size_t p = kept.size(); p-- > 0;) {
    pb::NodeProto& part = kept[p];
    const auto& results = part.output();
    const bool main = std::find(results.begin(), results.end(), first) != results.end();
    part.set_name(main ? node_.name : writer_.unique_node(fmt::format("{}/{}", node_.name, part.op_type())));
    part.set_doc_string(fmt::format("monet phase={}", name(node_.phase)));
    *writer_.file.add_node() = std::move(part);
  }
  parts_.clear();
}

void Scope::refuse(const std::string& message, const std::string& hint) const {
  throw InputError(Diagnostic{
      .where = fmt::format("node '{}' ({})", node_.name, operator_name(node_.op)), .message = message, .hint = hint});
}

Value Scope::scalar(double value, Element element) {
  return writer_.constant({}, element, fmt::format("{}:{}", monet::name(carrier(element)), value),
                          [&](std::size_t) { return value; });
}

Value Scope::ints(const Ints& values) {
  return writer_.constant({std::ssize(values)}, Element::I64, fmt::format("i64:{}", to_string(values)),
                          [&](std::size_t i) { return static_cast<double>(values[i]); });
}

Value Scope::table(const Shape& shape, Element element, const std::function<double(std::size_t)>& number) {
  if (elements(shape) > kMostConstantElements) refuse(fmt::format("needs a constant of shape {}", to_string(shape)));
  return writer_.constant(shape, element, fmt::format("{}:{}", monet::name(carrier(element)), to_string(shape)),
                          number);
}

Value Scope::filled(const Shape& shape, double value, Element element) {
  if (element == Element::BF16) return cast(filled(shape, value, Element::F32), element);  // which ONNX does not allow
  pb::TensorProto tensor;
  tensor.add_dims(1);
  tensor.set_data_type(onnx_type(element));
  tensor.set_raw_data(encode(1, element, [&](std::size_t) { return value; }));
  return make("ConstantOfShape", {ints(shape)}, {{"value", tensor}}, carrier(element));
}

Value Scope::cast(const Value& x, Element element) {
  if (x.element == carrier(element)) return x;
  return make("Cast", {x}, {{"to", std::int64_t{onnx_type(element)}}}, carrier(element));
}

Value Scope::reduce(std::string_view type, const Value& x, const Ints& axes, bool keep) {
  if (axes.empty()) return x;
  const std::int64_t keepdims = keep ? 1 : 0;
  if (type == "ReduceSum" || opset() >= 18) return make(type, {x, ints(axes)}, {{"keepdims", keepdims}});
  return make(type, {x}, {{"axes", axes}, {"keepdims", keepdims}});
}

Value Scope::pad(const Value& x, const Ints& begin, const Ints& end, double value) {
  Ints pads = begin;
  pads.insert(pads.end(), end.begin(), end.end());
  if (pads == Ints(pads.size(), 0)) return x;
  return make("Pad", {x, ints(pads), value == 0 ? Value{} : scalar(value, x.element)});
}

Value Scope::slice(const Value& x, std::int64_t axis, std::int64_t first, std::int64_t last, std::int64_t step) {
  // One before the first element would read as the last one; anything below -extent means "before the first".
  const std::int64_t end = step > 0 ? last + 1 : last > 0 ? last - 1 : std::numeric_limits<std::int64_t>::min() / 2;
  return make("Slice", {x, ints({first}), ints({end}), ints({axis}), ints({step})});
}

}  // namespace monet::exporting
