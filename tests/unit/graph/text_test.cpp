#include "monet/graph/text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "monet/base/diagnostic.h"
#include "monet/base/rng.h"
#include "monet/graph/builder.h"
#include "monet/graph/text_operator.h"
#include "monet/graph/verify.h"
#include "support/every_operator.h"

namespace monet {
namespace {

// What the parser says about a text: its diagnostics, one a line, or "" if it takes it.
std::string faults(std::string_view text) {
  try {
    parse_graph(text, "g.txt");
    return "";
  } catch (const InputError& error) {
    return error.what();
  }
}

void expect_round_trip(const Graph& graph) {
  const std::string text = print(graph);
  ASSERT_EQ(faults(text), "") << text;
  const Graph again = parse_graph(text, "g.txt");
  EXPECT_EQ(again, normalised(graph)) << text;
  EXPECT_EQ(print(again), text);
}

// ---- Print ----

constexpr std::string_view kMlp = R"(graph "mlp"
input x : f32[2,4]
weight fc.weight : f16[8,4] layout(1,0)
optimizer_state master : f32[8,4] = copy_of(fc.weight)
constant const.2 : f32[] = splat(2)
constant causal : f32[2,2] = triangle(k=-1, below=0, above=-inf)
constant rotary : f32[3,4] = rotary(sin, base=10000)
input table : i64[3] = dense(1, -2, 3)

forward fc = matmul{trans_b=true, alpha=0.5}(x, fc.weight, _) -> fc : f32[2,8]
forward fc.relu = relu(fc) -> fc.relu : f32[2,8], fc.relu.mask : bit[2,8] mask
backward fc.relu.grad = relu_gradient{from=mask}(fc.relu, fc.relu.mask) -> dx : f32[2,8] holds(fc, x) barrier
backward dw = matmul{trans_a=true}(dx, x) -> dw : f32[8,4]
update sgd = sub(master, dw) -> master.new : f32[8,4] optimizer_state overwrites(master)

output fc.relu, master.new
)";

TEST(TextPrint, WritesWhatTheHeaderShows) {
  Builder b("mlp");
  const TensorId x = b.source("x", {2, 4}, Format{}, Category::Input);
  const TensorId w = b.source("fc.weight", {8, 4}, Format{Element::F16}, Category::Weight);
  b[w].layout = {1, 0};
  const TensorId master = b.source("master", {8, 4}, Format{}, Category::OptimizerState, CopyOf{w});
  b.scalar(2);
  const double inf = std::numeric_limits<double>::infinity();
  b.source("causal", {2, 2}, Format{}, Category::Constant, Triangle{-1, 0, -inf});
  b.source("rotary", {3, 4}, Format{}, Category::Constant, Rotary{true, 10000});
  b.source("table", {3}, Format{Element::I64}, Category::Input, Dense{{1, -2, 3}});
  const TensorId fc = b.one(MatMul{.trans_b = true, .alpha = 0.5}, {x, w, kNoTensor}, "fc");
  const auto relu = b.add(Unary{UnaryKind::Relu}, {fc}, "fc.relu", 2);
  b.phase = Phase::Backward;
  const TensorId dx =
      b.add_named(UnaryGradient{UnaryKind::Relu, 0, 0, Source::Mask}, {relu[0], relu[1]}, "fc.relu.grad", {"dx"})[0];
  b.graph().nodes.back().holds = {fc, x};
  b.graph().nodes.back().barrier = true;
  const TensorId dw = b.one(MatMul{.trans_a = true}, {dx, x}, "dw");
  b.phase = Phase::Update;
  const TensorId updated = b.add_named(Binary{BinaryKind::Sub}, {master, dw}, "sgd", {"master.new"})[0];
  b[updated].category = Category::OptimizerState;
  b[updated].overwrites = master;
  b.graph().outputs = {relu[0], updated};
  EXPECT_EQ(print(b.graph()), kMlp);
  expect_round_trip(b.graph());
}

TEST(TextPrint, BreaksLongOutputLines) {
  Builder b("wide");
  for (int i = 0; i < 40; ++i)
    b.graph().outputs.push_back(b.source("tensor" + std::to_string(i), {}, Format{}, Category::Input));
  const std::string text = print(b.graph());
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = text.find('\n', at);
    EXPECT_LE(end - at, 100u);
    at = end + 1;
  }
  expect_round_trip(b.graph());
}

TEST(TextPrint, NumbersTensorsAsTheyAreRead) {
  // y (id 0) is made by the node; late (id 2) is declared after the source it copies; both sources move up.
  Graph g;
  g.name = "g";
  g.tensors.resize(4);
  g[TensorId{0}].name = "y";
  g[TensorId{0}].overwrites = TensorId{3};
  g[TensorId{1}].name = "early";
  g[TensorId{1}].initial = CopyOf{TensorId{3}};
  g[TensorId{2}].name = "unread";
  g[TensorId{3}].name = "late";
  g.nodes.push_back(Node{.name = "n",
                         .op = Unary{UnaryKind::Neg},
                         .inputs = {TensorId{3}},
                         .outputs = {TensorId{0}},
                         .phase = Phase::Forward,
                         .barrier = false,
                         .holds = {TensorId{1}}});
  g.outputs = {TensorId{0}, TensorId{1}};
  const Graph n = normalised(g);
  ASSERT_EQ(n.tensors.size(), 4u);
  EXPECT_EQ(n.tensors[0].name, "early");
  EXPECT_EQ(n.tensors[0].initial, Initial(CopyOf{TensorId{2}}));
  EXPECT_EQ(n.tensors[1].name, "unread");
  EXPECT_EQ(n.tensors[2].name, "late");
  EXPECT_EQ(n.tensors[3].name, "y");
  EXPECT_EQ(n.tensors[3].overwrites, TensorId{2});
  EXPECT_EQ(n.nodes[0].inputs, std::vector{TensorId{2}});
  EXPECT_EQ(n.nodes[0].outputs, std::vector{TensorId{3}});
  EXPECT_EQ(n.nodes[0].holds, std::vector{TensorId{0}});
  EXPECT_EQ(n.outputs, (std::vector{TensorId{3}, TensorId{0}}));
  EXPECT_EQ(normalised(n), n);
  expect_round_trip(g);
}

// ---- Round trip ----

TEST(TextRoundTrip, EveryOperator) {
  const Graph graph = test::every_operator();
  EXPECT_EQ(test::missing_operators(graph), std::vector<std::string>{});
  EXPECT_EQ(faults(graph), std::vector<std::string>{});
  expect_round_trip(graph);
}

template <class T>
T another(const T& value) {
  if constexpr (std::is_same_v<T, bool>)
    return !value;
  else if constexpr (std::is_same_v<T, double>)
    return value - 0.1;
  else if constexpr (std::is_same_v<T, std::int64_t>)
    return value - 7;
  else if constexpr (std::is_same_v<T, Ints>)
    return {3, -1, std::numeric_limits<std::int64_t>::min()};
  else if constexpr (std::is_same_v<T, Part>)
    return {{3, 4}, {}, {-1}, {0, 5}};
  else if constexpr (std::is_same_v<T, std::vector<Step>>)
    return {{Unary{UnaryKind::Clip, -1, 0.1}, {3, kNoValue, kNoValue}, Format{Element::F8E4M3, 1, 32, 8}},
            {Cast{Element::Bit}, {0, kNoValue, kNoValue}, Format{Element::Bit}},
            {Select{}, {4, 0, 7}, Format{}}};
  else if constexpr (std::is_same_v<T, std::string>)
    return "a \"b\", {c}\n";
  else
    return static_cast<T>(value == T{} ? 1 : 0);
}

TEST(TextRoundTrip, EveryFieldOfEveryOperatorAloneAndTogether) {
  std::size_t fields = 0;
  const auto check = [](const Op& op) {
    const std::string text = operator_text(op);
    LineReader line(text);
    EXPECT_EQ(read_operator(line), op) << text;
    EXPECT_TRUE(line.at_end()) << text;
  };
  for (const Op& prototype : operator_prototypes()) {
    check(prototype);
    std::visit(
        [&]<class Family>(const Family& family) {
          Family all = family;
          const auto change = [&](const auto& field) {
            Family one = family;
            one.*field.member = another(family.*field.member);
            all.*field.member = one.*field.member;
            ++fields;
            EXPECT_NE(operator_text(one), operator_text(family));
            check(one);
          };
          std::apply([&](const auto&... field) { (change(field), ...); }, Family::fields());
          check(all);
        },
        prototype);
  }
  EXPECT_GT(fields, 200u);
}

TEST(TextRoundTrip, AnyName) {
  Builder b("a \"graph\"\n");
  for (const std::string& name : {std::string("plain"),
                                  std::string("/layer1/conv1/Conv_output_0"),
                                  std::string("onnx::MatMul_12"),
                                  std::string("a@b-c"),
                                  std::string("_"),
                                  std::string("__"),
                                  std::string("-x"),
                                  std::string("x-"),
                                  std::string("x:"),
                                  std::string(":x"),
                                  std::string("a b"),
                                  std::string("a->b"),
                                  std::string("#"),
                                  std::string("output"),
                                  std::string("layout"),
                                  std::string("holds"),
                                  std::string("mask"),
                                  std::string("1"),
                                  std::string("\"quoted\""),
                                  std::string("back\\slash"),
                                  std::string("tab\tline\nreturn\r"),
                                  std::string("\x01\x7F"),
                                  std::string("h\xC3\xBCgel"),
                                  std::string("\xFF\xFE broken"),
                                  std::string("nul\0byte", 8),
                                  std::string("x,y"),
                                  std::string("f(x)"),
                                  std::string("[0]"),
                                  std::string("{}"),
                                  std::string("=")}) {
    const TensorId source = b.source(name, {2}, Format{}, Category::Input);
    const TensorId made = b.add_named(Unary{UnaryKind::Relu}, {source}, name, {name + ".y"})[0];
    b[made].overwrites = source;
    b.graph().nodes.back().holds = {source};
    b.graph().outputs.push_back(made);
  }
  expect_round_trip(b.graph());
}

TEST(TextRoundTrip, AnyDouble) {
  Builder b("numbers");
  using Limits = std::numeric_limits<double>;
  Dense dense{{0.1, 1.0 / 3, 1e300, -2.5e-300, Limits::denorm_min(), Limits::max(), Limits::lowest(),
               Limits::infinity(), -Limits::infinity(), 123456789012345678.0, -0.0, 1e21}};
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const double value = std::bit_cast<double>(random_bits(1, 2, i));
    if (!std::isnan(value)) dense.values.push_back(value);
  }
  const auto count = static_cast<std::int64_t>(dense.values.size());
  const TensorId t = b.source("t", {count}, Format{}, Category::Constant, dense);
  expect_round_trip(b.graph());
  const Graph again = parse_graph(print(b.graph()), "g.txt");
  EXPECT_TRUE(std::signbit(std::get<Dense>(again[t].initial).values[10]));  // == does not tell -0 from 0

  Builder n("nan");
  n.source("t", {}, Format{}, Category::Constant, Splat{-Limits::quiet_NaN()});
  const Graph nan = parse_graph(print(n.graph()), "g.txt");
  EXPECT_TRUE(std::isnan(std::get<Splat>(nan.tensors[0].initial).value));
  EXPECT_EQ(print(nan), print(n.graph()));
}

TEST(TextRoundTrip, AnyFormat) {
  Builder b("formats");
  for (int e = 0; e <= static_cast<int>(Element::Bit); ++e)
    b.source("t", {5, 7}, Format{static_cast<Element>(e)}, Category::Input);
  b.source("t", {5, 7}, Format{Element::F8E5M2, 2, 16, 8}, Category::Input);
  b.source("t", {5, 7}, Format{Element::I4, 1, 32, 16}, Category::Input);
  expect_round_trip(b.graph());
}

TEST(TextRoundTrip, EmptyGraph) {
  expect_round_trip(Graph{});
  EXPECT_EQ(print(Graph{}), "graph \"\"\n");
}

// ---- Reading by hand ----

TEST(TextParse, LeavesSpacesCommentsAndLineEndsToTaste) {
  const Graph tidy =
      parse_graph("graph \"g\"\ninput x : f32[2,3]\nforward n = relu(x) -> y : f32[2,3]\noutput y\n", "");
  const Graph loose = parse_graph(
      "\xEF\xBB\xBF# a note\r\n\r\n  graph g# name\r\n\tinput x: f32 [ 2 , 3 ] # shape\r\n"
      "forward n=relu ( x )->y: f32[2,3]\r\n\r\noutput y",
      "");
  EXPECT_EQ(loose, tidy);
}

TEST(TextParse, InfersTypesAndCategoriesThatAreLeftOut) {
  const Graph g = parse_graph(
      "graph g\ninput x : f16[2,4,6,6]\n"
      "forward p = max_pool{kernel=[2,2], strides=[2,2], dilations=[1,1], pads_begin=[0,0], pads_end=[0,0]}(x) -> y, "
      "i\n"
      "backward b = relu(y) -> dy, _\n",
      "g.txt");
  const Tensor& y = g[tensor_named(g, "y")];
  EXPECT_EQ(y.shape, (Shape{2, 4, 3, 3}));
  EXPECT_EQ(y.format, Format{Element::F16});
  EXPECT_EQ(y.category, Category::Activation);
  const Tensor& i = g[tensor_named(g, "i")];
  EXPECT_EQ(i.format, Format{Element::I64});
  EXPECT_EQ(i.category, Category::Index);
  EXPECT_EQ(g[tensor_named(g, "dy")].category, Category::Gradient);
}

TEST(TextParse, TakesAnyFormatThatCanStoreTheResult) {
  EXPECT_EQ(faults("graph g\ninput x : f32[2]\nforward n = relu(x) -> y : f8e4m3/1x32+8[2], m : bool[2] mask\n"), "");
  EXPECT_EQ(faults("graph g\ninput x : f16[2]\nforward n = relu(x) -> y : f64[2]\n"), "");
}

TEST(TextParse, TakesTheTypesOfAFallbackAsGiven) {
  const std::string text =
      "graph g\ninput x : f32[2]\nforward n = fallback{type=\"my:Op\"}(x) -> y : i8[7,7]\nforward m = fallback(y)\n";
  ASSERT_EQ(faults(text), "");
  EXPECT_EQ(parse_graph(text, "")[TensorId{1}].shape, (Shape{7, 7}));
  EXPECT_EQ(
      faults("graph g\ninput x : f32[2]\nforward n = fallback(x) -> y\n"),
      "g.txt:3:29: error: expected ':' and a type: those of fallback cannot be inferred, found the end of the line");
}

TEST(TextParse, ReadsEscapes) {
  const Graph g = parse_graph(R"(graph "\u0041\u00fc\u20AC\uD83D\uDE00\/\b\f\n\r\t\"\\")", "");
  EXPECT_EQ(g.name, "A\xC3\xBC\xE2\x82\xAC\xF0\x9F\x98\x80/\b\f\n\r\t\"\\");
}

struct BadText {
  const char* text;
  const char* faults;
};

TEST(TextParse, SaysWhereAndWhatIsWrong) {
  const std::string head = "graph g\ninput x : f32[2,4]\nweight w : f32[8,4]\n";
  for (const auto& [text, expected] : std::vector<BadText>{
           {"forward n = relux(x) -> y : f32[2,4]", "4:13: error: unknown operator 'relux' (did you mean 'relu'?)"},
           {"forward n = matmul{trans_c=true}(x, w) -> y",
            "4:20: error: matmul has no field 'trans_c' (did you mean 'trans_a'?)"},
           {"forward n = relu{a=1, a=2}(x) -> y", "4:23: error: field 'a' is given twice"},
           {"forward n = add{a=1}(x, x) -> y", "4:17: error: add has no field 'a' (it has no fields)"},
           {"forward n = matmul{trans_b=1}(x, w) -> y", "4:28: error: 'trans_b' must be true or false"},
           {"forward n = lrn{size=2.5}(x) -> y", "4:22: error: 'size' must be a whole number, found '2.5'"},
           {"forward n = lrn{size=99999999999999999999}(x) -> y", "4:22: error: 'size' does not fit 64 bits"},
           {"forward n = lrn{alpha=1e999}(x) -> y", "4:23: error: 'alpha' is out of the range of a double"},
           {"forward n = view{shape=8}(x) -> y", "4:24: error: expected '[' before the list 'shape', found '8'"},
           {"forward n = view{shape=[8(x) -> y", "4:26: error: expected ']' or ',' in the list 'shape', found '('"},
           {"forward n = relu_gradient{from=maks}(x, x) -> y",
            "4:32: error: 'from' cannot be 'maks' (did you mean 'mask'?)"},
           {"forward n = cast{to=float}(x) -> y",
            "4:21: error: 'to' cannot be 'float' (one of: f64, f32, f16, bf16, f8e4m3, f8e5m2, i64, i32, i16, i8, i4, "
            "u64, u32, u16, u8, u4, bool, bit)"},
           {"forwrd n = relu(x) -> y", "4:1: error: a line cannot begin with 'forwrd' (did you mean 'forward'?)"},
           {"weigth v : f32[2]", "4:1: error: a line cannot begin with 'weigth' (did you mean 'weight'?)"},
           {"  -> y",
            "4:3: error: a line cannot begin with '-' (one of: forward, loss, backward, update, recompute, input, "
            "weight, activation, gradient, optimizer_state, model_state, constant, index, mask, workspace, "
            "graph, output)"},
           {"forward n = relu(xx) -> y", "4:18: error: tensor 'xx' is not defined (did you mean 'x'?)"},
           {"forward n = relu(y) -> y", "4:18: error: tensor 'y' is not defined"},
           {"forward n = relu(_) -> y", "4:13: error: relu: input 0 is missing"},
           {"forward n = matmul(x, w) -> y : f32[2,8]",
            "4:13: error: matmul: [2,4] and [8,4] do not multiply: inner sizes 4 and 8"},
           {"forward n = relu(x) -> y : f32[2,5]", "4:28: error: 'y' is stated as f32[2,5], but relu makes f32[2,4]"},
           {"forward n = relu(x) -> y : i32[2,4]", "4:28: error: 'y' is stated as i32[2,4], but relu makes f32[2,4]"},
           {"forward n = relu(x) -> y : f32[2,4], m : i8[2,4]",
            "4:42: error: 'm' is stated as i8[2,4], but relu makes bit[2,4]"},
           {"forward \"\" = relu(x) -> y", "4:9: error: the node's name must not be empty"},
           {"forward n = relu(x) -> \"\"", "4:24: error: an output's name must not be empty"},
           {"input \"\" : f32[2]", "4:7: error: the tensor's name must not be empty"},
           {"forward n = neg(x) -> y, z", "4:26: error: neg makes at most 1 output"},
           {"forward n = relu(x) -> w", "4:24: error: tensor 'w' is already defined on line 3 (choose another name)"},
           {"forward n = relu(x) -> y, y",
            "4:27: error: tensor 'y' is already defined on line 4 (choose another name)"},
           {"forward n = relu(x) -> y gradiant",
            "4:26: error: unknown attribute 'gradiant' (did you mean 'gradient'?)"},
           {"forward n = relu(x) -> y overwrites(y)", "4:37: error: tensor 'y' is not defined"},
           {"forward n = relu(x) -> y holds(_)", "4:34: error: '_' cannot be held"},
           {"forward n = relu(x) -> y barrier holds(x)",
            "4:34: error: 'holds' cannot stand here (the order is: category, layout(…), overwrites(…), and after the "
            "last "
            "output holds(…), barrier)"},
           {"forward n relu(x) -> y", "4:11: error: expected '=' after the node's name, found 'relu'"},
           {"forward = relu(x) -> y",
            "4:9: error: expected the node's name, found '=' (other signs need quotes: \"a name\")"},
           {"forward n = relu(x -> y", "4:20: error: expected ')' or ',' after an input, found '-'"},
           {"input _ : f32[2]",
            "4:7: error: expected the tensor's name, but '_' stands for an absent operand (quote it: \"_\")"},
           {"input v f32[2]", "4:9: error: expected ':' and a type after the tensor's name, found 'f32'"},
           {"input v:f32[2]",
            "4:12: error: expected ':' and a type after the tensor's name, found '[' (a colon within a name is part of "
            "it: put a space before)"},
           {"input v : f33[2]", "4:11: error: unknown format 'f33' (did you mean 'f32'?)"},
           {"input v : f32/1x32[2]", "4:11: error: unknown format 'f32/1x32' (did you mean 'f32'?)"},
           {"input v : f32[2,0]", "4:11: error: shape [2,0]: every dimension must be at least 1"},
           {"input v : f32[16777216,16777217]", "4:11: error: shape [16777216,16777217] has more than 2^48 elements"},
           {"input v : f32[2,3] layout(0,0)", "4:26: error: the layout must name each of the 2 dimensions once"},
           {"input v : f32[2,3] layout()", "4:26: error: the layout must name each of the 2 dimensions once"},
           {"input v : f32[2] = dense(1)", "4:20: error: [2] needs 2 values, 1 given"},
           {"input v : f32[2] = spalt(1)", "4:20: error: unknown initial value 'spalt' (did you mean 'splat'?)"},
           {"input v : f32[2] = splat(one)", "4:26: error: the value must be a number, found 'one'"},
           {"input v : f32[2] = triangle(k=0, below=0, above=1)", "4:20: error: a triangle needs two dimensions"},
           {"input v : f32[2,2] = triangle(0, 0, 1)", "4:31: error: expected 'k=' in triangle(…), found '0'"},
           {"input v : f32[2,3] = rotary(cos, base=10)",
            "4:22: error: rotary values need a shape [S,D] with an even D"},
           {"input v : f32[2,4] = rotary(tan, base=10)", "4:29: error: rotary values are 'cos' or 'sin'"},
           {"input v : f32[2,4] = copy_of(z)", "4:30: error: tensor 'z' is not defined"},
           {"input v : f32[4,2] = copy_of(x)", "4:30: error: 'x' is [2,4], its copy is [4,2]"},
           {"input v : f32[4,2] = copy_of(v)", "4:30: error: 'v' refers to itself in a circle"},
           {"input v : f32[4,2] overwrites(v)", "4:31: error: 'v' refers to itself in a circle"},
           {"input v : f32[2] extra", "4:18: error: expected the end of the line, found 'extra'"},
           {"output x y", "4:10: error: expected the end of the line, found 'y'"},
           {"output", "4:7: error: expected a tensor, found the end of the line"},
           {"output \"x", "4:10: error: the string does not end on this line (close it with a double quote)"},
           {"output \"\\q\"", "4:10: error: unknown escape '\\q' (use \\\" \\\\ \\/ \\b \\f \\n \\r \\t or \\uXXXX)"},
           {"output \"\\u12G4\"", "4:11: error: '\\u' needs four hexadecimal digits"},
           {"output \"\\uD800\"", "4:15: error: half a surrogate pair is no character"},
           {"graph h", "4:1: error: the graph already has a name (one graph a file)"},
       })
    EXPECT_EQ(faults(head + text), std::string("g.txt:") + expected) << text;
}

TEST(TextParse, WantsAGraphFirst) {
  EXPECT_EQ(faults(""), "g.txt:1:1: error: there is no graph here (begin with: graph \"name\")");
  EXPECT_EQ(faults("# nothing\n\n"), "g.txt:1:1: error: there is no graph here (begin with: graph \"name\")");
  EXPECT_EQ(faults("\ninput x : f32[2]\nforward n = relu(x) -> y\n"),
            "g.txt:2:1: error: expected the graph's name, found 'input' (begin with: graph \"name\")");
}

TEST(TextParse, ShowsEveryFaultButNotWhatFollowsFromIt) {
  EXPECT_EQ(faults("graph g\n"
                   "input x : f32[2,4]\n"
                   "forward a = relux(x) -> a : f32[2,4]\n"
                   "forward b = relu(a) -> b : f32[2,4]\n"  // follows from line 3
                   "forward c = relu(b) -> c : f32[2,4]\n"  // follows from line 4
                   "forward d = relu(q) -> d : f32[2,4]\n"
                   "output c, d\n"),
            "g.txt:3:13: error: unknown operator 'relux' (did you mean 'relu'?)\n"
            "g.txt:6:18: error: tensor 'q' is not defined");
}

TEST(TextParse, TellsLateDefinitionsFromMissingOnes) {
  EXPECT_EQ(faults("graph g\ninput x : f32[2]\nforward a = add(x, y) -> a\nforward b = neg(x) -> y\n"),
            "g.txt:3:20: error: tensor 'y' is read before it is defined on line 4 (lines stand in the order in which "
            "they run)");
}

TEST(TextParse, NamesAreUniqueAmongNodesAndAmongTensors) {
  EXPECT_EQ(faults("graph g\ninput n : f32[2]\nforward n = neg(n) -> y\n"), "");
  EXPECT_EQ(faults("graph g\ninput x : f32[2]\nforward n = neg(x) -> y\nforward n = neg(x) -> z\n"),
            "g.txt:4:9: error: node 'n' is already defined on line 3 (choose another name)");
  EXPECT_EQ(faults("graph g\ninput x : f32[2]\ninput x : f32[2]\n"),
            "g.txt:3:7: error: tensor 'x' is already defined on line 2 (choose another name)");
}

TEST(TextParse, FindsCirclesOfCopies) {
  EXPECT_EQ(faults("graph g\nweight a : f32[2] = copy_of(b)\nweight b : f32[2] = copy_of(c)\nweight c : f32[2]\n"), "");
  EXPECT_EQ(faults("graph g\nweight a : f32[2] = copy_of(b)\nweight b : f32[2] = copy_of(c)\n"
                   "weight c : f32[2] = copy_of(b)\n"),
            "g.txt:2:29: error: 'b' refers to itself in a circle");
  EXPECT_EQ(faults("graph g\nweight a : f32[2] = copy_of(y)\nforward n = neg(a) -> y\n"),
            "g.txt:2:29: error: 'y' is made by a node (a source can refer to sources only)");
}

// ---- Hostile input ----

TEST(TextParse, StopsAfterTwentyFaults) {
  std::string text = "graph g\n";
  for (int i = 0; i < 1000; ++i) text += "nonsense\n";
  try {
    parse_graph(text, "g.txt");
    FAIL();
  } catch (const InputError& error) {
    ASSERT_EQ(error.diagnostics().size(), 20u);
    EXPECT_EQ(error.diagnostics()[0].line, 2);
    EXPECT_EQ(error.diagnostics()[19].line, 21);
    EXPECT_TRUE(error.diagnostics()[19].hint.ends_with("; further faults are not shown"));
  }
}

TEST(TextParse, RefusesLinesAndShapesBeyondReason) {
  EXPECT_EQ(faults("graph g\n#" + std::string(1 << 26, ' ')),
            "g.txt:2:1: error: the line is longer than 67108864 bytes");
  std::string ones = "1";
  for (int i = 1; i < 64; ++i) ones += ",1";
  EXPECT_EQ(faults("graph g\ninput x : f32[" + ones + "]\n"), "");
  EXPECT_EQ(faults("graph g\ninput x : f32[" + ones + ",1]\n"),
            "g.txt:2:11: error: a tensor has at most 64 dimensions, not 65");
  EXPECT_EQ(faults("graph g\ninput x : f32[1]\nforward n = view{shape=[" + ones + ",1]}(x) -> y\n"),
            "g.txt:3:13: error: view: a tensor has at most 64 dimensions, not 65");
}

TEST(TextParse, DoesNotMindDepth) {
  const std::string deep(100000, '[');
  EXPECT_EQ(faults("graph g\nforward n = view{shape=" + deep + "}() -> y\n"),
            "g.txt:2:25: error: an entry of the list 'shape' must be a whole number, found '['");
  EXPECT_NE(faults("graph g\nforward n = " + std::string(100000, '(')), "");
  EXPECT_NE(faults("graph " + std::string(100000, '"')), "");
}

TEST(TextParse, SurvivesExtremeFields) {
  const std::string head = "graph g\ninput x : f32[281474976710656]\ninput m : f32[1,4,2,2]\ninput w : f32[4,2,1,1]\n";
  constexpr const char* kMost = "9223372036854775807";
  constexpr const char* kLeast = "-9223372036854775808";
  for (const std::string big : {kMost, kLeast, "4611686018427387904", "281474976710656"})
    for (const std::string& line : {
             "forward n = slice{starts=[" + big + "], sizes=[2], steps=[1]}(x) -> y",
             "forward n = slice{starts=[1], sizes=[281474976710655], steps=[" + big + "]}(x) -> y",
             "forward n = split{sizes=[" + big + "," + big + ",1]}(x) -> y",
             "forward n = pad{begin=[" + big + "], end=[" + big + "]}(x) -> y",
             "forward n = pad_gradient{begin=[" + big + "], end=[0]}(x) -> y",
             "forward n = conv{strides=[1,1], dilations=[1,1], pads_begin=[0,0], pads_end=[0,0], groups=" + big +
                 "}(m, w) -> y",
             "forward n = conv{strides=[" + big + ",1], dilations=[1,1], pads_begin=[0,0], pads_end=[0,0]}(m, w) -> y",
             "forward n = unfold{kernel=[" + big +
                 ",1], strides=[1,1], dilations=[1,1], pads_begin=[0,0], "
                 "pads_end=[0,0]}(m) -> y",
             "forward n = scatter_add{axis=" + big + ", size=1}(x, x) -> y",
             "forward n = gather{axis=" + big + "}(x, x) -> y",
             "forward n = reduce_sum{axes=[" + big + "]}(x) -> y",
             "forward n = expand{shape=[" + big + "]}(x) -> y, z",
             "forward n = iota{count=" + big + "}() -> y, z",
         })
      EXPECT_NE(faults(head + line), "") << line;
}

// A reproducible stream of small numbers.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : seed_(seed) {}
  std::size_t below(std::size_t limit) { return random_bits(seed_, 0, count_++) % limit; }

 private:
  std::uint64_t seed_, count_ = 0;
};

// One to four edits of the kinds that break parsers: bytes lost, doubled, swapped, and words from elsewhere.
std::string mutated(std::string text, Draws& draw) {
  static constexpr std::string_view kSeeds[] = {
      "\"",        "->",  "{",   "}",    "(",      ")",           "[",      "]",
      ",",         "_",   "=",   ":",    "\n",     "#",           "-1",     "9223372036854775807",
      "1e309",     "nan", "\\u", "\xC3", "f32[1]", "overwrites(", "holds(", "copy_of(",
      "layout(0)", "0"};
  const std::size_t edits = 1 + draw.below(4);
  for (std::size_t e = 0; e < edits && !text.empty(); ++e) {
    const std::size_t at = draw.below(text.size());
    switch (draw.below(6)) {
      case 0: text.erase(at, 1 + draw.below(8)); break;
      case 1: text.insert(at, text.substr(draw.below(text.size()), 1 + draw.below(30))); break;
      case 2: text[at] = static_cast<char>(draw.below(256)); break;
      case 3: text.insert(at, kSeeds[draw.below(std::size(kSeeds))]); break;
      case 4: text.replace(at, 1 + draw.below(4), kSeeds[draw.below(std::size(kSeeds))]); break;
      default: std::swap(text[at], text[draw.below(text.size())]); break;
    }
  }
  return text;
}

TEST(TextParse, TakesOrRefusesTwentyThousandMutations) {
  // Short texts, so that most edits hit something: the example above, and lines of the graph with every operator that
  // can stand alone under a few sources.
  const std::string head = "graph g\ninput x : f32[2,4]\ninput dy : f32[2,4]\ninput image : f32[2,4,5,5]\n";
  const std::string every = print(test::every_operator());
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < every.size();) {
    const std::size_t end = every.find('\n', at) + 1;
    if (end > at + 1 && faults(head + every.substr(at, end - at)).empty()) lines.push_back(every.substr(at, end - at));
    at = end;
  }
  ASSERT_GT(lines.size(), 80u);
  Draws draw(20240607);
  int taken = 0, refused = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text(kMlp);
    if (i % 2 == 0) {
      text = head;
      const std::size_t first = draw.below(lines.size());
      for (std::size_t l = draw.below(6) + 1; l > 0; --l) text += lines[(first + 7 * l) % lines.size()];
    }
    text = mutated(std::move(text), draw);
    try {
      const Graph graph = parse_graph(text, "g.txt");
      const std::string printed = print(graph);
      ASSERT_EQ(print(parse_graph(printed, "g.txt")), printed) << text;
      ++taken;
    } catch (const InputError& error) {
      ASSERT_FALSE(error.diagnostics().empty());
      for (const Diagnostic& d : error.diagnostics()) {
        ASSERT_GE(d.line, 1);
        ASSERT_GE(d.column, 1);
        ASSERT_FALSE(d.message.empty());
      }
      ++refused;
    }
  }
  // Both must happen often, or the edits test nothing.
  EXPECT_GT(taken, 200);
  EXPECT_GT(refused, 5000);
}

}  // namespace
}  // namespace monet
