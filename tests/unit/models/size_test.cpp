#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "monet/models/catalogue.h"
#include "unit/models/counts.h"

namespace monet {
namespace {

using test::multiplications;
using test::nodes_of;
using test::parameters;

Shape logits_of(std::string_view spec, std::int64_t batch) {
  const Graph graph = build_model(spec, batch);
  return graph[graph.outputs.at(0)].shape;
}

TEST(Parameters, OfVisionModelsAreTorchvisions) {
  EXPECT_EQ(parameters(build_model("resnet18", 1)), 11'689'512);
  EXPECT_EQ(parameters(build_model("resnet34", 1)), 21'797'672);
  EXPECT_EQ(parameters(build_model("resnet50", 1)), 25'557'032);
  EXPECT_EQ(parameters(build_model("resnet101", 1)), 44'549'160);
  EXPECT_EQ(parameters(build_model("resnet152", 1)), 60'192'808);
  EXPECT_EQ(parameters(build_model("vgg11", 1)), 132'863'336);
  EXPECT_EQ(parameters(build_model("vgg13", 1)), 133'047'848);
  EXPECT_EQ(parameters(build_model("vgg16", 1)), 138'357'544);
  EXPECT_EQ(parameters(build_model("vgg19", 1)), 143'667'240);
  EXPECT_EQ(parameters(build_model("unet", 1)), 31'037'698);
  EXPECT_EQ(parameters(build_model("mobilenet_v2", 1)), 3'504'872);
  EXPECT_EQ(parameters(build_model("mobilenet_v3_large", 1)), 5'483'032);
  EXPECT_EQ(parameters(build_model("mobilenet_v3_small", 1)), 2'542'856);
  EXPECT_EQ(parameters(build_model("vit_b_16", 1)), 86'567'656);
}

TEST(Parameters, OfLanguageModelsAreThePublishedOnes) {
  EXPECT_EQ(parameters(build_model("gpt2", 1)), 124'439'808);
  EXPECT_EQ(parameters(build_model("gpt2-medium", 1)), 354'823'168);
  EXPECT_EQ(parameters(build_model("gpt2-large", 1)), 774'030'080);
  EXPECT_EQ(parameters(build_model("gpt2-xl", 1)), 1'557'611'200);
  EXPECT_EQ(parameters(build_model("bert-base", 1)), 109'482'240);
  EXPECT_EQ(parameters(build_model("bert-large", 1)), 335'141'888);
  EXPECT_EQ(parameters(build_model("llama2-7b", 1)), 6'738'415'616);
  // 96·(12·d² + 13·d) + (50257 + 2048)·d + 2·d with d = 12288
  EXPECT_EQ(parameters(build_model("gpt3-175b", 1)), 174'604'259'328);
  // Of the heads: BertForSequenceClassification with two classes, BertForMaskedLM.
  EXPECT_EQ(parameters(build_model("bert-base:head=classify", 1)), 109'482'240 + 2 * 768 + 2);
  EXPECT_EQ(parameters(build_model("bert-base:head=mlm", 1)), 109'514'298);
  // Grouped keys and values save 2·32·d·(d - d/4), d = 4096.
  EXPECT_EQ(parameters(build_model("llama2-7b:kv_heads=8", 1)), 6'738'415'616 - 2LL * 32 * 4096 * 3072);
}

TEST(Parameters, OfThePerceptronAreItsMatricesAndBiases) {
  EXPECT_EQ(parameters(build_model("mlp", 1)), 784 * 256 + 256 + 256 * 256 + 256 + 256 * 10 + 10);
  EXPECT_EQ(parameters(build_model("mlp:in=3,hidden=5,layers=1,classes=2", 1)), 3 * 5 + 5 + 5 * 2 + 2);
}

// tests/data/parameters: per file a spec, then a name and a shape a line, printed by tests/oracle/torch_models.py.
TEST(Parameters, HaveTheNamesAndShapesOfTheFrameworks) {
  std::size_t files = 0;
  for (const auto& file : std::filesystem::directory_iterator(MONET_TEST_DATA "/parameters")) {
    std::ifstream in(file.path());
    std::string line, spec;
    std::map<std::string, Shape> expected, built;
    while (std::getline(in, line)) {
      if (line.empty() || line[0] == '#') continue;
      std::istringstream words(line);
      std::string name;
      words >> name;
      if (spec.empty()) {
        spec = name;
        continue;
      }
      Shape& shape = expected[name];
      for (std::int64_t extent = 0; words >> extent;) shape.push_back(extent);
    }
    for (const Tensor& t : build_model(spec, 1).tensors)
      if (t.category == Category::Weight) built[t.name] = t.shape;
    EXPECT_FALSE(expected.empty()) << file.path();
    EXPECT_EQ(built, expected) << file.path();
    ++files;
  }
  EXPECT_GE(files, 17u);
}

TEST(Logits, HaveTheirClassesOnAxisOne) {
  EXPECT_EQ(logits_of("mlp", 7), (Shape{7, 10}));
  EXPECT_EQ(logits_of("resnet18:image=32,classes=10,stem=cifar", 4), (Shape{4, 10}));
  EXPECT_EQ(logits_of("resnet50:image=97", 2), (Shape{2, 1000}));
  EXPECT_EQ(logits_of("mobilenet_v2:classes=37", 2), (Shape{2, 37}));
  EXPECT_EQ(logits_of("mobilenet_v3_small:image=32", 2), (Shape{2, 1000}));
  EXPECT_EQ(logits_of("vit_b_16:layers=1,image=64", 3), (Shape{3, 1000}));
  EXPECT_EQ(logits_of("gpt2:layers=1,seq=16", 3), (Shape{48, 50257}));
  EXPECT_EQ(logits_of("gpt2-mini", 2), (Shape{512, 4000}));
  EXPECT_EQ(logits_of("bert-base:layers=1", 3), (Shape{3, 768}));
  EXPECT_EQ(logits_of("bert-base:layers=1,head=classify,classes=5", 3), (Shape{3, 5}));
  EXPECT_EQ(logits_of("bert-base:layers=1,head=mlm,seq=8", 3), (Shape{24, 30522}));
  EXPECT_EQ(logits_of("llama2-7b:layers=1,seq=8,kv_heads=4", 2), (Shape{16, 32000}));
}

// The two graphs of the MONET fixtures: forward multiplications, trained parameters, saved values (reference counts
// over the exported files).
TEST(FixtureResNet18, HasTheMultiplicationsAndMatricesOfTheExport) {
  const Graph graph = build_model("resnet18:stem=cifar,norm=folded,image=32,classes=10", 4);
  EXPECT_EQ(multiplications(graph), 2'221'690'880);
  EXPECT_EQ(nodes_of<Conv>(graph), 20u);
  EXPECT_EQ(nodes_of<Unary>(graph), 17u);
  EXPECT_EQ(nodes_of<Norm>(graph), 0u);
  std::int64_t trained = 0;
  std::size_t matrices = 0;
  for (const Tensor& t : graph.tensors)
    if (t.category == Category::Weight && t.shape.size() > 1) trained += elements(t.shape), ++matrices;
  EXPECT_EQ(matrices, 21u);
  EXPECT_EQ(trained, 11'164'352);
  const auto pool = std::find_if(graph.nodes.begin(), graph.nodes.end(),
                                 [](const Node& node) { return std::holds_alternative<Pool>(node.op); });
  ASSERT_NE(pool, graph.nodes.end());
  EXPECT_EQ(std::get<Pool>(pool->op).kind, PoolKind::Average);
  EXPECT_EQ(std::get<Pool>(pool->op).kernel, (Ints{4, 4}));
}

// MONET's model for images of 224 x 224: 6.90 GMAC forward (counted over its code).
TEST(FixtureResNet18, WithoutMaxPoolingHasTheMultiplicationsOfMonet) {
  const Graph graph = build_model("resnet18:stem=strided,norm=folded,classes=100", 1);
  EXPECT_NEAR(static_cast<double>(multiplications(graph)), 6.90e9, 0.005e9);
  EXPECT_EQ(logits_of("resnet18:stem=strided,classes=100", 2), (Shape{2, 100}));
}

TEST(FixtureMiniGpt, HasTheMultiplicationsAndMatricesOfTheExport) {
  const Graph graph = build_model("gpt2-mini", 1);
  EXPECT_EQ(multiplications(graph), 3'309'305'856);
  EXPECT_EQ(nodes_of<MatMul>(graph), 4u * 6 + 1);
  EXPECT_EQ(nodes_of<Softmax>(graph), 4u);
  EXPECT_EQ(nodes_of<Norm>(graph), 0u);
  // The export trains the matrices and the positions, but not the token table.
  std::int64_t trained = 0;
  for (const Tensor& t : graph.tensors)
    if (t.category == Category::Weight && t.shape.size() > 1 && t.name != "embedding.weight")
      trained += elements(t.shape);
  EXPECT_EQ(trained, 4'636'672);
  // One set of weights, each read by all four layers.
  const Uses used = uses(graph);
  const TensorId shared = tensor_named(graph, "transformer.layers.0.linear1.weight");
  ASSERT_NE(shared, kNoTensor);
  EXPECT_EQ(used.consumers[shared.index()].size(), 4u);
}

// 1 814 073 344 for one image of 224 is the figure commonly printed for ResNet-18 (1.81 GMACs), by hand:
//   stem 64·3·49·112²; stage 1 4·64²·9·56²; stages 2-4 each, with c channels on h x h outputs, c·(c/2)·(9+1)·h² for
//   the strided and the shortcut convolution and 3·c²·9·h²; classifier 512·1000.
TEST(Multiplications, OfResNet18AreThoseByHand) {
  std::int64_t expected = 64LL * 3 * 49 * 112 * 112 + 4LL * 64 * 64 * 9 * 56 * 56 + 512 * 1000;
  for (const auto& [c, h] : {std::pair<std::int64_t, std::int64_t>{128, 28}, {256, 14}, {512, 7}})
    expected += c * (c / 2) * 10 * h * h + 3 * c * c * 9 * h * h;
  EXPECT_EQ(expected, 1'814'073'344);
  EXPECT_EQ(multiplications(build_model("resnet18", 1)), expected);
  EXPECT_EQ(multiplications(build_model("resnet18:norm=group", 3)), 3 * expected);
}

// Per layer and token 12·d² in the matrices and 2·s·d in the attention; d·vocab per token in the head.
TEST(Multiplications, OfGpt2AreThoseByHand) {
  constexpr std::int64_t kD = 768, kS = 1024, kLayers = 12, kBatch = 2;
  EXPECT_EQ(multiplications(build_model("gpt2", kBatch)),
            kBatch * kS * (kLayers * (12 * kD * kD + 2 * kS * kD) + kD * 50257));
}

// Per layer and token: queries and output 2·d², keys and values 2·d·d·kv/heads, gated perceptron 3·d·ff, attention
// 2·s·d.
TEST(Multiplications, OfLlamaAreThoseByHand) {
  constexpr std::int64_t kD = 4096, kS = 128;
  EXPECT_EQ(multiplications(build_model("llama2-7b:layers=3,seq=128,kv_heads=8", 1)),
            kS * (3 * (2 * kD * kD + 2 * kD * kD / 4 + 3 * kD * 11008 + 2 * kS * kD) + kD * 32000));
}

TEST(Size, OfALanguageModelsGraphIsLinearInItsLayers) {
  const auto nodes = [](const std::string& spec) { return build_model(spec, 1).nodes.size(); };
  const std::size_t one = nodes("gpt3-175b:layers=1"), step = nodes("gpt3-175b:layers=2") - one;
  EXPECT_EQ(nodes("gpt3-175b"), one + 95 * step);
  EXPECT_LT(step, 40u);
  // Masks and rotary tables are shared: layers add weights and activations, no constants.
  std::size_t constants = 0;
  for (const Tensor& t : build_model("llama2-7b:layers=5", 1).tensors) constants += t.category == Category::Constant;
  EXPECT_EQ(constants, 4u);  // cosine, sine, mask, scale
}

TEST(TiedWeights, AreOneTensorReadTwice) {
  for (const auto& [spec, name] : {std::pair{"gpt2:layers=1", "transformer.wte.weight"},
                                   {"bert-base:layers=1,head=mlm", "bert.embeddings.word_embeddings.weight"}}) {
    const Graph graph = build_model(spec, 1);
    const TensorId table = tensor_named(graph, name);
    ASSERT_NE(table, kNoTensor);
    const std::vector<NodeId> readers = uses(graph).consumers[table.index()];
    ASSERT_EQ(readers.size(), 2u);
    EXPECT_TRUE(std::holds_alternative<Gather>(graph[readers[0]].op));
    EXPECT_EQ(graph[readers[1]].op, Op{MatMul{.trans_b = true}});
  }
}

TEST(Dropout, StandsWhereTheFrameworkHasIt) {
  // GPT-2: embedding, and per layer attention, projection, perceptron. Each draws from its own seed.
  const Graph graph = build_model("gpt2:layers=2,seq=8,dropout=0.1", 1);
  std::vector<std::int64_t> seeds;
  for (const Node& node : graph.nodes)
    if (const Dropout* op = std::get_if<Dropout>(&node.op)) {
      EXPECT_EQ(op->ratio, 0.1);
      seeds.push_back(op->seed);
    }
  EXPECT_EQ(seeds.size(), 1u + 3 * 2);
  std::sort(seeds.begin(), seeds.end());
  EXPECT_EQ(std::adjacent_find(seeds.begin(), seeds.end()), seeds.end());
  EXPECT_EQ(nodes_of<Dropout>(build_model("bert-base:layers=2,head=classify,dropout=0.1", 1)), 1u + 3 * 2 + 1);
  EXPECT_EQ(nodes_of<Dropout>(build_model("mobilenet_v3_large:dropout=0.2", 1)), 1u);
  EXPECT_EQ(nodes_of<Dropout>(build_model("gpt2:layers=2", 1)), 0u);
}

TEST(Normalisation, OfMobileNetV3KeepsItsOwnConstants) {
  for (const Node& node : build_model("mobilenet_v3_large", 1).nodes)
    if (const Norm* norm = std::get_if<Norm>(&node.op)) {
      EXPECT_EQ(norm->epsilon, 0.001);
      EXPECT_EQ(norm->momentum, 0.01);
    }
  for (const Node& node : build_model("mobilenet_v2", 1).nodes)
    if (const Norm* norm = std::get_if<Norm>(&node.op)) {
      EXPECT_EQ(norm->epsilon, 1e-5);
      EXPECT_EQ(norm->momentum, 0.1);
    }
}

}  // namespace
}  // namespace monet
