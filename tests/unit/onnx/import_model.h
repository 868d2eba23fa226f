#pragma once
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

// The build of the onnx room defines these for its own files only.
#ifndef ONNX_ML
#define ONNX_ML 1
#endif
#ifndef ONNX_NAMESPACE
#define ONNX_NAMESPACE onnx
#endif
#include <onnx/onnx_pb.h>

#include "monet/graph/text.h"
#include "monet/onnx/import.h"

// Small ONNX models, written down by hand.

#define EXPECT_HOLDS(text, part) EXPECT_NE(std::string(text).find(part), std::string::npos) << (text)
#define EXPECT_LACKS(text, part) EXPECT_EQ(std::string(text).find(part), std::string::npos) << (text)

namespace monet::test {

struct ModelText {
  onnx::ModelProto proto;

  explicit ModelText(std::int64_t opset = 17) {
    proto.set_ir_version(8);
    auto* import = proto.add_opset_import();
    import->set_domain("");
    import->set_version(opset);
    proto.mutable_graph()->set_name("test");
  }
  onnx::GraphProto& graph() { return *proto.mutable_graph(); }

  // Dimensions: numbers, or names of symbolic ones.
  struct Dim {
    std::int64_t value = 0;
    std::string symbol;
    Dim(int v) : value(v) {}
    Dim(std::int64_t v) : value(v) {}
    Dim(const char* s) : symbol(s) {}
  };
  static void describe(onnx::ValueInfoProto& info, const std::string& name, const std::vector<Dim>& dims,
                       std::int32_t type) {
    info.set_name(name);
    auto* tensor = info.mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(type);
    tensor->mutable_shape();
    for (const Dim& dim : dims) {
      auto* d = tensor->mutable_shape()->add_dim();
      if (dim.symbol.empty())
        d->set_dim_value(dim.value);
      else
        d->set_dim_param(dim.symbol);
    }
  }
  ModelText& input(const std::string& name, const std::vector<Dim>& dims, std::int32_t type = 1) {
    describe(*graph().add_input(), name, dims, type);
    return *this;
  }
  ModelText& output(const std::string& name) {
    graph().add_output()->set_name(name);
    return *this;
  }
  ModelText& stated(const std::string& name, const std::vector<Dim>& dims, std::int32_t type = 1) {
    describe(*graph().add_value_info(), name, dims, type);
    return *this;
  }

  static onnx::TensorProto tensor(const std::string& name, const std::vector<std::int64_t>& dims, std::int32_t type) {
    onnx::TensorProto t;
    t.set_name(name);
    t.set_data_type(type);
    for (const std::int64_t dim : dims) t.add_dims(dim);
    return t;
  }
  static onnx::TensorProto floats(const std::string& name, const std::vector<std::int64_t>& dims,
                                  const std::vector<float>& values) {
    onnx::TensorProto t = tensor(name, dims, 1);
    t.mutable_raw_data()->resize(values.size() * sizeof(float));
    std::memcpy(t.mutable_raw_data()->data(), values.data(), values.size() * sizeof(float));
    return t;
  }
  static onnx::TensorProto integers(const std::string& name, const std::vector<std::int64_t>& values,
                                    bool scalar = false) {
    onnx::TensorProto t = tensor(name, {}, 7);
    if (!scalar) t.add_dims(static_cast<std::int64_t>(values.size()));
    for (const std::int64_t value : values) t.add_int64_data(value);
    return t;
  }
  ModelText& add(const onnx::TensorProto& t) {
    *graph().add_initializer() = t;
    return *this;
  }
  // A weight without numbers.
  ModelText& weight(const std::string& name, const std::vector<std::int64_t>& dims) {
    return add(tensor(name, dims, 1));
  }
  ModelText& ints(const std::string& name, const std::vector<std::int64_t>& values) {
    return add(integers(name, values));
  }
  ModelText& one(const std::string& name, std::int64_t value) { return add(integers(name, {value}, true)); }

  onnx::NodeProto& node(const std::string& type, const std::vector<std::string>& in,
                        const std::vector<std::string>& out, const std::string& name = "") {
    return fill(*graph().add_node(), type, in, out, name);
  }
  // "com.microsoft:Gelu" gives the domain too.
  static onnx::NodeProto& fill(onnx::NodeProto& n, const std::string& type, const std::vector<std::string>& in,
                               const std::vector<std::string>& out, const std::string& name = "") {
    const std::size_t colon = type.find(':');
    if (colon != std::string::npos) n.set_domain(type.substr(0, colon));
    n.set_op_type(colon == std::string::npos ? type : type.substr(colon + 1));
    for (const std::string& i : in) n.add_input(i);
    for (const std::string& o : out) n.add_output(o);
    n.set_name(name);
    return n;
  }

  std::string bytes() const { return proto.SerializeAsString(); }
  Import import(const ImportOptions& options = {}, const std::string& file = "m.onnx") const {
    return import_onnx(bytes(), file, options);
  }
};

inline void set(onnx::NodeProto& node, const std::string& name, std::int64_t value) {
  auto* a = node.add_attribute();
  a->set_name(name);
  a->set_type(onnx::AttributeProto::INT);
  a->set_i(value);
}
inline void set(onnx::NodeProto& node, const std::string& name, const std::vector<std::int64_t>& values) {
  auto* a = node.add_attribute();
  a->set_name(name);
  a->set_type(onnx::AttributeProto::INTS);
  for (const std::int64_t value : values) a->add_ints(value);
}
inline void set_real(onnx::NodeProto& node, const std::string& name, float value) {
  auto* a = node.add_attribute();
  a->set_name(name);
  a->set_type(onnx::AttributeProto::FLOAT);
  a->set_f(value);
}
inline void set_text(onnx::NodeProto& node, const std::string& name, const std::string& value) {
  auto* a = node.add_attribute();
  a->set_name(name);
  a->set_type(onnx::AttributeProto::STRING);
  a->set_s(value);
}
inline void set_tensor(onnx::NodeProto& node, const std::string& name, const onnx::TensorProto& value) {
  auto* a = node.add_attribute();
  a->set_name(name);
  a->set_type(onnx::AttributeProto::TENSOR);
  *a->mutable_t() = value;
}

inline Shape shape_of(const Graph& graph, const std::string& name) {
  const TensorId id = tensor_named(graph, name);
  EXPECT_NE(id, kNoTensor) << "no tensor '" << name << "'";
  return id == kNoTensor ? Shape{-1} : graph[id].shape;
}
inline const Tensor& tensor_of(const Graph& graph, const std::string& name) {
  const TensorId id = tensor_named(graph, name);
  if (id == kNoTensor) throw std::runtime_error("no tensor '" + name + "'");
  return graph[id];
}
inline std::vector<std::string> operators(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes) names.emplace_back(operator_name(node.op));
  return names;
}

// The diagnostics of a model that must not import.
inline std::vector<Diagnostic> errors_of(const ModelText& model, const ImportOptions& options = {},
                                         const std::string& file = "m.onnx") {
  try {
    const Import result = model.import(options, file);
    ADD_FAILURE() << "imported:\n" << print(result.graph);
  } catch (const InputError& error) {
    return error.diagnostics();
  }
  return {};
}
// All of it in one string, for looking for words.
inline std::string text_of(const std::vector<Diagnostic>& diagnostics) {
  std::string text;
  for (const Diagnostic& d : diagnostics) text += to_string(d) + "\n";
  return text;
}

}  // namespace monet::test
