// Is an outline what the file says, and nothing more?
#include "monet/onnx/outline.h"

#include "import_model.h"
#include "monet/base/diagnostic.h"

namespace monet {
namespace {

TEST(Outline, KeepsNodesNamesShapesAndNumbersOfTheFile) {
  onnx::ModelProto model;
  onnx::GraphProto& graph = *model.mutable_graph();
  test::ModelText::describe(*graph.add_input(), "x", {"N", 3}, onnx::TensorProto::FLOAT);
  test::ModelText::describe(*graph.add_output(), "y", {2, 3}, onnx::TensorProto::FLOAT);
  onnx::TensorProto& shape = *graph.add_initializer();
  shape.set_name("s");
  shape.set_data_type(onnx::TensorProto::INT64);
  shape.add_dims(2);
  shape.add_int64_data(2);
  shape.add_int64_data(-1);
  onnx::TensorProto& weights = *graph.add_initializer();
  weights.set_name("w");
  weights.set_data_type(onnx::TensorProto::FLOAT);
  weights.add_dims(7);
  onnx::NodeProto& dead = *graph.add_node();  // an importer would leave it out
  dead.set_op_type("Identity");
  dead.add_input("x");
  dead.add_output("nobody");
  onnx::NodeProto& node = *graph.add_node();
  node.set_name("r");
  node.set_op_type("Reshape");
  node.add_input("x");
  node.add_input("s");
  node.add_output("y");
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name("allowzero");
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(1);

  const OnnxOutline outline = outline_onnx(model.SerializeAsString(), "model.onnx");
  ASSERT_EQ(outline.nodes.size(), 2u);
  EXPECT_EQ(outline.nodes[0].type, "Identity");
  EXPECT_EQ(outline.nodes[1].name, "r");
  EXPECT_EQ(outline.nodes[1].inputs, (std::vector<std::string>{"x", "s"}));
  EXPECT_EQ(outline.nodes[1].integers.at("allowzero"), (std::vector<std::int64_t>{1}));
  EXPECT_EQ(outline.shapes.at("x"), (Shape{0, 3}));
  EXPECT_EQ(outline.shapes.at("w"), (Shape{7}));
  EXPECT_EQ(outline.integers.at("s"), (std::vector<std::int64_t>{2, -1}));
  EXPECT_FALSE(outline.integers.contains("w"));
}

TEST(Outline, TakesConstantsOfNodes) {
  onnx::ModelProto model;
  onnx::NodeProto& node = *model.mutable_graph()->add_node();
  node.set_op_type("Constant");
  node.add_output("c");
  onnx::AttributeProto& value = *node.add_attribute();
  value.set_name("value");
  value.set_type(onnx::AttributeProto::TENSOR);
  value.mutable_t()->set_data_type(onnx::TensorProto::INT32);
  value.mutable_t()->add_dims(1);
  value.mutable_t()->add_int32_data(5);
  const OnnxOutline outline = outline_onnx(model.SerializeAsString(), "model.onnx");
  EXPECT_EQ(outline.integers.at("c"), (std::vector<std::int64_t>{5}));
  EXPECT_EQ(outline.shapes.at("c"), (Shape{1}));
}

TEST(Outline, RefusesWhatIsNoModel) {
  EXPECT_THROW(outline_onnx("no model", "x.onnx"), InputError);
  EXPECT_THROW(outline_onnx("", "x.onnx"), InputError);
}

}  // namespace
}  // namespace monet
