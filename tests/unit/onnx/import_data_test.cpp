#include <filesystem>
#include <fstream>

#include "monet/interpret/run.h"
#include "unit/onnx/import_model.h"

// Where numbers come from: initializers of every type, outside files, and none at all.

namespace monet::test {
namespace {

namespace fs = std::filesystem;

ImportOptions with_weights() {
  ImportOptions options;
  options.load_weights = true;
  return options;
}

// y = x + t for a stored tensor t
ModelText adding(const onnx::TensorProto& tensor) {
  ModelText m;
  std::vector<ModelText::Dim> dims;
  for (const std::int64_t dim : tensor.dims()) dims.emplace_back(dim);
  m.input("x", dims, tensor.data_type()).output("y").add(tensor);
  m.node("Add", {"x", tensor.name()}, {"y"});
  return m;
}

std::vector<double> loaded(const onnx::TensorProto& tensor) {
  const Import result = adding(tensor).import(with_weights());
  const auto it = result.weights.find(tensor.name());
  if (it != result.weights.end()) return it->second.data;
  const Tensor& source = tensor_of(result.graph, tensor.name());
  if (const Dense* dense = std::get_if<Dense>(&source.initial)) return dense->values;
  return {std::get<Splat>(source.initial).value};
}

TEST(ImportData, TypedLists) {
  auto f32 = ModelText::tensor("t", {2}, 1);
  f32.add_float_data(1.5f);
  f32.add_float_data(-2);
  EXPECT_EQ(loaded(f32), (std::vector<double>{1.5, -2}));
  auto f64 = ModelText::tensor("t", {2}, 11);
  f64.add_double_data(0.1);
  f64.add_double_data(3);
  EXPECT_EQ(loaded(f64), (std::vector<double>{0.1, 3}));
  auto i32 = ModelText::tensor("t", {2}, 6);
  i32.add_int32_data(-7);
  i32.add_int32_data(9);
  EXPECT_EQ(loaded(i32), (std::vector<double>{-7, 9}));
  auto i8 = ModelText::tensor("t", {2}, 3);
  i8.add_int32_data(-128);
  i8.add_int32_data(127);
  EXPECT_EQ(loaded(i8), (std::vector<double>{-128, 127}));
  auto u64 = ModelText::tensor("t", {2}, 13);
  u64.add_uint64_data(1);
  u64.add_uint64_data(1ull << 52);
  EXPECT_EQ(loaded(u64), (std::vector<double>{1, 4503599627370496.0}));
}

// Bit patterns and values from the IEEE 754 half and bfloat16 definitions.
TEST(ImportData, HalvesInThirtyTwoBitFields) {
  auto f16 = ModelText::tensor("t", {4}, 10);
  for (const int bits : {0x3c00, 0xc000, 0x0001, 0x7bff}) f16.add_int32_data(bits);
  EXPECT_EQ(loaded(f16), (std::vector<double>{1, -2, 0x1p-24, 65504}));
  auto bf16 = ModelText::tensor("t", {3}, 16);
  for (const int bits : {0x3f80, 0xc040, 0x4049}) bf16.add_int32_data(bits);
  EXPECT_EQ(loaded(bf16), (std::vector<double>{1, -3, 3.140625}));
}

TEST(ImportData, RawBytesAreLittleEndian) {
  auto f16 = ModelText::tensor("t", {2}, 10);
  f16.set_raw_data(std::string("\x00\x3c\x00\xc4", 4));
  EXPECT_EQ(loaded(f16), (std::vector<double>{1, -4}));
  auto i4 = ModelText::tensor("t", {3}, 22);  // two to a byte, low half first
  i4.set_raw_data(std::string("\x7f\x08", 2));
  EXPECT_EQ(loaded(i4), (std::vector<double>{-1, 7, -8}));
  auto e4m3 = ModelText::tensor("t", {2}, 17);
  e4m3.set_raw_data(std::string("\x38\x7e", 2));
  EXPECT_EQ(loaded(e4m3), (std::vector<double>{1, 448}));
}

TEST(ImportData, SizesMustFitTheDims) {
  auto raw = ModelText::tensor("t", {3}, 1);
  raw.set_raw_data("12345678");
  EXPECT_HOLDS(text_of(errors_of(adding(raw))), "raw_data has 8 bytes, dims [3] of f32 need 12");
  auto typed = ModelText::tensor("t", {3}, 1);
  typed.add_float_data(1);
  EXPECT_HOLDS(text_of(errors_of(adding(typed))), "initializer 't': error: the data has 1 entries, dims [3] need 3");
}

TEST(ImportData, ClaimsAreNotAllocated) {
  auto huge = ModelText::tensor("t", {std::int64_t{1} << 20, std::int64_t{1} << 20}, 1);
  const Import result = adding(huge).import();  // no data: only the shape is used
  EXPECT_EQ(elements(shape_of(result.graph, "y")), std::int64_t{1} << 40);
  huge.set_raw_data("abcd");
  EXPECT_HOLDS(text_of(errors_of(adding(huge))), "need 4398046511104");
  ModelText overflow;
  overflow.input("x", {1}).output("y").weight("t", {std::int64_t{1} << 40, std::int64_t{1} << 40});
  overflow.node("Add", {"x", "t"}, {"y"});
  EXPECT_HOLDS(text_of(errors_of(overflow)), "2^48");
  ModelText negative;
  negative.input("x", {1}).output("y").weight("t", {-4});
  negative.node("Add", {"x", "t"}, {"y"});
  EXPECT_HOLDS(text_of(errors_of(negative)), "negative");
}

TEST(ImportData, StringsMatterOnlyWhereTheyAreRead) {
  ModelText unused;
  unused.input("x", {2}).output("y").add(ModelText::tensor("s", {1}, 8));
  unused.node("Relu", {"x"}, {"y"});
  EXPECT_HOLDS(text_of(unused.import().warnings), "strings are not supported; nothing reads it");
  ModelText used = unused;
  used.graph().mutable_node(0)->set_input(0, "s");
  const auto errors = errors_of(used);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].where, "initializer 's'");
}

TEST(ImportData, SparseInitializers) {
  ModelText m;
  m.input("x", {2}).output("y");
  m.graph().add_sparse_initializer()->mutable_values()->set_name("s");
  m.node("Add", {"x", "s"}, {"y"});
  EXPECT_HOLDS(text_of(errors_of(m)), "sparse initializers are not supported");
}

TEST(ImportData, ClearedWeightsAreAWarningUntilTheyAreNeeded) {
  const auto cleared = ModelText::tensor("w", {3}, 1);
  EXPECT_HOLDS(text_of(adding(cleared).import().warnings), "holds no numbers for 'w'");
  EXPECT_HOLDS(text_of(errors_of(adding(cleared), with_weights())), "initializer 'w': error: its numbers are not in");
  ModelText shape;
  shape.input("x", {6}).output("y").add(ModelText::tensor("s", {2}, 7));
  shape.node("Reshape", {"x", "s"}, {"y"});
  EXPECT_HOLDS(text_of(errors_of(shape)), "shape 's' decides a shape, and its numbers are not in the file");
}

// ---- Outside files ----

class ExternalData : public testing::Test {
 protected:
  ExternalData()
      : folder(fs::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::create_directories(folder);
    std::ofstream out(folder / "w.bin", std::ios::binary);
    for (const float value : {9.0f, 1.0f, 2.0f, 3.0f}) out.write(reinterpret_cast<const char*>(&value), sizeof value);
  }
  ~ExternalData() override { fs::remove_all(folder); }

  static onnx::TensorProto outside(const std::map<std::string, std::string>& entries) {
    auto t = ModelText::tensor("w", {3}, 1);
    t.set_data_location(onnx::TensorProto::EXTERNAL);
    for (const auto& [key, value] : entries) {
      auto* entry = t.add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    }
    return t;
  }
  std::string file() const { return (folder / "m.onnx").string(); }
  std::string errors(const std::map<std::string, std::string>& entries, const ImportOptions& options = {}) {
    return text_of(errors_of(adding(outside(entries)), options, file()));
  }

  fs::path folder;
};

TEST_F(ExternalData, IsReadFromTheModelsFolder) {
  const Import result =
      adding(outside({{"location", "w.bin"}, {"offset", "4"}, {"length", "12"}})).import(with_weights(), file());
  EXPECT_EQ(result.weights.at("w").data, (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(result.weights.at("w").shape, (Shape{3}));
}

TEST_F(ExternalData, MissingFileIsAWarningUntilNumbersAreNeeded) {
  const auto model = adding(outside({{"location", "gone.bin"}}));
  EXPECT_HOLDS(text_of(model.import({}, file()).warnings), "'gone.bin' is missing: only the shapes of 'w' are used");
  EXPECT_HOLDS(errors({{"location", "gone.bin"}}, with_weights()), "in 'gone.bin', which is missing");
}

TEST_F(ExternalData, StaysInTheFolder) {
  for (const char* location : {"/etc/passwd", "../w.bin", "a/../../w.bin", "a/.."})
    EXPECT_HOLDS(errors({{"location", location}}), "leaves the model's folder");
  EXPECT_HOLDS(errors({{"location", "."}}), "is no file");
  EXPECT_HOLDS(errors({{"offset", "0"}}), "without a location");
}

TEST_F(ExternalData, RangesAreChecked) {
  EXPECT_HOLDS(errors({{"location", "w.bin"}, {"offset", "8"}}), "beyond the end");
  EXPECT_HOLDS(errors({{"location", "w.bin"}, {"offset", "18446744073709551615"}}), "beyond the end");
  EXPECT_HOLDS(errors({{"location", "w.bin"}, {"length", "16"}}), "length 16, dims [3] need 12");
  EXPECT_HOLDS(errors({{"location", "w.bin"}, {"offset", "-4"}}), "is no size");
  EXPECT_HOLDS(errors({{"location", "w.bin"}, {"offset", "99999999999999999999"}}), "is no size");
}

// ---- What stored tensors are ----

TEST(ImportCategories, FollowTypeNameAndUse) {
  ModelText m;
  m.input("x", {2, 3, 4, 4}).input("labels", {2}, 7).input("image", {2, 3, 4, 4}, 2);
  m.weight("w", {3, 3, 1, 1}).weight("/block/Constant_3_output_0", {3, 1, 1}).weight("/Mul_output_0", {3, 1, 1});
  m.add(ModelText::floats("scale", {}, {2})).weight("mean", {3}).weight("var", {3}).weight("g", {3}).weight("b", {3});
  m.output("y").output("l");
  m.node("Conv", {"x", "w"}, {"c"});
  m.node("Add", {"c", "/block/Constant_3_output_0"}, {"a"});
  m.node("Mul", {"a", "/Mul_output_0"}, {"p"});
  m.node("Mul", {"p", "scale"}, {"s"});
  m.node("BatchNormalization", {"s", "g", "b", "mean", "var"}, {"y"});
  m.node("Identity", {"labels"}, {"l"});
  const Graph graph = m.import().graph;
  const auto category = [&](const char* name) { return tensor_of(graph, name).category; };
  EXPECT_EQ(category("x"), Category::Input);
  EXPECT_EQ(category("labels"), Category::Index);
  EXPECT_EQ(category("image"), Category::Input);  // bytes are pixels, not indices
  EXPECT_EQ(category("w"), Category::Weight);
  EXPECT_EQ(category("/block/Constant_3_output_0"), Category::Constant);
  EXPECT_EQ(category("/Mul_output_0"), Category::Constant);
  EXPECT_EQ(category("scale"), Category::Constant);
  EXPECT_EQ(tensor_of(graph, "scale").initial, Initial{Splat{2}});
  EXPECT_EQ(category("g"), Category::Weight);
  EXPECT_EQ(category("mean"), Category::ModelState);
  EXPECT_EQ(category("var"), Category::ModelState);
}

TEST(ImportCategories, IntegerWeightsOfQuantisedConvolutions) {
  ModelText m;
  auto w = ModelText::tensor("w", {2, 1, 1, 1}, 3);
  w.set_raw_data("\x01\x02");
  m.input("x", {1, 1, 4, 4}, 3).add(w).output("y");
  m.node("Conv", {"x", "w"}, {"y"});
  const Graph graph = m.import().graph;
  EXPECT_EQ(tensor_of(graph, "w").category, Category::Weight);
  EXPECT_EQ(tensor_of(graph, "x").category, Category::Input);
}

TEST(ImportCategories, InitializersThatAreInputsTooKeepTheirValue) {
  ModelText m;
  m.input("x", {2, 4}).input("w", {4, 3}).weight("w", {4, 3}).output("y");
  m.node("MatMul", {"x", "w"}, {"y"});
  EXPECT_EQ(tensor_of(m.import().graph, "w").category, Category::Weight);
  ModelText conflict;
  conflict.input("x", {2, 4}).input("w", {4, 9}).weight("w", {4, 3}).output("y");
  conflict.node("MatMul", {"x", "w"}, {"y"});
  EXPECT_HOLDS(text_of(errors_of(conflict)), "its dims [4,3] are not those the input of that name states");
}

}  // namespace
}  // namespace monet::test
