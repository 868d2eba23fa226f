#include "monet/schedule/stream_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

namespace monet::schedule {
namespace {

using Integers = std::vector<std::int64_t>;
using hardware::Slot;

constexpr std::int64_t kMostExtent = std::int64_t{1} << 40;  // of one dimension; products are checked where they arise

// Stream raises an exception here.
const std::vector<std::string> kElementDimensions{"B", "H", "D", "K"};
const std::vector<std::string> kProductDimensions{"B", "H", "D", "C", "K"};

class LayerMaker {
 public:
  explicit LayerMaker(const StreamModel& model) : model_(model) {}

  StreamLayers run() {
    StreamLayers out;
    try {
      for (const StreamOperator& op : model_.operators) {
        if (op.inputs.empty()) continue;  // constants take no number
        make(op);
        for (const std::string& output : op.outputs)
          if (!output.empty()) producer_[output] = static_cast<std::int64_t>(layers_.size()) - 1;
      }
    } catch (const StreamStop& stop) {
      out.failure = stop.reason;
    }
    out.layers = std::move(layers_);
    return out;
  }

 private:
  void make(const StreamOperator& op) {
    using Rule = void (LayerMaker::*)(const StreamOperator&);
    static const std::map<std::string, Rule> rules{
        {"Conv", &LayerMaker::convolution},
        {"QLinearConv", &LayerMaker::convolution},
        {"MatMul", &LayerMaker::product},
        {"Gemm", &LayerMaker::product},
        {"MaxPool", &LayerMaker::pooling},
        {"AveragePool", &LayerMaker::pooling},
        {"GlobalMaxPool", &LayerMaker::pooling},
        {"GlobalAveragePool", &LayerMaker::pooling},
        {"Add", &LayerMaker::binary},
        {"Mul", &LayerMaker::binary},
        {"Exp", &LayerMaker::unary},
        {"Relu", &LayerMaker::unary},
        {"Gelu", &LayerMaker::unary},
        {"Silu", &LayerMaker::unary},
        {"Sigmoid", &LayerMaker::unary},
        {"Sqrt", &LayerMaker::unary},
        {"Div", &LayerMaker::unary},
        {"Pow", &LayerMaker::unary},
        {"Reciprocal", &LayerMaker::unary},
        {"ReduceMean", &LayerMaker::reduction},
        {"Softmax", &LayerMaker::softmax},
        {"Reshape", &LayerMaker::movement},
        {"Flatten", &LayerMaker::movement},
        {"Transpose", &LayerMaker::movement},
        {"Slice", &LayerMaker::movement},
        {"Concat", &LayerMaker::movement},
        {"Split", &LayerMaker::movement},
        {"Gather", &LayerMaker::movement},
        {"LpNormalization", &LayerMaker::movement},
        {"Einsum", &LayerMaker::unsupported},
        {"SSM", &LayerMaker::unsupported},
    };
    const auto rule = rules.find(op.type);
    if (rule != rules.end()) {
      (this->*rule->second)(op);
      return;
    }
    // (L9) Everything else is free; of more than two inputs only two count.
    StreamLayer& layer = start(op, StreamLayerKind::Free);
    layer.before = predecessors(op);
    if (layer.before.size() > 2) layer.before.resize(2);
  }

  [[noreturn]] static void stop(const StreamOperator& op, std::string_view reason) {
    throw StreamStop{fmt::format("{} '{}': {}", op.type, op.name, reason)};
  }
  void unsupported(const StreamOperator& op) { stop(op, "MONET has no rule for this operator of Stream"); }

  // ---- What the model says ----

  const Integers& shape(const StreamOperator& op, const std::string& tensor) const {
    const auto found = model_.shapes.find(tensor);
    if (found == model_.shapes.end()) stop(op, fmt::format("the shape of '{}' is not known", tensor));
    for (const std::int64_t extent : found->second)
      if (extent < 1 || extent > kMostExtent) stop(op, fmt::format("'{}' has no fixed shape", tensor));
    return found->second;
  }
  const Integers& input_shape(const StreamOperator& op) const { return shape(op, op.inputs[0]); }
  const Integers& output_shape(const StreamOperator& op) const {
    if (op.outputs.empty()) stop(op, "it has no output");
    return shape(op, op.outputs[0]);
  }
  static Integers attribute(const StreamOperator& op, const std::string& name, Integers otherwise) {
    const auto found = op.attributes.find(name);
    return found == op.attributes.end() ? otherwise : found->second;
  }
  static std::int64_t number(const StreamOperator& op, const std::string& name, std::int64_t otherwise) {
    const auto found = op.attributes.find(name);
    return found == op.attributes.end() || found->second.empty() ? otherwise : found->second[0];
  }

  // (L1) Layers that make its inputs, one for each input that any makes.
  Integers predecessors(const StreamOperator& op) const {
    Integers out;
    for (const std::string& input : op.inputs)
      if (const auto found = producer_.find(input); found != producer_.end()) out.push_back(found->second);
    return out;
  }

  // ---- Layers ----

  StreamLayer& start(const StreamOperator& op, StreamLayerKind kind) {
    StreamLayer& layer = layers_.emplace_back();
    layer.id = static_cast<std::int64_t>(layers_.size()) - 1;
    layer.name = op.name;
    layer.operator_type = op.type;
    layer.type = op.type;
    std::transform(layer.type.begin(), layer.type.end(), layer.type.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    layer.kind = kind;
    layer.inputs = op.inputs;
    layer.outputs = op.outputs;
    return layer;
  }

  // (L2) Precisions; with two made inputs both are activations.
  static std::array<StreamLayerOperand, 3> operands(const StreamOperator& op, bool both_made) {
    const std::int64_t weight = number(op, "weight_size", 8), activation = number(op, "act_size", 8),
                       sums = number(op, "output_size", 2 * activation);
    for (const std::int64_t bits : {weight, activation, sums})
      if (bits < 0 || bits > 1024) stop(op, "a precision is out of range");
    const std::int64_t second = both_made ? activation : weight;
    return {StreamLayerOperand{.name = "O", .slot = Slot::Output, .bits = activation, .partial_bits = sums},
            StreamLayerOperand{.name = "W", .slot = Slot::Weight, .bits = second, .partial_bits = second},
            StreamLayerOperand{.name = "I", .slot = Slot::Input, .bits = activation, .partial_bits = activation}};
  }

  static std::size_t find(const StreamLayer& layer, std::string_view name) {
    const auto at = std::find_if(layer.operands.begin(), layer.operands.end(),
                                 [&](const StreamLayerOperand& o) { return o.name == name; });
    return static_cast<std::size_t>(at - layer.operands.begin());
  }

  // What each operand is made by, in this order; made by nobody else: a constant.
  static void set_sources(StreamLayer& layer, const std::vector<std::pair<const char*, std::int64_t>>& sources) {
    layer.constants.clear();
    layer.sourced.clear();
    layer.before.clear();
    for (const auto& [name, source] : sources) {
      const std::size_t o = find(layer, name);
      layer.operands[o].is_constant = source == layer.id;
      if (source == layer.id) {
        layer.constants.push_back(o);
        continue;
      }
      layer.operands[o].source = source;
      layer.sourced.push_back(o);
      layer.before.push_back(source);
    }
  }

  // (L3) One made input is I and the other operand a constant. Of two, convolutions and products take the first as I,
  // element-wise operators the second.
  void set_sources(const StreamOperator& op, StreamLayer& layer, bool first_is_input) {
    const Integers made = predecessors(op);
    if (made.size() > 2) stop(op, "more than two of its inputs are made by others");
    const std::int64_t self = layer.id;
    if (made.empty()) return set_sources(layer, {{"W", self}, {"I", self}});
    if (made.size() == 1) return set_sources(layer, {{"W", self}, {"I", made[0]}});
    set_sources(layer, {{"W", made[first_is_input ? 1 : 0]}, {"I", made[first_is_input ? 0 : 1]}});
  }

  static void mark_cache(const StreamOperator& op, StreamLayer& layer) {
    if (op.name.find("_cache") == std::string::npos) return;
    layer.operands[find(layer, "W")].is_partly_constant = true;
  }

  // (L4) The height is called OX, the width OY. Channels of one are no dimension; weights of groups lose their K.
  void convolution(const StreamOperator& op) {
    const Integers &x = input_shape(op), &y = output_shape(op);
    // Stream wants the attribute; the weights say the same.
    Integers kernel = attribute(op, "kernel_shape", {});
    const auto weights_shape = op.inputs.size() > 1 ? model_.shapes.find(op.inputs[1]) : model_.shapes.end();
    if (kernel.empty() && weights_shape != model_.shapes.end() && weights_shape->second.size() > 2)
      kernel.assign(weights_shape->second.begin() + 2, weights_shape->second.end());
    const std::size_t rank = kernel.size();
    if (rank != 1 && rank != 2) stop(op, "it has no kernel_shape of one or two axes");
    const Integers strides = attribute(op, "strides", {1, 1}), dilations = attribute(op, "dilations", {1, 1}),
                   pads = attribute(op, "pads", {0, 0, 0, 0});
    const std::int64_t groups = number(op, "group", 1);
    if (x.size() != rank + 2 || y.size() != rank + 2 || strides.size() < rank || dilations.size() < rank ||
        pads.size() < 2 * rank || groups < 1 || groups > kMostExtent)
      stop(op, "its shapes and attributes do not fit together");
    StreamLayer& layer = start(op, StreamLayerKind::Compute);
    layer.type = "conv";
    const std::int64_t k = (y[1] + groups - 1) / groups, c = (x[1] + groups - 1) / groups;
    layer.dimensions = {{"B", y[0]}};
    const auto dimension = [&](const char* name, std::int64_t size) {
      layer.dimensions.push_back({name, size});
      return layer.dimensions.size() - 1;
    };
    const std::size_t kNoDimension = ~std::size_t{0};
    const std::size_t dk = k == 1 ? kNoDimension : dimension("K", k), dg = dimension("G", groups),
                      dox = dimension("OX", y[2]);
    const std::size_t dc = c == 1 ? kNoDimension : dimension("C", c), dfx = dimension("FX", kernel[0]);
    window(op, layer, "IX", dox, dfx, strides[0], dilations[0], pads[0], x[2]);
    std::vector<std::size_t> out{0, dg, dk}, weights{groups > 1 ? dg : dk, dc}, in{0, dg, dc};
    if (rank == 2) {
      const std::size_t doy = dimension("OY", y[3]), dfy = dimension("FY", kernel[1]);
      window(op, layer, "IY", doy, dfy, strides[1], dilations[1], pads[1], x[3]);
      out.push_back(doy);
      weights.push_back(dfy);
      in.push_back(layer.dimensions.size() + 1);
    }
    out.push_back(dox);
    weights.push_back(dfx);
    in.push_back(layer.dimensions.size());
    for (auto* axes : {&out, &weights, &in}) std::erase(*axes, kNoDimension);
    const auto [o, w, i] = operands(op, predecessors(op).size() == 2);
    layer.operands = {o, w, i};
    layer.operands[0].axes = out;
    layer.operands[1].axes = weights;
    layer.operands[2].axes = in;
    set_sources(op, layer, true);
  }

  static void window(const StreamOperator& op, StreamLayer& layer, const char* name, std::size_t a, std::size_t b,
                     std::int64_t stride, std::int64_t dilation, std::int64_t padding, std::int64_t extent) {
    constexpr std::int64_t kMostStep = 1 << 20;
    if (stride < 1 || dilation < 1 || stride > kMostStep || dilation > kMostStep || padding < 0 || padding > kMostStep)
      stop(op, "a stride, dilation or padding is out of range");
    if (layer.dimensions[b].size < 1 || layer.dimensions[b].size > kMostStep) stop(op, "its kernel is out of range");
    layer.relations.push_back(
        {.name = name, .a = a, .b = b, .step_a = stride, .step_b = dilation, .padding = padding, .extent = extent});
  }

  // (L5) Channels stand twice, as K and as a C that no operand has: every channel is pooled as often as there are any.
  void pooling(const StreamOperator& op) {
    const Integers &x = input_shape(op), &y = output_shape(op);
    if (x.size() != 4 || y.size() != 4 || x[1] != y[1]) stop(op, "it is no pooling of two axes");
    const bool is_global = op.type.starts_with("Global");
    const Integers kernel = is_global ? Integers{x[2], x[3]} : attribute(op, "kernel_shape", {});
    const Integers strides = attribute(op, "strides", {1, 1}), dilations = attribute(op, "dilations", {1, 1}),
                   pads = attribute(op, "pads", {0, 0, 0, 0});
    if (kernel.size() != 2 || strides.size() < 2 || dilations.size() < 2 || pads.size() < 4)
      stop(op, "its attributes do not fit two axes");
    const Integers made = predecessors(op);
    if (made.size() > 1) stop(op, "it has more than one input");
    StreamLayer& layer = start(op, StreamLayerKind::Compute);
    layer.type = "pooling";
    enum : std::size_t { kB, kK, kOx, kOy, kC, kFx, kFy, kIx, kIy };
    layer.dimensions = {{"B", y[0]}, {"K", y[1]},       {"OX", y[2]},     {"OY", y[3]},
                        {"C", x[1]}, {"FX", kernel[0]}, {"FY", kernel[1]}};
    window(op, layer, "IX", kOx, kFx, strides[0], dilations[0], pads[0], x[2]);
    window(op, layer, "IY", kOy, kFy, strides[1], dilations[1], pads[1], x[3]);
    layer.operands = {{.name = "O", .slot = Slot::Output, .axes = {kB, kK, kOy, kOx}},
                      {.name = "W", .slot = Slot::Weight, .bits = 0, .partial_bits = 0, .axes = {kFy, kFx}},
                      {.name = "I", .slot = Slot::Input, .axes = {kB, kK, kIy, kIx}}};
    if (made.empty())
      set_sources(layer, {{"W", layer.id}});
    else
      set_sources(layer, {{"I", made[0]}, {"W", layer.id}});
  }

  // (L6) I[B][H][D][C] · W[C][K]; made weights have the batch dimensions, too.
  void product(const StreamOperator& op) {
    const Integers &x = input_shape(op), &y = output_shape(op);
    const std::size_t rank = x.size();
    if (rank < 2 || rank > 4 || y.size() < 2 || x[rank - 2] != y[y.size() - 2])
      stop(op, "rows of its input and its output differ in number");
    StreamLayer& layer = start(op, StreamLayerKind::Compute);
    const std::size_t batch = rank - 2, d = batch, c = batch + 1, k = batch + 2;
    for (std::size_t i = 0; i < batch; ++i) layer.dimensions.push_back({kProductDimensions[i], x[i]});
    layer.dimensions.push_back({"D", y[y.size() - 2]});
    layer.dimensions.push_back({"C", x.back()});
    layer.dimensions.push_back({"K", y.back()});
    const bool both_made = predecessors(op).size() >= 2;
    const auto [o, w, i] = operands(op, both_made);
    layer.operands = {o, i, w};
    const auto axes = [&](bool has_batch, std::size_t first, std::size_t second) {
      std::vector<std::size_t> out(has_batch ? batch : 0);
      std::iota(out.begin(), out.end(), std::size_t{0});
      out.push_back(first);
      out.push_back(second);
      return out;
    };
    layer.operands[0].axes = axes(true, d, k);
    layer.operands[1].axes = axes(true, d, c);
    layer.operands[2].axes = axes(both_made, c, k);
    mark_cache(op, layer);
    set_sources(op, layer, true);
  }

  void set_element_dimensions(const StreamOperator& op, StreamLayer& layer, const Integers& sizes) {
    if (sizes.size() > kElementDimensions.size()) stop(op, "it has more than four axes");
    for (std::size_t i = 0; i < sizes.size(); ++i) layer.dimensions.push_back({kElementDimensions[i], sizes[i]});
  }
  static std::vector<std::size_t> all_axes(std::size_t count) {
    std::vector<std::size_t> axes(count);
    std::iota(axes.begin(), axes.end(), std::size_t{0});
    return axes;
  }

  // (L7) The other factor of an operator with one made input is a single constant.
  void unary(const StreamOperator& op) {
    const Integers& y = output_shape(op);
    if (input_shape(op) != y) stop(op, "its input and its output have other shapes");
    const Integers made = predecessors(op);
    StreamLayer& layer = start(op, StreamLayerKind::Compute);
    set_element_dimensions(op, layer, y);
    const auto [o, w, i] = operands(op, made.size() == 2);
    layer.operands = {o, i, w};
    for (StreamLayerOperand& operand : layer.operands)
      if (operand.name != "W" || made.size() != 1) operand.axes = all_axes(y.size());
    mark_cache(op, layer);
    set_sources(op, layer, false);
  }

  // (L7) The input of another shape is W, else the first; it has the last dimensions, also where it is broadcast.
  void binary(const StreamOperator& op) {
    if (op.inputs.size() != 2 || op.outputs.size() != 1) stop(op, "it has not two inputs and an output");
    const Integers &a = shape(op, op.inputs[0]), &b = shape(op, op.inputs[1]), &y = output_shape(op);
    if (a != y && b != y) stop(op, "no input has the shape of the output");
    const Integers& broadcast = a == y ? b : a;
    if (broadcast.size() > y.size()) stop(op, "the broadcast input has more axes than the output");
    for (std::size_t i = 0; i < broadcast.size(); ++i) {
      const std::int64_t extent = broadcast[broadcast.size() - 1 - i];
      if (extent != 1 && extent != y[y.size() - 1 - i]) stop(op, "its inputs cannot be broadcast");
    }
    const Integers made = predecessors(op);
    if (made.size() > 2) stop(op, "more than two of its inputs are made by others");
    StreamLayer& layer = start(op, StreamLayerKind::Compute);
    set_element_dimensions(op, layer, y);
    const auto [o, w, i] = operands(op, made.size() == 2);
    layer.operands = {o, i, w};
    layer.operands[0].axes = layer.operands[1].axes = layer.operands[2].axes = all_axes(y.size());
    auto& axes = layer.operands[2].axes;
    axes.erase(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(y.size() - broadcast.size()));
    mark_cache(op, layer);
    if (made.size() < 2) return set_sources(op, layer, false);
    const std::int64_t of_w = producer_.at(op.inputs[a == broadcast ? 0 : 1]);
    set_sources(layer, {{"W", of_w}, {"I", made[0] == of_w ? made[1] : made[0]}});
  }

  // (L8) Along the last axis only, which is kept as R, of one element.
  StreamLayer& reduce(const StreamOperator& op, const Integers& x) {
    if (predecessors(op).size() != 1) stop(op, "it has not one made input");
    if (x.empty()) stop(op, "it has no axis");
    StreamLayer& layer = start(op, StreamLayerKind::Compute);
    set_element_dimensions(op, layer, x);
    layer.dimensions.push_back({"R", 1});
    const auto [o, w, i] = operands(op, false);
    layer.operands = {o, i, w};
    layer.operands[0].axes = all_axes(x.size());
    layer.operands[0].axes.back() = x.size();
    layer.operands[1].axes = all_axes(x.size());
    set_sources(op, layer, false);
    return layer;
  }

  void reduction(const StreamOperator& op) {
    const Integers &x = input_shape(op), &y = output_shape(op);
    bool is_last = x.size() == y.size() && !x.empty() && (y.back() == 1 || y.back() == x.back());
    for (std::size_t i = 0; is_last && i + 1 < x.size(); ++i) is_last = x[i] == y[i];
    if (!is_last) stop(op, "only a reduction along the last axis that keeps it is known to Stream");
    mark_cache(op, reduce(op, x));
  }

  // (L8) Maximum, exponentials, sum and quotients are four layers.
  void softmax(const StreamOperator& op) {
    const Integers& x = input_shape(op);
    if (output_shape(op) != x || x.size() < 2) stop(op, "its input and its output have other shapes, or one axis");
    const auto rename = [](StreamLayer& layer, const char* type) {
      layer.type = type;
      layer.name += fmt::format("-{}/", type);
    };
    const auto scale = [&](const char* type) -> StreamLayer& {
      StreamLayer& layer = start(op, StreamLayerKind::Compute);
      set_element_dimensions(op, layer, x);
      layer.dimensions.push_back({"R", 1});
      const auto [o, w, i] = operands(op, false);
      layer.operands = {o, i, w};
      for (StreamLayerOperand& operand : layer.operands) operand.axes = all_axes(x.size());
      layer.operands[2].axes.back() = x.size();
      rename(layer, type);
      return layer;
    };
    StreamLayer& maximum = reduce(op, x);
    rename(maximum, "max");
    const std::int64_t first = maximum.id, input = predecessors(op)[0];
    set_sources(scale("exp"), {{"I", input}, {"W", first}});
    StreamLayer& sum = reduce(op, x);
    rename(sum, "sum");
    set_sources(sum, {{"W", sum.id}, {"I", first + 1}});
    set_sources(scale("div"), {{"I", first + 1}, {"W", first + 2}});
  }

  // ---- (L10) Operators that only pass elements on ----

  Integers parameter(const StreamOperator& op, const std::string& name, std::size_t input, Integers otherwise) const {
    if (const auto found = op.attributes.find(name); found != op.attributes.end()) return found->second;
    if (input < op.inputs.size())
      if (const auto found = model_.integers.find(op.inputs[input]); found != model_.integers.end())
        return found->second;
    return otherwise;
  }

  void movement(const StreamOperator& op) {
    const Integers made = predecessors(op);
    const bool may_have_none = op.type == "Gather" || op.type == "Concat" || op.type == "Flatten";
    if ((made.empty() && !may_have_none) || made.size() > (op.type == "Gather" || op.type == "Concat" ? 2u : 1u))
      stop(op, fmt::format("{} of its inputs are made by others", made.size()));
    StreamLayer layer;
    layer.axis = number(op, "axis", op.type == "Flatten" ? 1 : 0);
    if (op.type == "Reshape") {
      layer.kind = StreamLayerKind::Reshape;
      layer.numbers = output_shape(op);
    } else if (op.type == "Flatten") {
      layer.kind = StreamLayerKind::Flatten;
    } else if (op.type == "Transpose") {
      layer.kind = StreamLayerKind::Transpose;
      layer.numbers = attribute(op, "perm", {});
    } else if (op.type == "Slice") {
      layer.kind = StreamLayerKind::Slice;
      const Integers from = parameter(op, "starts", 1, {}), to = parameter(op, "ends", 2, {}),
                     axes = parameter(op, "axes", 3, {0}), steps = parameter(op, "steps", 4, {1});
      if (from.empty() || to.empty() || axes.empty() || steps.empty() || steps[0] < 1)
        stop(op, "its bounds are not known");
      layer.from = from[0];
      layer.to = to[0];
      layer.axis = axes[0];
      layer.step = steps[0];
    } else if (op.type == "Concat") {
      layer.kind = StreamLayerKind::ConcatConstant;
      const auto constant = std::find_if(op.inputs.begin(), op.inputs.end(),
                                         [&](const std::string& input) { return !producer_.contains(input); });
      if (op.inputs.size() != 2 || constant == op.inputs.end()) stop(op, "not one of two inputs is a constant");
      layer.numbers = shape(op, *constant);
    } else if (op.type == "Split") {
      layer.kind = StreamLayerKind::Split;
      layer.numbers = parameter(op, "split", 1, {});
      if (layer.numbers.size() != op.outputs.size()) stop(op, "the sizes of its parts are not known");
    } else if (op.type == "Gather") {
      layer.kind = StreamLayerKind::Gather;
      // A single index is taken as 0, and its axis is lost.
      const auto indices = op.inputs.size() > 1 ? model_.shapes.find(op.inputs[1]) : model_.shapes.end();
      if (indices != model_.shapes.end() && !indices->second.empty()) layer.numbers = parameter(op, "", 1, {});
    } else {
      layer.kind = StreamLayerKind::Pass;
    }
    for (const std::int64_t n : layer.numbers)
      if (n > kMostExtent || n < -kMostExtent || layer.step > kMostExtent) stop(op, "a number of it is out of range");
    StreamLayer& made_layer = start(op, layer.kind);
    made_layer.before = made;
    made_layer.axis = layer.axis;
    made_layer.from = layer.from;
    made_layer.to = layer.to;
    made_layer.step = layer.step;
    made_layer.numbers = std::move(layer.numbers);
  }

  const StreamModel& model_;
  std::vector<StreamLayer> layers_;
  std::map<std::string, std::int64_t> producer_;
};

}  // namespace

StreamLayers stream_layers(const StreamModel& model) { return LayerMaker(model).run(); }

}  // namespace monet::schedule
