// verify rejects a graph or an order that breaks an effect, and says which.
#include "monet/graph/verify.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "monet/graph/builder.h"

namespace monet {
namespace {

constexpr Format kF32{Element::F32};

// w is read twice, then updated in place by a gradient g.
struct Small {
  Builder b{"small"};
  TensorId x = b.source("x", {2, 3}, kF32, Category::Input);
  TensorId w = b.source("w", {3, 4}, kF32, Category::Weight);
  TensorId y = kNoTensor, dx = kNoTensor, g = kNoTensor, fresh = kNoTensor;

  Small() {
    y = b.one(MatMul{}, {x, w}, "y");
    b.phase = Phase::Backward;
    g = b.one(MatMul{true, false, 1, 1}, {x, y}, "g");
    dx = b.one(MatMul{false, true, 1, 1}, {y, w}, "dx");
    b.phase = Phase::Update;
    fresh = b.binary(BinaryKind::Sub, w, g, "w.new");
    b[fresh].category = Category::Weight;
    b[fresh].overwrites = w;
    b.graph().outputs = {fresh, dx};
  }
  Graph graph() { return b.graph(); }
};

// The one fault of the graph, or what else was found.
std::string only_fault(const Graph& g) {
  const std::vector<std::string> found = faults(g);
  std::string all;
  for (const std::string& f : found) all += (all.empty() ? "" : "; ") + f;
  return all;
}

Node& node(Graph& g, const std::string& name) {
  return *std::find_if(g.nodes.begin(), g.nodes.end(), [&](const Node& n) { return n.name == name; });
}

void move_node(Graph& g, const std::string& name, std::size_t to) {
  const auto at = std::find_if(g.nodes.begin(), g.nodes.end(), [&](const Node& n) { return n.name == name; });
  Node moved = *at;
  g.nodes.erase(at);
  g.nodes.insert(g.nodes.begin() + static_cast<std::ptrdiff_t>(to), std::move(moved));
}

TEST(Verify, AcceptsASoundGraph) { EXPECT_EQ(only_fault(Small().graph()), ""); }

TEST(Verify, RejectsAReaderAfterTheOverwrite) {
  Small s;
  Graph g = s.graph();
  move_node(g, "dx", 3);
  EXPECT_EQ(only_fault(g), "node 'dx' reads 'w' after 'w.new' has overwritten it");
}

TEST(Verify, SeesReadersThroughViews) {
  Small s;
  s.b.phase = Phase::Backward;
  const TensorId view = s.b.view(s.w, {12}, "w.view");
  Graph g = s.graph();
  move_node(g, "w.view", 1);
  g = Builder(g).graph();
  EXPECT_EQ(only_fault(g), "");
  Builder b(g);
  b.phase = Phase::Update;
  b.unary(UnaryKind::Neg, view, "late");
  EXPECT_EQ(only_fault(b.graph()), "node 'late' reads 'w' after 'w.new' has overwritten it");
}

// What shares storage, operator by operator: the reader comes after the overwrite.
TEST(Verify, SeesReadersThroughAllThatSharesStorage) {
  const auto fault_of_late_reader = [](const Op& op, std::size_t outputs, std::size_t which, Shape shape) {
    Builder b("late");
    const TensorId w = b.source("w", shape, kF32, Category::Weight), g = b.source("g", shape, kF32, Category::Input);
    const std::vector<TensorId> views = b.add(op, {w}, "view", outputs);
    b.phase = Phase::Update;
    const TensorId fresh = b.binary(BinaryKind::Sub, w, g, "w.new");
    b[fresh].overwrites = w;
    b.unary(UnaryKind::Neg, views[which], "late");
    b.graph().outputs = {fresh};
    return only_fault(b.graph());
  };
  const std::string fault = "node 'late' reads 'w' after 'w.new' has overwritten it";
  EXPECT_EQ(fault_of_late_reader(Slice{.starts = {1, 0}, .sizes = {2, 3}, .steps = {1, 1}}, 1, 0, {4, 3}), fault);
  EXPECT_EQ(fault_of_late_reader(Split{.axis = 0, .sizes = {1, 3}}, 2, 1, {4, 3}), fault);
  EXPECT_EQ(fault_of_late_reader(Expand{.shape = {5, 4, 3}}, 1, 0, {4, 3}), fault);
  EXPECT_EQ(fault_of_late_reader(Transpose{.perm = {1, 0, 2}}, 1, 0, {1, 4, 3}), fault);
  // These are copies.
  EXPECT_EQ(fault_of_late_reader(Slice{.starts = {0, 1}, .sizes = {4, 2}, .steps = {1, 1}}, 1, 0, {4, 3}), "");
  EXPECT_EQ(fault_of_late_reader(Transpose{.perm = {1, 0}}, 1, 0, {4, 3}), "");
}

// A part that is overwritten is that part: the others may still be read.
TEST(Verify, KnowsWhichPartOfAStorageIsOverwritten) {
  const auto fault_of = [](std::size_t overwritten, std::size_t read, bool is_output) {
    Builder b("parts");
    const TensorId w = b.source("w", {4, 3}, kF32, Category::Weight);
    const std::vector<TensorId> parts = b.add(Split{.axis = 0, .sizes = {2, 2}}, {w}, "part", 2);
    const TensorId fresh = b.binary(BinaryKind::Add, parts[overwritten], parts[overwritten], "fresh");
    b[fresh].overwrites = parts[overwritten];
    b.unary(UnaryKind::Neg, parts[read], "late");
    b.graph().outputs = {is_output ? w : fresh};
    return only_fault(b.graph());
  };
  EXPECT_EQ(fault_of(0, 1, false), "");
  EXPECT_EQ(fault_of(1, 0, false), "");
  EXPECT_NE(fault_of(0, 0, false).find("after 'fresh' has overwritten it"), std::string::npos);
  EXPECT_EQ(fault_of(0, 1, true), "output 'w' is overwritten by 'fresh'");
}

TEST(Verify, RejectsOverwritesThatGoInACircle) {
  Small s;
  s.b[s.y].overwrites = s.dx;
  s.b[s.dx].overwrites = s.y;
  EXPECT_NE(only_fault(s.graph()).find("'y' overwrites 'dx' before it exists"), std::string::npos);
}

TEST(Verify, RejectsASecondOverwrite) {
  Small s;
  const TensorId again = s.b.binary(BinaryKind::Sub, s.g, s.g, "again");
  s.b[again].overwrites = s.w;
  EXPECT_NE(only_fault(s.graph()).find("'w' is overwritten twice, by 'w.new' and 'again'"), std::string::npos);
}

TEST(Verify, RejectsAnOverwriteOfAnotherShape) {
  Small s;
  s.b[s.dx].overwrites = s.w;
  EXPECT_NE(only_fault(s.graph()).find("'dx' overwrites 'w' of another shape or format"), std::string::npos);
}

TEST(Verify, RejectsAnUpdateOfAPendingAccumulation) {
  Small s;
  s.b.phase = Phase::Backward;
  const TensorId sum = s.b.binary(BinaryKind::Add, s.g, s.g, "accumulated");
  s.b[sum].overwrites = s.g;
  const std::string found = only_fault(s.graph());
  EXPECT_NE(found.find("update 'w.new' reads gradient 'g' before 'accumulated' has added to it"), std::string::npos)
      << found;
}

TEST(Verify, RejectsRecomputationThatTouchesState) {
  Small s;
  const TensorId state = s.b.source("running", {4}, kF32, Category::ModelState, Splat{0});
  s.b.phase = Phase::Recompute;
  const TensorId fresh = s.b.unary(UnaryKind::Neg, state, "running.new");
  s.b[fresh].category = Category::ModelState;
  s.b[fresh].overwrites = state;
  EXPECT_EQ(only_fault(s.graph()), "recomputed node 'running.new' changes 'running.new' a second time");
}

TEST(Verify, RejectsARecomputedDropoutWithAnotherSeed) {
  Small s;
  s.b.phase = Phase::Forward;
  s.b.one(Dropout{0.5, 7}, {s.x}, "drop");
  s.b.phase = Phase::Recompute;
  s.b.one(Dropout{0.5, 7}, {s.x}, "drop.same");
  EXPECT_EQ(only_fault(s.graph()), "");
  s.b.one(Dropout{0.5, 8}, {s.x}, "drop.other");
  EXPECT_EQ(only_fault(s.graph()), "recomputed dropout 'drop.other' draws another mask than its original");
}

TEST(Verify, EveryUpdateWaitsForTheBarrierAndTheBarrierForEveryGradient) {
  Small s;
  s.b.phase = Phase::Update;
  const TensorId norm = s.b.one(Reduce{ReduceKind::SumSquare, {0, 1}, false}, {s.g}, "norm");
  s.b.graph().nodes.back().barrier = true;
  EXPECT_EQ(only_fault(s.graph()), "'w.new' updates 'w' without waiting for barrier 'norm'");
  // Scaled by the norm it waits; a second gradient the norm does not know is then the fault.
  Small t;
  t.b.graph().nodes.pop_back();
  t.b.graph().outputs = {t.dx};
  t.b.phase = Phase::Update;
  const TensorId n = t.b.one(Reduce{ReduceKind::SumSquare, {0, 1}, false}, {t.g}, "norm");
  t.b.graph().nodes.back().barrier = true;
  const TensorId scaled = t.b.binary(BinaryKind::Mul, t.g, n, "scaled");
  t.b.add_into(Binary{BinaryKind::Sub}, {t.w, scaled}, "w.new", {t.fresh});
  EXPECT_EQ(only_fault(t.graph()), "");
  t.b.unary(UnaryKind::Neg, t.dx, "other");
  EXPECT_EQ(only_fault(t.graph()), "barrier 'norm' does not wait for gradient 'dx'");
  (void)norm;
}

TEST(Verify, RejectsWrongOrderShapesNamesAndPhases) {
  Small s;
  Graph g = s.graph();
  std::swap(g.nodes[0], g.nodes[1]);
  EXPECT_EQ(only_fault(g), "node 'g' reads 'y' before it is produced");
  g = s.graph();
  g[s.y].shape = {2, 5};
  EXPECT_NE(only_fault(g).find("output 'y' is [2,5], should be [2,4]"), std::string::npos);
  g = s.graph();
  g[s.y].name = "x";
  EXPECT_EQ(only_fault(g), "two tensors are named 'x'");
  g = s.graph();
  g[s.y].format = Format{Element::I64};
  EXPECT_NE(only_fault(g).find("output 'y' is i64, should be f32"), std::string::npos);
  g = s.graph();
  node(g, "y").phase = Phase::Update;
  EXPECT_NE(only_fault(g).find("node 'g' of phase backward reads 'y' of phase update"), std::string::npos);
  g = s.graph();
  g.outputs.push_back(s.w);
  EXPECT_EQ(only_fault(g), "output 'w' is overwritten by 'w.new'");
  g = s.graph();
  g.nodes[0].inputs[0] = TensorId{99};
  EXPECT_EQ(only_fault(g), "node 'y' refers to a tensor that does not exist");
}

}  // namespace
}  // namespace monet
