#include "monet/models/catalogue.h"

#include <gtest/gtest.h>

#include <cctype>
#include <limits>
#include <set>

#include "monet/base/diagnostic.h"
#include "monet/graph/infer.h"
#include "unit/models/counts.h"

namespace monet {
namespace {

std::string message_of(std::string_view spec, std::int64_t batch = 1) {
  try {
    build_model(spec, batch);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

// Every model small enough to look at closely, with the options that change its structure.
const char* const kSmall[] = {
    "mlp",
    "resnet18:image=32,stem=cifar",
    "resnet18:norm=frozen",
    "resnet34:norm=folded",
    "resnet50:norm=group,groups=8",
    "resnet152:image=32",
    "vgg16",
    "unet",
    "vgg19:image=448,dropout=0.5",
    "mobilenet_v2",
    "mobilenet_v2:dropout=0.2",
    "mobilenet_v3_large",
    "mobilenet_v3_small:dropout=0.2",
    "vit_b_16:layers=2",
    "gpt2:layers=2",
    "gpt2:layers=2,seq=16,dropout=0.1",
    "gpt2-mini",
    "bert-base:layers=2",
    "bert-base:layers=2,head=classify,dropout=0.1",
    "bert-large:layers=1,head=mlm,seq=16",
    "llama2-7b:layers=2",
    "llama2-7b:layers=2,kv_heads=8,seq=16",
};

class EveryModel : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Small, EveryModel, testing::ValuesIn(kSmall), [](const auto& param) {
  std::string text = param.param;
  for (char& c : text)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return text;
});

TEST_P(EveryModel, MakesEachTensorOnceAndBeforeItIsRead) {
  const Graph graph = build_model(GetParam(), 2);
  std::set<std::string> tensor_names, node_names;
  for (const Tensor& t : graph.tensors) EXPECT_TRUE(tensor_names.insert(t.name).second) << t.name;
  std::vector<bool> made(graph.tensors.size(), true), read(graph.tensors.size(), false);
  for (const Node& node : graph.nodes)
    for (const TensorId t : node.outputs)
      if (t != kNoTensor) made[t.index()] = false;
  for (const Node& node : graph.nodes) {
    EXPECT_TRUE(node_names.insert(node.name).second) << node.name;
    EXPECT_EQ(node.phase, Phase::Forward);
    for (const TensorId t : node.inputs)
      if (t != kNoTensor) {
        EXPECT_TRUE(made[t.index()]) << node.name << " reads " << graph[t].name;
        read[t.index()] = true;
      }
    for (const TensorId t : node.outputs)
      if (t != kNoTensor) {
        EXPECT_FALSE(made[t.index()]) << graph[t].name;
        made[t.index()] = true;
      }
  }
  // Nothing is built in vain.
  for (const TensorId t : graph.outputs) read[t.index()] = true;
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) EXPECT_TRUE(read[i]) << graph.tensors[i].name;
}

TEST_P(EveryModel, AgreesWithTheShapesOfItsOperators) {
  const Graph graph = build_model(GetParam(), 2);
  for (const Node& node : graph.nodes) {
    std::vector<const Tensor*> operands;
    for (const TensorId t : node.inputs) operands.push_back(t == kNoTensor ? nullptr : &graph[t]);
    const std::vector<OutputType> types = infer(node.op, operands);
    for (std::size_t i = 0; i < node.outputs.size(); ++i)
      if (node.outputs[i] != kNoTensor) {
        EXPECT_EQ(graph[node.outputs[i]].shape, types[i].shape) << node.name;
      }
  }
}

TEST_P(EveryModel, KeepsSourcesToTheirCategories) {
  const Graph graph = build_model(GetParam(), 2);
  const Uses used = uses(graph);
  std::size_t inputs = 0;
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const Tensor& t = graph.tensors[i];
    if (used.producer[i] != kNoNode) continue;
    switch (t.category) {
      case Category::Input:
      case Category::Index:
        ++inputs;
        EXPECT_EQ(t.shape[0], 2) << t.name;
        EXPECT_EQ(t.format.element, t.category == Category::Input ? Element::F32 : Element::I64);
        break;
      case Category::Weight:
        EXPECT_EQ(t.format.element, Element::F32);
        // One-dimensional weights are biases, starting at 0, and norm scales, starting at 1.
        if (t.shape.size() == 1)
          EXPECT_EQ(t.initial, Initial{Splat{t.name.ends_with("bias") ? 0.0 : 1.0}}) << t.name;
        else
          EXPECT_EQ(t.initial, Initial{}) << t.name;
        break;
      case Category::ModelState:
      case Category::Constant: EXPECT_NE(t.initial, Initial{}) << t.name; break;
      default: ADD_FAILURE() << t.name << " is a source of category " << name(t.category);
    }
  }
  EXPECT_EQ(inputs, std::string(GetParam()).starts_with("bert") ? 2u : 1u);
}

TEST_P(EveryModel, ReturnsEachNewRunningStatistic) {
  const Graph graph = build_model(GetParam(), 2);
  std::size_t batch_norms = 0;
  for (const Node& node : graph.nodes) {
    const Norm* norm = std::get_if<Norm>(&node.op);
    if (!norm || norm->kind != NormKind::Batch) continue;
    for (const std::size_t which : {3, 4}) {
      const TensorId fresh = node.outputs[which];
      EXPECT_EQ(graph[fresh].overwrites, node.inputs[which]);
      EXPECT_EQ(graph.outputs[1 + 2 * batch_norms + which - 3], fresh);
    }
    ++batch_norms;
  }
  EXPECT_EQ(graph.outputs.size(), 1 + 2 * batch_norms);
}

TEST(Catalogue, DescribesEveryOptionAndAcceptsItsDefault) {
  std::set<std::string> names;
  for (const ModelEntry& entry : model_catalogue()) {
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    EXPECT_FALSE(entry.description.empty()) << entry.name;
    EXPECT_EQ(entry.loss, "cross_entropy");
    std::string spec = entry.name;
    for (const ModelOption& option : entry.options) {
      EXPECT_FALSE(option.meaning.empty()) << entry.name << " " << option.name;
      EXPECT_EQ(option.choices.empty(), option.kind != OptionKind::Choice);
      spec += (spec == entry.name ? ":" : ",") + option.name + "=" + option.default_value;
    }
    EXPECT_EQ(build_model(spec, 1), build_model(entry.name, 1)) << spec;
  }
  EXPECT_TRUE(names.contains("resnet18"));
}

TEST(Catalogue, KnowsItsModelsByTheNameInFrontOfTheColon) {
  EXPECT_TRUE(is_builtin_model("resnet18"));
  EXPECT_TRUE(is_builtin_model("resnet18:image=32,classes=10"));
  EXPECT_TRUE(is_builtin_model("resnet18:nonsense"));
  EXPECT_FALSE(is_builtin_model("resnet18.onnx"));
  EXPECT_FALSE(is_builtin_model(""));
  EXPECT_FALSE(is_builtin_model(":image=32"));
}

TEST(Catalogue, NamesTheNearestModelOptionOrValue) {
  EXPECT_EQ(message_of("resnet81"), "error: unknown model 'resnet81' (did you mean 'resnet18'?)");
  EXPECT_EQ(message_of("gpt-2"), "error: unknown model 'gpt-2' (did you mean 'gpt2'?)");
  EXPECT_EQ(message_of("mlp:clases=3"),
            "model 'mlp:clases=3': error: unknown option 'clases' (did you mean 'classes'?)");
  EXPECT_EQ(message_of("mlp:q=3"), "model 'mlp:q=3': error: unknown option 'q' (options: in, hidden, layers, classes)");
  EXPECT_EQ(message_of("resnet18:norm=bach"),
            "model 'resnet18:norm=bach': error: 'bach' is no value of option 'norm' (did you mean 'batch'?)");
  EXPECT_EQ(message_of("resnet18:norm=xyzzy"),
            "model 'resnet18:norm=xyzzy': error: 'xyzzy' is no value of option 'norm' (one of: batch, frozen, folded, "
            "group)");
}

TEST(Catalogue, ReportsEveryFaultOfASpecAtOnce) {
  EXPECT_EQ(message_of("mlp:in,hidden=0,layers=2,layers=3,classes=two", 0),
            "model 'mlp:in,hidden=0,layers=2,layers=3,classes=two': error: the batch must be from 1 to 2147483648, "
            "not 0\n"
            "model 'mlp:in,hidden=0,layers=2,layers=3,classes=two': error: 'in' is no option: write name=value "
            "(options: in, hidden, layers, classes)\n"
            "model 'mlp:in,hidden=0,layers=2,layers=3,classes=two': error: option 'hidden' must be a whole number "
            "from 1 to 2147483647, not '0' (width of hidden layers)\n"
            "model 'mlp:in,hidden=0,layers=2,layers=3,classes=two': error: option 'layers' is given twice\n"
            "model 'mlp:in,hidden=0,layers=2,layers=3,classes=two': error: option 'classes' must be a whole number "
            "from 1 to 2147483647, not 'two' (classes)");
}

TEST(Catalogue, HoldsNumbersToTheirRange) {
  for (const char* value :
       {"0", "-1", "1.5", "1e3", "", " 3", "3 ", "+3", "0x10", "2147483648", "99999999999999999999"})
    EXPECT_NE(message_of(std::string("mlp:hidden=") + value).find("option 'hidden' must be"), std::string::npos)
        << value;
  for (const char* value : {"-0.1", "1", "0.995", "nan", "inf", "-inf", "1e999", "half", ""})
    EXPECT_NE(message_of(std::string("gpt2:layers=1,dropout=") + value).find("option 'dropout' must be"),
              std::string::npos)
        << value;
  EXPECT_EQ(message_of("gpt2:layers=1,dropout=0.99"), "no error");
  EXPECT_EQ(message_of("gpt2:layers=1,dropout=1e-3"), "no error");
  EXPECT_NE(message_of("mlp:layers=10001").find("from 1 to 10000"), std::string::npos);
  EXPECT_NE(message_of("mlp:").find("'' is no option"), std::string::npos);
  EXPECT_NE(message_of("mlp", -1).find("the batch must be"), std::string::npos);
  EXPECT_NE(message_of("mlp", std::numeric_limits<std::int64_t>::max()).find("the batch must be"), std::string::npos);
}

TEST(Catalogue, TurnsSizesThatDoNotFitIntoInputErrors) {
  const auto says = [](const char* spec, const char* text, std::int64_t batch = 1) {
    EXPECT_NE(message_of(spec, batch).find(text), std::string::npos) << message_of(spec, batch);
  };
  says("gpt2:heads=7", "width 768 does not divide into 7 heads");
  says("gpt2:seq=2048", "a sequence of 2048 needs as many positions, there are 1024");
  says("bert-base:seq=513", "a sequence of 513 needs as many positions, there are 512");
  says("vit_b_16:image=100", "image 100 does not divide into patches of 16");
  says("llama2-7b:kv_heads=5", "32 heads do not divide into 5 kv_heads");
  says("llama2-7b:width=96,heads=32", "rotary positions need heads of even size, not 3");
  says("resnet18:norm=group,width=20", "20 channels do not divide into 32 groups");
  says("mlp:in=2147483647,hidden=2147483647", "more than 2^48 elements");
  says("gpt2:layers=1,seq=2147483647,positions=2147483647", "more than 2^48 elements", 2147483648);
  EXPECT_EQ(message_of("gpt2:layers=1,seq=2048,positions=2048"), "no error");
}

TEST(Catalogue, BoundsItsAnswerToAHostileSpec) {
  std::string spec = "mlp:";
  for (int i = 0; i < 100000; ++i) spec += "x,";
  const std::string message = message_of(spec);
  EXPECT_NE(message.find("'x' is no option"), std::string::npos);
  EXPECT_LT(message.size(), 5000u);
  EXPECT_LT(message_of(std::string(100000, 'a')).size(), 1000u);
  EXPECT_LT(message_of("mlp:" + std::string(100000, 'a')).size(), 1000u);
}

}  // namespace
}  // namespace monet
