// Programs of element-wise steps: their values, their room, their work, their parts, and the single nodes they stand
// for.
#include "monet/graph/steps.h"

#include <gtest/gtest.h>

#include "monet/base/diagnostic.h"
#include "monet/graph/builder.h"
#include "monet/graph/cut.h"
#include "monet/graph/lower.h"
#include "monet/graph/text.h"
#include "monet/graph/verify.h"

namespace monet {
namespace {

constexpr Format kSingle{Element::F32}, kHalf{Element::F16};

Step step(StepOp op, std::int32_t a, std::int32_t b = kNoValue, std::int32_t c = kNoValue, Format format = kSingle) {
  return {std::move(op), {a, b, c}, format};
}
Step mul(std::int32_t a, std::int32_t b) { return step(Binary{BinaryKind::Mul}, a, b); }
Step add(std::int32_t a, std::int32_t b) { return step(Binary{BinaryKind::Add}, a, b); }

// A momentum and a step with it: (g, m, beta, w) -> (m·beta + g, w - √(m·beta + g)), g in half precision.
const Steps kMomentum{
    .program = {step(Cast{Element::F32}, 0),                                            // 4
                mul(1, 2),                                                              // 5
                add(5, 4),                                                              // 6, an output
                step(Unary{UnaryKind::Sqrt}, 6), step(Binary{BinaryKind::Sub}, 3, 7)},  // 8, an output
    .outputs = {6, 8}};

struct Momentum {
  Builder b{"momentum"};
  TensorId g = b.source("g", {4, 6}, kHalf, Category::Input);
  TensorId m = b.source("m", {4, 6}, kSingle, Category::OptimizerState);
  TensorId beta = b.source("beta", {}, kSingle, Category::Constant, Splat{0.5});
  TensorId w = b.source("w", {4, 6}, kSingle, Category::Weight);

  explicit Momentum(const Steps& op = kMomentum) {
    b.phase = Phase::Update;
    const std::vector<TensorId> made = b.add_named(op, {g, m, beta, w}, "w.update", {"w.update.m", "w.update.weight"});
    b[made[0]].overwrites = m;
    b[made[1]].overwrites = w;
    b.graph().outputs = {made[0], made[1]};
  }
  const Node& node() const { return b.graph().nodes[0]; }
};

std::string fault_of(const Steps& op, const std::vector<Tensor>& inputs) {
  std::vector<const Tensor*> operands;
  for (const Tensor& t : inputs) operands.push_back(&t);
  try {
    infer(op, operands);
    return "";
  } catch (const ShapeError& error) {
    return error.what();
  }
}

Tensor of(Shape shape, Element element = Element::F32) {
  Tensor t;
  t.shape = std::move(shape);
  t.format = Format{element};
  return t;
}

TEST(Steps, MakeTheirOutputs) {
  const Momentum p;
  const Graph& g = p.b.graph();
  for (const std::string& fault : faults(g)) ADD_FAILURE() << fault;
  EXPECT_EQ(g[p.node().outputs[0]].shape, (Shape{4, 6}));
  EXPECT_EQ(g[p.node().outputs[1]].format, kSingle);
  EXPECT_EQ(g.tensors.size(), 6u);  // what lies between the steps is none
}

TEST(Steps, ReadWhatIsThereAndMakeOneShape) {
  const std::vector<Tensor> two{of({2, 3}), of({2, 3})};
  EXPECT_EQ(fault_of({{add(0, 1)}, {2}}, two), "");
  EXPECT_EQ(fault_of({{add(0, 2)}, {2}}, two), "step 0 reads value 2, which is not there yet");
  EXPECT_EQ(fault_of({{add(0, 1), mul(2, 1)}, {3}}, two), "");
  EXPECT_EQ(fault_of({{add(0, 1), mul(3, 1)}, {3}}, two), "step 1 reads value 3, which is not there yet");
  EXPECT_EQ(fault_of({{}, {0}}, two), "a program has steps and outputs");
  EXPECT_EQ(fault_of({{add(0, 1)}, {}}, two), "a program has steps and outputs");
  EXPECT_EQ(fault_of({{add(0, 1)}, {1}}, two), "no step makes output 1");
  EXPECT_EQ(fault_of({{add(0, 1)}, {3}}, two), "no step makes output 3");
  EXPECT_EQ(fault_of({{add(0, 1)}, {2, 2}}, two), "value 2 is given out twice");
  EXPECT_EQ(fault_of({{step(Binary{BinaryKind::Add}, 0)}, {2}}, two), "input 1 is missing");
  EXPECT_EQ(fault_of({{add(0, 1)}, {2}}, {of({2, 3}), of({})}), "");
  EXPECT_EQ(fault_of({{add(0, 1)}, {2}}, {of({2, 3}), of({2, 1})}), "");
  EXPECT_EQ(fault_of({{add(0, 0), add(2, 1)}, {3}}, {of({3}), of({2, 3})}), "value 2 is [3] among others of [2,3]");
  EXPECT_EQ(fault_of({{add(0, 0)}, {2}}, {of({3}), of({2, 3})}), "value 1 is [2,3] among others of [3]");
}

TEST(Steps, KeepWhatTheyMakeInAFormatThatHoldsIt) {
  const auto sum_as = [](Element element) {
    return fault_of({{step(Binary{BinaryKind::Add}, 0, 1, kNoValue, Format{element})}, {2}}, {of({3}), of({3})});
  };
  EXPECT_EQ(sum_as(Element::BF16), "");
  EXPECT_EQ(sum_as(Element::I32), "step 0 makes f32, stored as i32");
}

TEST(Steps, DoTheWorkOfSingleNodes) {
  const Momentum p;
  const auto whole = std::get<work::VectorWork>(lower(p.b.graph(), p.node()));
  using work::ElementFunction;
  EXPECT_EQ(whole.iteration, (std::vector<std::int64_t>{4, 6}));
  EXPECT_EQ(whole.functions, (std::vector<work::FunctionCount>{{ElementFunction::Convert, 24},
                                                               {ElementFunction::Multiply, 24},
                                                               {ElementFunction::Add, 48},
                                                               {ElementFunction::Sqrt, 24}}));
  // Two by two, as operands come in: where a step has one only, nothing comes beside it.
  EXPECT_EQ(whole.reads, (std::vector<work::Transfer>{{24, kHalf},
                                                      {0, kHalf},
                                                      {24, kSingle},
                                                      {1, kSingle},
                                                      {24, kSingle},
                                                      {24, kSingle},
                                                      {24, kSingle},
                                                      {0, kSingle},
                                                      {24, kSingle},
                                                      {24, kSingle}}));
  EXPECT_EQ(whole.writes, std::vector<work::Transfer>(5, {24, kSingle}));
  EXPECT_FALSE(whole.is_view || whole.permutes || whole.indirect);
}

TEST(Steps, AreCutElementByElement) {
  const Momentum p;
  std::string names;
  for (const Loop& loop : loops_of(p.b.graph(), p.node())) names += loop.name;
  EXPECT_EQ(names, "A0A1");
  const Cut part = cut(p.b.graph(), p.node(), std::vector<Range>{{1, 3}, {2, 6}});
  const Region region{{{1, 3}, {2, 6}}};
  EXPECT_EQ(part.op, Op{kMomentum});
  EXPECT_EQ(part.inputs, (std::vector<std::optional<Region>>{region, region, Region{}, region}));
  EXPECT_EQ(part.outputs, (std::vector<std::optional<Region>>{region, region}));
  for (const std::string& fault : faults(alone(p.b.graph(), p.node(), part))) ADD_FAILURE() << fault;
}

TEST(Steps, ExpandToSingleNodes) {
  const Momentum p;
  const Graph g = expand_steps(p.b.graph());
  for (const std::string& fault : faults(g)) ADD_FAILURE() << fault;
  std::string names;
  for (const Node& node : g.nodes)
    names += node.name + "=" + std::string(operator_name(node.op)) + "->" + g[node.outputs[0]].name + " ";
  EXPECT_EQ(names,
            "w.update.0=cast->w.update.0 w.update.1=mul->w.update.1 w.update.m=add->w.update.m "
            "w.update.3=sqrt->w.update.3 w.update.weight=sub->w.update.weight ");
  EXPECT_EQ(g[tensor_named(g, "w.update.m")].overwrites, tensor_named(g, "m"));
  EXPECT_EQ(expand_steps(g), g);
}

TEST(Steps, AreReadAsTheyAreWritten) {
  const Momentum p;
  const std::string text = print(p.b.graph());
  EXPECT_NE(text.find("w.update = steps{program=[f32 cast(0), f32 mul(1,2), f32 add(5,4), f32 sqrt(6), f32 sub(3,7)], "
                      "outputs=[6,8]}(g, m, beta, w) -> w.update.m : f32[4,6] overwrites(m), "),
            std::string::npos)
      << text;
  EXPECT_EQ(parse_graph(text, "g.monet"), normalised(p.b.graph()));
}

TEST(Steps, SayWhatIsWrongWithTheirText) {
  const auto fault = [](const std::string& program) {
    try {
      parse_graph("graph g\ninput x : f32[2]\nforward n = steps{program=" + program + ", outputs=[1]}(x) -> y\n", "g");
      return std::string();
    } catch (const InputError& error) {
      return error.diagnostics().front().message;
    }
  };
  EXPECT_EQ(fault("[f32 neg(0)]"), "");
  EXPECT_EQ(fault("f32 neg(0)"), "expected '[' before the list 'program', found 'f32'");
  EXPECT_EQ(fault("[neg(0)]"), "a step begins with the format of its result, not with 'neg'");
  EXPECT_EQ(fault("[f32 steps{program=[f32 neg(0)]}(0)]"), "steps cannot be a step");
  EXPECT_EQ(fault("[f32 nge(0)]"), "unknown operator 'nge'");
  EXPECT_EQ(fault("[f32 neg(-1)]"), "there is no value -1");
  EXPECT_EQ(fault("[f32 neg(4294967296)]"), "there is no value 4294967296");
  EXPECT_EQ(fault("[f32 sum(0,0,0,0)]"), "a step reads at most 3 values");
  EXPECT_EQ(fault("[f32 neg(0) f32 neg(0)]"), "expected ']' or ',' after a step, found 'f32'");
  EXPECT_EQ(fault("[f32 neg(1)]"), "steps: step 0 reads value 1, which is not there yet");
  EXPECT_EQ(fault("[]"), "steps: a program has steps and outputs");
}

}  // namespace
}  // namespace monet
