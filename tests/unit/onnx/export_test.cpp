#include "monet/onnx/export.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

// As the library that holds the classes was built; the rooms do not pass it on.
#ifndef ONNX_ML
#define ONNX_ML 1
#endif
#include <onnx/onnx_pb.h>

#include <map>
#include <set>

#include "monet/base/diagnostic.h"
#include "monet/graph/builder.h"
#include "monet/graph/steps.h"
#include "support/every_operator.h"

namespace monet::test {
namespace {

onnx::ModelProto parsed(const std::string& bytes) {
  onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(bytes));
  return model;
}
onnx::ModelProto exported(const Graph& graph, const ExportOptions& options = {},
                          const Values<double>* values = nullptr) {
  return parsed(export_onnx(graph, options, values));
}

// The one node of this type.
const onnx::NodeProto& node_of_type(const onnx::ModelProto& model, const std::string& type) {
  static const onnx::NodeProto kNone;
  const onnx::NodeProto* found = &kNone;
  int count = 0;
  for (const onnx::NodeProto& node : model.graph().node())
    if (node.op_type() == type) found = &node, ++count;
  EXPECT_EQ(count, 1) << type;
  return *found;
}

std::vector<std::int64_t> ints(const onnx::NodeProto& node, const std::string& name) {
  for (const onnx::AttributeProto& attribute : node.attribute())
    if (attribute.name() == name)
      return attribute.ints_size() ? std::vector<std::int64_t>(attribute.ints().begin(), attribute.ints().end())
                                   : std::vector<std::int64_t>{attribute.i()};
  return {};
}

const onnx::ValueInfoProto* value_named(const google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>& list,
                                        const std::string& name) {
  for (const onnx::ValueInfoProto& value : list)
    if (value.name() == name) return &value;
  return nullptr;
}

const onnx::TensorProto* initializer_named(const onnx::ModelProto& model, const std::string& name) {
  for (const onnx::TensorProto& tensor : model.graph().initializer())
    if (tensor.name() == name) return &tensor;
  return nullptr;
}

std::vector<std::string> messages(const InputError& error) {
  std::vector<std::string> all;
  for (const Diagnostic& diagnostic : error.diagnostics()) all.push_back(to_string(diagnostic));
  return all;
}

// ---- The file as a whole ----

TEST(Export, SaysWhatItIs) {
  Builder b("tiny");
  const TensorId x = b.source("x", {2, 3}, Format{}, Category::Input);
  b.graph().outputs = {b.unary(UnaryKind::Relu, x, "relu")};
  const onnx::ModelProto model = exported(b.graph(), {.version = "1.2.3"});
  EXPECT_EQ(model.ir_version(), 8);
  EXPECT_EQ(model.producer_name(), "monet");
  ASSERT_EQ(model.opset_import_size(), 1);
  EXPECT_EQ(model.opset_import(0).domain(), "");
  EXPECT_EQ(model.opset_import(0).version(), 17);
  ASSERT_EQ(model.metadata_props_size(), 1);
  EXPECT_EQ(model.metadata_props(0).key(), "monet");
  EXPECT_EQ(model.metadata_props(0).value(), "1.2.3");
  EXPECT_EQ(model.graph().name(), "tiny");
  ASSERT_EQ(model.graph().node_size(), 1);
  EXPECT_EQ(model.graph().node(0).op_type(), "Relu");
  EXPECT_EQ(model.graph().node(0).name(), "relu");
  EXPECT_EQ(exported(b.graph()).metadata_props(0).value(), "graph");
}

TEST(Export, EveryOperatorBecomesStandardNodesInAnOrderThatRuns) {
  const Graph all = every_operator(false), graph = expand_steps(all);
  std::set<std::string> missing;
  for (const std::string& name : missing_operators(all)) missing.insert(name);
  EXPECT_EQ(missing, std::set<std::string>{"fallback"});
  const onnx::ModelProto model = exported(all);

  std::set<std::string> known, nodes;
  for (const auto& input : model.graph().input()) known.insert(input.name());
  for (const auto& tensor : model.graph().initializer()) known.insert(tensor.name());
  std::map<std::string, std::string> phases;
  for (const onnx::NodeProto& node : model.graph().node()) {
    EXPECT_EQ(node.domain(), "");
    EXPECT_TRUE(nodes.insert(node.name()).second) << node.name() << " occurs twice";
    phases[node.name()] = node.doc_string();
    for (const std::string& input : node.input())
      EXPECT_TRUE(input.empty() || known.contains(input)) << node.name() << " reads " << input;
    for (const std::string& output : node.output())
      EXPECT_TRUE(known.insert(output).second) << output << " is written twice";
  }
  for (const Node& node : graph.nodes)
    EXPECT_EQ(phases[node.name], fmt::format("monet phase={}", name(node.phase))) << node.name;
  for (const Tensor& tensor : graph.tensors) EXPECT_TRUE(known.contains(tensor.name)) << tensor.name;
  ASSERT_EQ(static_cast<std::size_t>(model.graph().output_size()), graph.outputs.size());
  for (std::size_t i = 0; i < graph.outputs.size(); ++i)
    EXPECT_EQ(model.graph().output(static_cast<int>(i)).name(), graph[graph.outputs[i]].name);
}

TEST(Export, DocStringsKeepCategoryFormatAndOverwrites) {
  Builder b("docs");
  const TensorId w = b.source("w", {4}, Format{}, Category::Weight);
  const TensorId narrow = b.source("narrow", {4}, Format{Element::F8E4M3, 1, 32, 8}, Category::Activation);
  b.phase = Phase::Update;
  const TensorId next = b.binary(BinaryKind::Sub, w, narrow, "w next");
  b[next].overwrites = w;
  b[next].category = Category::Weight;
  const auto relu = b.add(Unary{UnaryKind::Relu}, {w}, "relu", 2);
  b.graph().outputs = {next};
  const onnx::ModelProto model = exported(b.graph());
  EXPECT_EQ(value_named(model.graph().input(), "w")->doc_string(), "monet category=weight");
  EXPECT_EQ(value_named(model.graph().input(), "narrow")->doc_string(),
            "monet category=activation format=f8e4m3/1x32+8");
  EXPECT_EQ(value_named(model.graph().input(), "narrow")->type().tensor_type().elem_type(),
            onnx::TensorProto_DataType_FLOAT);
  EXPECT_EQ(value_named(model.graph().output(), "w next")->doc_string(), "monet category=weight overwrites=w");
  const onnx::ValueInfoProto* mask = value_named(model.graph().value_info(), b[relu[1]].name);
  ASSERT_NE(mask, nullptr);
  EXPECT_EQ(mask->doc_string(), "monet category=mask format=bit");
  EXPECT_EQ(mask->type().tensor_type().elem_type(), onnx::TensorProto_DataType_BOOL);
}

TEST(Export, NamesOfPartsNeverCollideWithOurs) {
  Builder b("names");
  const TensorId x = b.source("x", {4}, Format{}, Category::Input);
  const TensorId taken = b.unary(UnaryKind::Relu, x, "silu/Sigmoid");  // what the part of silu would be called
  const TensorId y = b.unary(UnaryKind::Silu, taken, "silu");
  b.graph().outputs = {y};
  std::set<std::string> nodes, values;
  const onnx::ModelProto model = exported(b.graph());
  for (const onnx::NodeProto& node : model.graph().node()) {
    EXPECT_TRUE(nodes.insert(node.name()).second);
    EXPECT_TRUE(values.insert(node.output(0)).second);
  }
  EXPECT_EQ(nodes, (std::set<std::string>{"silu/Sigmoid", "silu/Sigmoid.2", "silu"}));
  EXPECT_TRUE(values.contains("silu"));
}

// ---- Sources ----

TEST(Export, ConstantsAreInitialisersAndOtherSourcesInputs) {
  Builder b("sources");
  const TensorId x = b.source("x", {2}, Format{}, Category::Input);
  const TensorId w = b.source("w", {2}, Format{}, Category::Weight, Splat{1});
  const TensorId m = b.source("m", {2}, Format{}, Category::OptimizerState, Splat{0});
  const TensorId k = b.source("k", {2}, Format{}, Category::Constant, Dense{{3, 4}});
  const TensorId large = b.source("large", {2000, 2}, Format{}, Category::Constant, Splat{5});
  b.graph().outputs = {b.one(Sum{}, {x, w, m, k, large}, "sum")};
  const onnx::ModelProto model = exported(b.graph());
  std::vector<std::string> inputs;
  for (const auto& input : model.graph().input()) inputs.push_back(input.name());
  EXPECT_EQ(inputs, (std::vector<std::string>{"x", "w", "m"}));
  ASSERT_NE(initializer_named(model, "k"), nullptr);
  EXPECT_EQ(initializer_named(model, "w"), nullptr);
  EXPECT_EQ(initializer_named(model, "large"), nullptr);
  EXPECT_EQ(node_of_type(model, "ConstantOfShape").output(0), "large");
  EXPECT_LT(export_onnx(b.graph()).size(), 4000u);  // 4000 elements of `large` alone would take 16000 bytes
}

TEST(Export, WeightsAreInitialisersThatCanBeOverridden) {
  Builder b("weights");
  const TensorId x = b.source("x", {2}, Format{}, Category::Input);
  const TensorId w = b.source("w", {2}, Format{}, Category::Weight);
  const TensorId master = b.source("master", {2}, Format{}, Category::OptimizerState, CopyOf{w});
  const TensorId m = b.source("m", {2}, Format{}, Category::OptimizerState, Splat{0.5});
  b.graph().outputs = {b.one(Sum{}, {x, w, master, m}, "sum")};
  const Values<double> values{{"w", {{2}, {1.5, -2}}}};
  const onnx::ModelProto model = exported(b.graph(), {.weights = true}, &values);
  EXPECT_EQ(model.graph().input_size(), 4);
  const auto bytes = [&](const std::string& name) {
    const onnx::TensorProto* tensor = initializer_named(model, name);
    return tensor ? tensor->raw_data() : "absent";
  };
  const std::string numbers("\x00\x00\xc0\x3f\x00\x00\x00\xc0", 8);  // 1.5f, -2f
  EXPECT_EQ(bytes("w"), numbers);
  EXPECT_EQ(bytes("master"), numbers);
  EXPECT_EQ(bytes("m"), std::string("\x00\x00\x00\x3f\x00\x00\x00\x3f", 8));
  EXPECT_EQ(bytes("x"), "absent");
}

TEST(Export, MissingAndMisshapenWeightsAreAllNamed) {
  Builder b("missing");
  const TensorId v = b.source("v", {2}, Format{}, Category::Weight), w = b.source("w", {2}, Format{}, Category::Weight),
                 u = b.source("u", {3}, Format{}, Category::Weight);
  b.graph().outputs = {b.binary(BinaryKind::Add, v, w, "sum"), u};
  const Values<double> values{{"v", {{2}, {1, 2}}}, {"u", {{2}, {1, 2}}}};
  try {
    export_onnx(b.graph(), {.weights = true}, &values);
    FAIL() << "no error";
  } catch (const InputError& error) {
    const auto found = messages(error);
    ASSERT_EQ(found.size(), 2u);
    EXPECT_NE(found[0].find("'w'"), std::string::npos) << found[0];
    EXPECT_NE(found[1].find("'u'"), std::string::npos) << found[1];
  }
}

TEST(Export, ValuesBeyondTwoGigabytesAreRefusedBeforeTheyAreMade) {
  Builder b("huge");
  const TensorId mask = b.source("mask", {1 << 20, 1 << 20}, Format{}, Category::Constant, Triangle{0, 0, -1});
  b.graph().outputs = {b.unary(UnaryKind::Neg, mask, "neg")};
  EXPECT_THROW(export_onnx(b.graph()), InputError);
}

// Codes from numpy: np.float16(v).view(np.uint16); bf16 by rounding the float32 code to its upper half, ties to even.
TEST(Export, NarrowFloatsRoundToNearestEven) {
  const std::vector<double> numbers{0.1, -1.0 / 3, 65519, 65520, 0x1p-24, 0x1p-25, 0x3p-25, 6.1e-5, 2049, 0};
  const std::vector<unsigned> f16{0x2e66, 0xb555, 0x7bff, 0x7c00, 0x0001, 0x0000, 0x0002, 0x03ff, 0x6800, 0x0000};
  const std::vector<unsigned> bf16{0x3dcd, 0xbeab, 0x4780, 0x4780, 0x3380, 0x3300, 0x33c0, 0x3880, 0x4500, 0x0000};
  Builder b("narrow");
  for (const Element element : {Element::F16, Element::BF16})
    b.graph().outputs.push_back(
        b.source(std::string(name(element)), {10}, Format{element}, Category::Constant, Dense{numbers}));
  const onnx::ModelProto model = exported(b.graph());
  const auto codes = [&](const std::string& name) {
    std::vector<unsigned> list;
    const std::string bytes = initializer_named(model, name)->raw_data();
    for (std::size_t i = 0; i + 1 < bytes.size(); i += 2)
      list.push_back(static_cast<unsigned char>(bytes[i]) |
                     static_cast<unsigned>(static_cast<unsigned char>(bytes[i + 1])) << 8);
    return list;
  };
  EXPECT_EQ(codes("f16"), f16);
  EXPECT_EQ(codes("bf16"), bf16);
}

// ---- Single rules ----

TEST(Export, MatricesBecomeGemmAndBatchesMatMul) {
  Builder b("products");
  const TensorId a = b.source("a", {2, 3}, Format{}, Category::Input),
                 w = b.source("w", {4, 3}, Format{}, Category::Weight),
                 c = b.source("c", {4}, Format{}, Category::Weight),
                 t = b.source("t", {5, 2, 3}, Format{}, Category::Input);
  const MatMul op{.trans_b = true, .alpha = 0.5};
  b.graph().outputs = {b.one(op, {a, w, c}, "gemm"), b.one(op, {t, w, kNoTensor}, "batch")};
  const onnx::ModelProto model = exported(b.graph());
  const onnx::NodeProto& gemm = node_of_type(model, "Gemm");
  EXPECT_EQ(gemm.name(), "gemm");
  EXPECT_EQ(ints(gemm, "transB"), (Ints{1}));
  EXPECT_EQ(ints(gemm, "transA"), (Ints{0}));
  EXPECT_EQ(gemm.input_size(), 3);
  EXPECT_EQ(node_of_type(model, "MatMul").name(), "batch/MatMul");
  EXPECT_EQ(node_of_type(model, "Mul").name(), "batch");  // alpha; writes the output
}

// 3x3, stride 2, pad 1 on 56 pixels makes 28. Backwards the windows reach 27·2+3 = 57 pixels from -1 on: one is cropped
// in front, none is missing behind. With 57 pixels (also 29 windows from -1 to 58) one is cropped on either side.
TEST(Export, DataGradientCoversTheImageExactly) {
  for (const auto& [extent, count, end, extra] :
       {std::tuple{56, 28, 0, 0}, std::tuple{57, 29, 1, 0}, std::tuple{8, 2, 0, 2}}) {
    Builder b("conv");
    const std::int64_t stride = extent == 8 ? 4 : 2;  // 4: windows reach to pixel 5 of 8, the rest sees none
    const TensorId dy = b.source("dy", {1, 4, count}, Format{}, Category::Gradient),
                   w = b.source("w", {4, 2, 3}, Format{}, Category::Weight);
    const std::int64_t pad_end = extent == 8 ? 0 : 1;
    const Conv op{.kind = ConvKind::DataGradient,
                  .strides = {stride},
                  .dilations = {1},
                  .pads_begin = {1},
                  .pads_end = {pad_end},
                  .groups = 1,
                  .extent = {extent}};
    b.graph().outputs = {b.one(op, {dy, w}, "dx")};
    const onnx::ModelProto model = exported(b.graph());
    const onnx::NodeProto& node = node_of_type(model, "ConvTranspose");
    EXPECT_EQ(ints(node, "pads"), (Ints{1, end})) << extent;
    EXPECT_EQ(ints(node, "output_padding"), (Ints{extra})) << extent;
    EXPECT_EQ(node.name(), "dx");
  }
}

TEST(Export, DropoutWithoutAMaskDrawsAgainFromItsSeed) {
  Builder b("dropout");
  const TensorId x = b.source("x", {8}, Format{}, Category::Input),
                 dy = b.source("dy", {8}, Format{}, Category::Gradient);
  b.graph().outputs = {b.one(Dropout{0.25, 42}, {x}, "forward"), b.one(DropoutGradient{0.25, 42}, {dy}, "backward")};
  const onnx::ModelProto model = exported(b.graph());
  ASSERT_EQ(model.graph().node_size(), 2);
  for (const onnx::NodeProto& node : model.graph().node()) {
    EXPECT_EQ(node.op_type(), "Dropout");
    EXPECT_EQ(ints(node, "seed"), (Ints{42}));
    EXPECT_EQ(node.input(1), model.graph().node(0).input(1));  // the same ratio
    EXPECT_EQ(node.output_size(), 1);
  }
}

TEST(Export, PoolIndicesAreOnnxsAndOnlyGradientsReadThem) {
  Builder b("pool");
  const TensorId x = b.source("x", {1, 2, 4, 4}, Format{}, Category::Input);
  const Pool pool{.kernel = {2, 2},
                  .strides = {2, 2},
                  .dilations = {1, 1},
                  .pads_begin = {0, 0},
                  .pads_end = {0, 0},
                  .window_index = true};
  const auto y = b.add(pool, {x}, "pool", 2);
  const PoolGradient gradient{.kernel = {2, 2},
                              .strides = {2, 2},
                              .dilations = {1, 1},
                              .pads_begin = {0, 0},
                              .pads_end = {0, 0},
                              .window_index = true,
                              .extent = {4, 4}};
  b.graph().outputs = {b.one(gradient, {y[0], y[1]}, "dx")};
  const onnx::ModelProto model = exported(b.graph());
  EXPECT_EQ(node_of_type(model, "MaxPool").output(1), "pool.indices");
  EXPECT_EQ(value_named(model.graph().value_info(), "pool.indices")->type().tensor_type().elem_type(),
            onnx::TensorProto_DataType_INT64);
  EXPECT_EQ(node_of_type(model, "ScatterElements").op_type(), "ScatterElements");
  b.graph().outputs.push_back(b.one(Cast{Element::F32}, {y[1]}, "other"));
  EXPECT_THROW(export_onnx(b.graph()), InputError);
}

TEST(Export, MaxOverPaddingAloneIsRefused) {
  Builder b("pool");
  const TensorId x = b.source("x", {1, 1, 1}, Format{}, Category::Input);  // taps at -1 and 1
  const Pool pool{.kernel = {2}, .strides = {1}, .dilations = {2}, .pads_begin = {1}, .pads_end = {1}};
  b.graph().outputs = {b.one(pool, {x}, "pool")};
  EXPECT_THROW(export_onnx(b.graph()), InputError);
}

TEST(Export, EveryUnknownOperatorIsNamed) {
  Builder b("unknown");
  const TensorId x = b.source("x", {2}, Format{}, Category::Input);
  const auto first = b.add_fallback(Fallback{"com.acme:Warp", {}}, {x}, "warp", {"w"}, {{{2}, Format{}, ""}});
  const auto second = b.add_fallback(Fallback{"com.acme:Weft", {}}, {x}, "weft", {"v"}, {{{2}, Format{}, ""}});
  b.graph().outputs = {first[0], second[0]};
  try {
    export_onnx(b.graph());
    FAIL() << "no error";
  } catch (const InputError& error) {
    const auto found = messages(error);
    ASSERT_EQ(found.size(), 2u);
    EXPECT_NE(found[0].find("com.acme:Warp"), std::string::npos);
    EXPECT_NE(found[0].find("node 'warp'"), std::string::npos);
    EXPECT_NE(found[1].find("com.acme:Weft"), std::string::npos);
  }
}

TEST(Export, OpsetsOutsideTheRangeAreRefused) {
  const Graph graph = every_operator(false);
  for (const std::int64_t opset : {16, 22}) EXPECT_THROW(export_onnx(graph, {.opset = opset}), InputError);
  for (const auto& [opset, ir] : {std::pair{17, 8}, {18, 8}, {19, 9}, {20, 9}, {21, 10}}) {
    const onnx::ModelProto model = exported(graph, {.opset = opset});
    EXPECT_EQ(model.opset_import(0).version(), opset);
    EXPECT_EQ(model.ir_version(), ir);
  }
}

}  // namespace
}  // namespace monet::test
