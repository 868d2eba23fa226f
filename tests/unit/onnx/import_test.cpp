#include "monet/onnx/import.h"

#include "unit/onnx/import_model.h"

namespace monet::test {
namespace {

ModelText conv_relu() {
  ModelText m;
  m.input("x", {2, 3, 8, 8}).weight("w", {4, 3, 3, 3}).weight("b", {4}).output("y");
  auto& conv = m.node("Conv", {"x", "w", "b"}, {"c"}, "conv1");
  set(conv, "pads", {1, 1, 1, 1});
  set(conv, "strides", {2, 2});
  m.node("Relu", {"c"}, {"y"});
  return m;
}

TEST(Import, KeepsNamesShapesAndCategories) {
  const Import result = conv_relu().import();
  EXPECT_EQ(print(result.graph), R"(graph "test"
input x : f32[2,3,8,8]
weight w : f32[4,3,3,3]
weight b : f32[4]

forward conv1 = conv{strides=[2,2], dilations=[1,1], pads_begin=[1,1], pads_end=[1,1]}(x, w, b) -> c : f32[2,4,4,4]
forward Relu_1 = relu(c) -> y : f32[2,4,4,4]

output y
)");
  EXPECT_HOLDS(text_of(result.warnings), "holds no numbers for 'w', 'b'");
}

TEST(Import, SortsNodesThatStandInTheWrongOrder) {
  ModelText m;
  m.input("x", {4}).output("y");
  m.node("Neg", {"b"}, {"y"}, "third");
  m.node("Exp", {"x"}, {"a"}, "first");
  m.node("Abs", {"a"}, {"b"}, "second");
  EXPECT_EQ(operators(m.import().graph), (std::vector<std::string>{"exp", "abs", "neg"}));
}

// ---- Damaged files ----

TEST(ImportErrors, EveryTruncationIsReportedWithAByteOrIsSound) {
  const std::string bytes = conv_relu().bytes();
  int with_offset = 0;
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    try {
      import_onnx(std::string_view(bytes).substr(0, size), "cut.onnx");
      ADD_FAILURE() << "a model cut at byte " << size << " imported";
    } catch (const InputError& error) {
      EXPECT_EQ(error.diagnostics()[0].file, "cut.onnx");
      with_offset += error.diagnostics()[0].where.rfind("byte ", 0) == 0;
    }
  }
  // All but the cuts that fall between two fields of the model.
  EXPECT_GT(with_offset, static_cast<int>(bytes.size()) - 10);
}

TEST(ImportErrors, SaysWhereTheBytesBreak) {
  std::string bytes = conv_relu().bytes();
  bytes += '\x0f';  // field 1, wire type 7
  try {
    import_onnx(bytes, "m.onnx");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(error.diagnostics()[0].where, "byte " + std::to_string(bytes.size() - 1));
    EXPECT_HOLDS(error.diagnostics()[0].message, "wire type 7");
  }
}

TEST(ImportErrors, RefusesWhatIsNoModel) {
  EXPECT_THROW(import_onnx("", "m.onnx"), InputError);
  EXPECT_THROW(import_onnx("just some text, no protobuf at all", "m.onnx"), InputError);
  ModelText empty;
  empty.proto.clear_graph();
  EXPECT_HOLDS(text_of(errors_of(empty)), "holds no graph");
}

TEST(ImportErrors, MissingFileNamesItself) {
  try {
    import_onnx(std::string("no/such/file.onnx"));
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(error.diagnostics()[0].file, "no/such/file.onnx");
  }
}

// ---- Broken graphs ----

TEST(ImportErrors, CycleNamesItsNodes) {
  ModelText m;
  m.input("x", {4}).output("y");
  m.node("Add", {"x", "c"}, {"a"}, "one");
  m.node("Abs", {"a"}, {"b"}, "two");
  m.node("Neg", {"b"}, {"c"}, "three");
  m.node("Exp", {"b"}, {"y"}, "four");
  const auto errors = errors_of(m);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].where, "node 0 'one' (Add)");
  for (const char* name : {"one", "two", "three"}) EXPECT_HOLDS(errors[0].message, name);
  EXPECT_LACKS(errors[0].message, "four");
}

TEST(ImportErrors, DanglingInputSuggestsTheNearestName) {
  ModelText m = conv_relu();
  m.graph().mutable_node(1)->set_input(0, "cc");
  const auto errors = errors_of(m);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].where, "node 1 (Relu)");
  EXPECT_HOLDS(errors[0].message, "reads 'cc', which nothing produces");
  EXPECT_HOLDS(errors[0].hint, "'c'");
}

TEST(ImportErrors, UndefinedOutput) {
  ModelText m = conv_relu();
  m.output("nowhere");
  const auto errors = errors_of(m);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].where, "output 'nowhere'");
}

TEST(ImportErrors, DuplicateNames) {
  ModelText twice = conv_relu();
  twice.node("Neg", {"x"}, {"c"}, "again");
  EXPECT_HOLDS(text_of(errors_of(twice)), "node 2 'again' (Neg): error: output 'c' has the name");

  ModelText initialisers = conv_relu();
  initialisers.weight("w", {4, 3, 3, 3});
  EXPECT_HOLDS(text_of(errors_of(initialisers)), "two initializers");

  ModelText inputs = conv_relu();
  inputs.input("x", {1});
  EXPECT_HOLDS(text_of(errors_of(inputs)), "two inputs");
}

TEST(ImportErrors, SeveralFaultsComeTogetherAndEchoesDoNot) {
  ModelText m;
  m.input("x", {2, 3}).input("z", {4, 5}).output("y");
  m.node("Add", {"x", "z"}, {"a"}, "bad1");
  m.node("Relu", {"a"}, {"b"}, "echo");
  m.node("MatMul", {"x", "z"}, {"c"}, "bad2");
  m.node("Add", {"b", "c"}, {"y"}, "echo2");
  const auto errors = errors_of(m);
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_EQ(errors[0].where, "node 0 'bad1' (Add)");
  EXPECT_HOLDS(errors[0].message, "[2,3]");
  EXPECT_HOLDS(errors[0].message, "[4,5]");
  EXPECT_EQ(errors[1].where, "node 2 'bad2' (MatMul)");
}

TEST(ImportErrors, InputDimensions) {
  for (const std::int64_t extent : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1} << 62}) {
    ModelText m;
    m.input("x", {4, extent}).output("y");
    m.node("Relu", {"x"}, {"y"});
    const auto errors = errors_of(m);
    ASSERT_EQ(errors.size(), 1u) << extent;
    EXPECT_EQ(errors[0].where, "input 'x'");
  }
  ModelText product;  // each fits, the product does not
  product.input("x", {std::int64_t{1} << 40, std::int64_t{1} << 40}).output("y");
  product.node("Relu", {"x"}, {"y"});
  EXPECT_HOLDS(text_of(errors_of(product)), "2^48");
}

TEST(ImportErrors, AttributeOfTheWrongType) {
  ModelText m;
  m.input("x", {2, 3}).output("y");
  set_text(m.node("Softmax", {"x"}, {"y"}), "axis", "one");
  EXPECT_HOLDS(text_of(errors_of(m)), "attribute 'axis' should be an integer");
}

// ---- Opsets ----

TEST(ImportOpset, UnknownOnesAreErrors) {
  for (const std::int64_t version :
       {std::int64_t{-3}, std::int64_t{0}, std::int64_t{6}, std::int64_t{26}, std::int64_t{1} << 60}) {
    ModelText m = conv_relu();
    m.proto.mutable_opset_import(0)->set_version(version);
    const auto errors = errors_of(m);
    ASSERT_EQ(errors.size(), 1u) << version;
    EXPECT_HOLDS(errors[0].message, "unknown opset");
  }
  ModelText none = conv_relu();
  none.proto.clear_opset_import();
  EXPECT_HOLDS(text_of(errors_of(none)), "unknown opset");
}

TEST(ImportOpset, OldAndNewOnesWarn) {
  for (const std::int64_t version : {7, 10, 11, 21, 22, 25}) {
    ModelText m = conv_relu();
    m.proto.mutable_opset_import(0)->set_version(version);
    const bool warned = text_of(m.import().warnings).find("well tried") != std::string::npos;
    EXPECT_EQ(warned, version < 11 || version > 21) << version;
  }
}

// ---- Symbolic dimensions ----

ModelText sequence_model() {
  ModelText m;
  m.input("tokens", {"batch", "time"}, 7).input("mask", {"batch", "time"}).weight("e", {10, 6}).output("y");
  m.node("Gather", {"e", "tokens"}, {"g"});
  m.node("ReduceSum", {"g"}, {"s"}).add_attribute()->CopyFrom([] {
    onnx::AttributeProto keep;
    keep.set_name("keepdims");
    keep.set_type(onnx::AttributeProto::INT);
    keep.set_i(1);
    return keep;
  }());
  m.node("Add", {"s", "mask"}, {"y"});
  return m;
}

TEST(ImportDimensions, BatchDefaultsToOneSilentlyOthersWarn) {
  const Import result = sequence_model().import();
  EXPECT_EQ(shape_of(result.graph, "tokens"), (Shape{1, 1}));
  ASSERT_GE(result.warnings.size(), 1u);
  EXPECT_HOLDS(text_of(result.warnings), "dimension 'time'");
  EXPECT_HOLDS(text_of(result.warnings), "--dim time=value");
  EXPECT_LACKS(text_of(result.warnings), "'batch'");
}

TEST(ImportDimensions, AreBoundByOptions) {
  ImportOptions options;
  options.batch = 4;
  options.dims["time"] = 7;
  const Import result = sequence_model().import(options);
  EXPECT_EQ(shape_of(result.graph, "tokens"), (Shape{4, 7}));
  EXPECT_EQ(shape_of(result.graph, "mask"), (Shape{4, 7}));
  EXPECT_EQ(shape_of(result.graph, "g"), (Shape{4, 7, 6}));
  options.dims["batch"] = 5;  // a name said outright is stronger
  EXPECT_EQ(shape_of(sequence_model().import(options).graph, "tokens"), (Shape{5, 7}));
}

TEST(ImportDimensions, FirstDimensionOfTheFirstInputIsTheBatchUnderAnyName) {
  ModelText m;
  m.input("x", {"rows", 3}).output("y");
  m.node("Relu", {"x"}, {"y"});
  ImportOptions options;
  options.batch = 6;
  const Import result = m.import(options);
  EXPECT_EQ(shape_of(result.graph, "y"), (Shape{6, 3}));
  EXPECT_TRUE(result.warnings.empty());
}

TEST(ImportDimensions, NamelessOnesCanBeNamedByTheirPlace) {
  ModelText m;
  m.input("x", {2, 3}).output("y");
  m.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(1)->Clear();
  m.node("Relu", {"x"}, {"y"});
  EXPECT_HOLDS(text_of(m.import().warnings), "--dim x.1=value");
  ImportOptions options;
  options.dims["x.1"] = 9;
  EXPECT_EQ(shape_of(m.import(options).graph, "y"), (Shape{2, 9}));
}

TEST(ImportDimensions, UnknownNamesAndBadSizesAreErrors) {
  ImportOptions options;
  options.dims["tme"] = 3;
  EXPECT_HOLDS(text_of(errors_of(sequence_model(), options)), "did you mean 'time'?");
  ImportOptions zero;
  zero.dims["time"] = 0;
  EXPECT_HOLDS(text_of(errors_of(sequence_model(), zero)), "at least 1");
  ImportOptions batch;
  batch.batch = -2;
  EXPECT_HOLDS(text_of(errors_of(sequence_model(), batch)), "at least 1");
}

// ---- Another batch than the file's ----

TEST(ImportRebatch, ReplacesAFixedBatchAndIgnoresStaleShapes) {
  ModelText m = conv_relu();
  m.stated("c", {2, 4, 4, 4}).ints("flat", {2, -1}).output("f");
  m.node("Reshape", {"y", "flat"}, {"f"});
  ImportOptions options;
  options.batch = 16;
  const Import result = m.import(options);
  EXPECT_EQ(shape_of(result.graph, "c"), (Shape{16, 4, 4, 4}));
  EXPECT_EQ(shape_of(result.graph, "f"), (Shape{16, 64}));  // the 2 in the target moved with the batch
  EXPECT_LACKS(text_of(result.warnings), "wrong");
  EXPECT_TRUE(result.has_batch_asked_for);
}

TEST(ImportRebatch, LeavesInputsThatDisagreeAloneAndSaysSo) {
  ModelText m;
  m.input("x", {2, 3}).input("w", {3, 5}).output("y");
  m.node("MatMul", {"x", "w"}, {"y"});
  ImportOptions options;
  options.batch = 8;
  const Import result = m.import(options);
  EXPECT_EQ(shape_of(result.graph, "y"), (Shape{2, 5}));
  EXPECT_HOLDS(text_of(result.warnings), "the batch stays as it is");
  EXPECT_FALSE(result.has_batch_asked_for);
  EXPECT_TRUE(m.import().has_batch_asked_for);  // where none is asked for
}

TEST(ImportRebatch, HintsAtShapesWrittenIntoTheFile) {
  ModelText m;
  m.input("x", {2, 6}).ints("shape", {3, 4}).output("y");
  m.node("Reshape", {"x", "shape"}, {"y"});
  ImportOptions options;
  options.batch = 4;
  EXPECT_HOLDS(text_of(errors_of(m, options)), "exported for a batch of 2");
}

TEST(Import, WrongStatedShapesAreReported) {
  ModelText m = conv_relu();
  m.stated("c", {2, 4, 5, 5});
  EXPECT_HOLDS(text_of(m.import().warnings), "'c' (stated [2,4,5,5], found [2,4,4,4])");
}

// ---- Operators without a rule ----

TEST(ImportFallback, TakesStatedShapesAndIsListed) {
  ModelText m;
  m.input("x", {2, 3}).stated("a", {2, 7}).output("y");
  m.node("org.example:Mystery", {"x"}, {"a"}, "m1");
  m.node("org.example:Mystery", {"a"}, {"y"}, "m2");
  const Import result = m.import();
  ASSERT_EQ(result.graph.nodes.size(), 2u);
  EXPECT_EQ(std::get<Fallback>(result.graph.nodes[0].op).type, "org.example:Mystery");
  EXPECT_EQ(shape_of(result.graph, "a"), (Shape{2, 7}));
  EXPECT_EQ(shape_of(result.graph, "y"), (Shape{2, 7}));  // nobody states it: as the input
  const std::string warnings = text_of(result.warnings);
  EXPECT_HOLDS(warnings, "operator 'org.example:Mystery' has no rule: 2 nodes are estimated");
  EXPECT_HOLDS(warnings, "the shape of 'y' is stated nowhere");
  ImportOptions strict;
  strict.strict = true;
  const auto errors = errors_of(m, strict);
  ASSERT_EQ(errors.size(), 1u);  // the second is an echo of the first
  EXPECT_EQ(errors[0].where, "node 0 'm1' (org.example:Mystery)");
}

TEST(ImportFallback, RecurrentLayersKeepTheirShapes) {
  ModelText m;
  m.input("x", {5, 2, 8}).weight("w", {2, 64, 8}).weight("r", {2, 64, 16}).output("y").output("h");
  m.node("LSTM", {"x", "w", "r"}, {"y", "h"});
  const Import result = m.import();
  EXPECT_EQ(shape_of(result.graph, "y"), (Shape{5, 2, 2, 16}));
  EXPECT_EQ(shape_of(result.graph, "h"), (Shape{2, 2, 16}));
}

}  // namespace
}  // namespace monet::test
