// Tiles of every operator: run on their parts of the operands alone, they make the whole; bit for bit where no
// reduction is cut. What tiles read is no more than they need, and their work adds up.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <functional>

#include "monet/graph/text.h"
#include "monet/models/catalogue.h"
#include "monet/rewrite/decompose.h"
#include "monet/training/train.h"
#include "support/every_operator.h"
#include "support/tiling.h"

namespace monet::test {
namespace {

TEST(Cut, EveryOperatorOfTheGraphOfAll) {
  const Graph g = decompose(every_operator(false));
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    check_every_node<float>(g, seed, 2);
    check_every_node<double>(g, seed, 2);
  }
}

// One iteration of training: what the scheduler will cut.
TEST(Cut, EveryNodeOfTrainingGraphs) {
  for (const char* model : {"resnet18:image=16,classes=4,width=4,stem=cifar", "mobilenet_v2:image=32,classes=3",
                            "gpt2:layers=1,width=8,heads=2,vocab=11,seq=6,dropout=0.2",
                            "llama2-7b:layers=1,width=8,heads=4,kv_heads=2,ff=12,vocab=14,seq=5"}) {
    TrainingOptions options;
    options.optimizer = parse_optimizer("adam");
    check_every_node<float>(decompose(make_training(build_model(model, 2), options).graph), 7, 1);
  }
}

// Long sums: more terms than one run of the matrix product, more positions than one piece of an unfolded image, and
// groups of one channel, which alone are computed in another way than together.
TEST(Cut, LongSumsAreTheSameBitsInEveryTile) {
  const auto check = [](std::int64_t samples, std::int64_t channels, std::int64_t groups, std::int64_t side,
                        std::int64_t stride) {
    Builder b("long");
    const TensorId x = b.source("x", {samples, channels, side, side}, Format{}, Category::Input);
    const TensorId w = b.source("w", {channels, channels / groups, 3, 3}, Format{}, Category::Input);
    Conv conv{.kind = ConvKind::Forward,
              .strides = {stride, stride},
              .dilations = {1, 1},
              .pads_begin = {1, 1},
              .pads_end = {1, 1},
              .groups = groups,
              .extent = {}};
    const TensorId y = b.one(conv, {x, w}, "forward");
    conv.kind = ConvKind::DataGradient;
    conv.extent = {side, side};
    b.one(conv, {y, w}, "data");
    conv.kind = ConvKind::WeightGradient;
    conv.extent = {3, 3};
    b.one(conv, {x, y}, "weight");
    const Graph g = std::move(b).finish();
    check_every_node<float>(g, 1, 1);
  };
  check(1, 32, 1, 90, 1);  // pieces of 7168 positions
  check(2, 40, 1, 12, 2);
  check(3, 4, 4, 30, 1);
}

// ---- Random nodes ----

class Nodes {
 public:
  explicit Nodes(std::uint64_t seed) : draw(seed) {}

  TensorId source(Shape shape, Element element = Element::F32) {
    return b.source("s", std::move(shape), Format{element}, Category::Input);
  }
  TensorId indices(Shape shape, std::int64_t below) {
    Dense values;
    for (std::int64_t i = 0; i < elements(shape); ++i) values.values.push_back(static_cast<double>(draw.below(below)));
    return b.source("i", std::move(shape), Format{Element::I64}, Category::Input, std::move(values));
  }
  Shape shape(std::size_t least, std::size_t most, std::int64_t extent = 5) {
    Shape s;
    for (std::int64_t i = draw.between(static_cast<std::int64_t>(least), static_cast<std::int64_t>(most)); i > 0; --i)
      s.push_back(draw.between(1, extent));
    return s;
  }
  // A shape that broadcasts to `to`.
  Shape narrower(const Shape& to) {
    Shape s(to.begin() + draw.below(std::ssize(to) + 1), to.end());
    for (std::int64_t& extent : s)
      if (draw.below(3) == 0) extent = 1;
    return s;
  }
  Ints list(std::size_t n, std::int64_t low, std::int64_t high) {
    Ints l;
    for (std::size_t i = 0; i < n; ++i) l.push_back(draw.between(low, high));
    return l;
  }
  std::vector<TensorId> add(Op op, std::vector<TensorId> inputs, std::size_t outputs = 1) {
    const std::string name(operator_name(op));
    return b.add(std::move(op), std::move(inputs), name, outputs);
  }
  Graph finish() && { return decompose(std::move(b).finish()); }

  Builder b{"random"};
  Draw draw;
};

// A convolution, and the two gradients of it.
void convolution(Nodes& n) {
  const auto rank = static_cast<std::size_t>(n.draw.between(1, 3));
  const std::int64_t groups = n.draw.coin() ? 1 : n.draw.between(2, 3);
  const std::int64_t per_group = n.draw.between(1, 3), k = n.draw.between(1, 3);
  Conv conv{.kind = ConvKind::Forward,
            .strides = n.list(rank, 1, 3),
            .dilations = n.list(rank, 1, 2),
            .pads_begin = n.list(rank, -1, 3),
            .pads_end = n.list(rank, -1, 3),
            .groups = groups,
            .extent = {}};
  Shape x{n.draw.between(1, 2), groups * per_group}, w{groups * k, per_group};
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t kernel = n.draw.between(1, 4), reach = conv.dilations[i] * (kernel - 1) + 1;
    w.push_back(kernel);
    x.push_back(std::max<std::int64_t>(1, reach - conv.pads_begin[i] - conv.pads_end[i]) +
                n.draw.below(rank == 3 ? 3 : 7));
  }
  const TensorId xs = n.source(x), ws = n.source(w);
  std::vector<TensorId> operands{xs, ws};
  if (n.draw.coin()) operands.push_back(n.source({w[0]}));
  const TensorId y = n.add(conv, operands)[0];
  conv.kind = ConvKind::DataGradient;
  conv.extent = Ints(x.begin() + 2, x.end());
  operands = {y, ws};
  if (n.draw.coin()) operands.push_back(n.source({x[1]}));
  n.add(conv, operands);
  conv.kind = ConvKind::WeightGradient;
  conv.extent = Ints(w.begin() + 2, w.end());
  n.add(conv, {xs, y});
}

void product(Nodes& n) {
  const Shape batch = n.shape(0, 3, 3);
  const std::int64_t m = n.draw.between(1, 6), columns = n.draw.between(1, 6), inner = n.draw.between(1, 7);
  const MatMul op{n.draw.coin(), n.draw.coin(), n.draw.coin() ? 1.0 : 0.5, n.draw.coin() ? 1.0 : -2.0};
  const auto matrix = [&](std::int64_t rows, std::int64_t width, bool transposed) {
    Shape s = n.narrower(batch);
    s.push_back(transposed ? width : rows);
    s.push_back(transposed ? rows : width);
    return n.source(s);
  };
  const TensorId a = matrix(m, inner, op.trans_a), bb = matrix(inner, columns, op.trans_b);
  std::vector<TensorId> operands{a, bb};
  const TensorId y = n.add(op, operands)[0];
  if (n.draw.coin()) return;
  operands.push_back(n.source(n.narrower(n.b[y].shape)));
  n.add(op, operands);
}

void pooling(Nodes& n) {
  const auto rank = static_cast<std::size_t>(n.draw.between(1, 3));
  Pool pool;
  pool.kind = n.draw.coin() ? PoolKind::Max : PoolKind::Average;
  pool.kernel = n.list(rank, 1, 3);
  pool.strides = n.list(rank, 1, 4);
  pool.dilations = n.list(rank, 1, 2);
  pool.ceil = n.draw.coin();
  pool.count_pads = n.draw.coin();
  pool.window_index = n.draw.coin();
  Shape x{n.draw.between(1, 2), n.draw.between(1, 2)};
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t reach = pool.dilations[i] * (pool.kernel[i] - 1) + 1;
    pool.pads_begin.push_back(n.draw.below(reach));
    pool.pads_end.push_back(n.draw.below(reach));
    x.push_back(reach + n.draw.below(rank == 3 ? 3 : 8));
  }
  const bool max = pool.kind == PoolKind::Max;
  const auto y = n.add(pool, {n.source(x)}, max ? 2 : 1);
  PoolGradient g{.kind = pool.kind,
                 .kernel = pool.kernel,
                 .strides = pool.strides,
                 .dilations = pool.dilations,
                 .pads_begin = pool.pads_begin,
                 .pads_end = pool.pads_end,
                 .ceil = pool.ceil,
                 .count_pads = pool.count_pads,
                 .window_index = pool.window_index,
                 .extent = Ints(x.begin() + 2, x.end())};
  std::vector<TensorId> operands{n.source(n.b[y[0]].shape)};
  if (max) operands.push_back(y[1]);
  n.add(g, operands);
}

void normalisation(Nodes& n) {
  const NormKind kind = static_cast<NormKind>(n.draw.below(5));
  const bool by_axis = kind == NormKind::Layer || kind == NormKind::Rms;
  const std::int64_t groups = kind == NormKind::Group ? n.draw.between(1, 3) : 1;
  Shape x{n.draw.between(1, 3), groups * n.draw.between(1, 3)};
  for (const std::int64_t extent : n.shape(0, 2, 4)) x.push_back(extent);
  const std::int64_t axis = by_axis ? n.draw.below(std::ssize(x)) : -1;
  const Shape parameters = by_axis ? Shape(x.begin() + axis, x.end()) : Shape{x[1]};
  std::vector<TensorId> in{n.source(x), n.source(parameters)};
  if (kind != NormKind::Rms) in.push_back(n.source(parameters));
  if (kind == NormKind::Batch || kind == NormKind::FrozenBatch) {
    in.push_back(n.source(parameters));
    in.push_back(n.b.source("variance", parameters, Format{}, Category::ModelState, Splat{0.7}));
  }
  const std::size_t outputs = kind == NormKind::Batch         ? 5
                              : kind == NormKind::FrozenBatch ? 1
                              : kind == NormKind::Rms         ? 2
                                                              : 3;
  const auto out = n.add(Norm{kind, axis, groups, 1e-3, 0.2}, in, outputs);
  std::vector<TensorId> back{n.source(x), in[0], in[1]};
  if (kind == NormKind::FrozenBatch)
    back.insert(back.end(), {in[3], in[4]});
  else
    back.insert(back.end(), out.begin() + 1, out.begin() + (kind == NormKind::Rms ? 2 : 3));
  n.add(NormGradient{kind, axis, groups, 1e-3}, back, kind == NormKind::Rms ? 2 : 3);
}

void padding(Nodes& n) {
  const Shape x = n.shape(1, 3, 6);
  Pad pad;
  pad.mode = static_cast<PadMode>(n.draw.below(3));
  pad.value = 0.25;
  for (const std::int64_t extent : x) {
    const std::int64_t most = pad.mode == PadMode::Reflect ? extent - 1 : 4;
    pad.begin.push_back(n.draw.between(0, most));
    pad.end.push_back(n.draw.between(0, most));
    if (pad.mode == PadMode::Constant && extent > 2 && n.draw.coin()) pad.begin.back() = -1;
    if (pad.mode == PadMode::Constant && extent > 2 && n.draw.coin()) pad.end.back() = -1;
  }
  const TensorId y = n.add(pad, {n.source(x)})[0];
  if (pad.mode != PadMode::Constant) n.add(PadGradient{pad.begin, pad.end, pad.mode}, {n.source(n.b[y].shape)});
}

void slicing(Nodes& n) {
  const Shape x = n.shape(1, 3, 9);
  Slice slice;
  for (const std::int64_t extent : x) {
    const std::int64_t step = n.draw.between(1, 3), size = n.draw.between(1, (extent - 1) / step + 1);
    const std::int64_t start = n.draw.below(extent - (size - 1) * step);
    const bool backwards = n.draw.coin();
    slice.starts.push_back(backwards ? start + (size - 1) * step : start);
    slice.steps.push_back(backwards ? -step : step);
    slice.sizes.push_back(size);
  }
  const TensorId y = n.add(slice, {n.source(x)})[0];
  n.add(Place{slice.starts, slice.steps, x}, {y});
}

void joining(Nodes& n) {
  Shape x = n.shape(1, 3);
  const std::int64_t axis = n.draw.below(std::ssize(x));
  std::vector<TensorId> parts;
  Ints sizes;
  for (std::int64_t i = n.draw.between(1, 4); i > 0; --i) {
    sizes.push_back(n.draw.between(1, 4));
    x[static_cast<std::size_t>(axis)] = sizes.back();
    parts.push_back(n.source(x));
  }
  const TensorId y = n.add(Concat{axis}, parts)[0];
  n.add(Split{axis, sizes}, {y}, sizes.size());
}

void indexing(Nodes& n) {
  const Shape data = n.shape(1, 3), which = n.shape(0, 2, 4);
  const std::int64_t axis = n.draw.below(std::ssize(data)), size = data[static_cast<std::size_t>(axis)];
  const TensorId at = n.indices(which, size);
  const TensorId y = n.add(Gather{axis}, {n.source(data), at})[0];
  n.add(ScatterAdd{axis, size}, {y, at});
}

void rearranging(Nodes& n) {
  const Shape x = n.shape(1, 4);
  const TensorId s = n.source(x);
  Ints perm;
  for (std::size_t i = 0; i < x.size(); ++i)
    perm.insert(perm.begin() + n.draw.below(std::ssize(perm) + 1), static_cast<std::int64_t>(i));
  n.add(Transpose{perm}, {s});
  n.add(Expand{x}, {n.source(n.narrower(x))});
  Shape flat = x;
  if (flat.size() > 1 && n.draw.coin()) {
    flat[0] *= flat[1];
    flat.erase(flat.begin() + 1);
  }
  flat.insert(flat.begin() + n.draw.below(std::ssize(flat) + 1), 1);
  n.add(View{flat}, {s});
  if (x.size() > 1) n.add(Trilu{n.draw.coin(), n.draw.between(-4, 4)}, {s});
  n.add(Iota{0.1, 0.7, n.draw.between(1, 9), Element::F32}, {});
  n.add(Fill{x, 2, Element::F32}, {});
}

void pointwise(Nodes& n) {
  const Shape y = n.shape(0, 4);
  const TensorId a = n.source(y), bb = n.source(n.narrower(y)), c = n.source(n.narrower(y));
  n.add(Binary{BinaryKind::Sub}, {bb, a});
  n.add(Sum{}, {a, bb, c});
  n.add(Select{}, {n.add(Binary{BinaryKind::Less}, {bb, c})[0], a, bb});
  n.add(Unary{UnaryKind::Relu, 0, 0}, {a}, 2);
  n.add(Cast{Element::I32}, {a});
  const auto dropped = n.add(Dropout{.ratio = 0.4, .seed = n.draw.below(99)}, {a}, 2);
  n.add(DropoutGradient{.ratio = 0.4, .seed = 5}, {a, dropped[1]});
  n.add(DropoutGradient{.ratio = 0.4, .seed = 5}, {a});
}

void reducing(Nodes& n) {
  const Shape x = n.shape(0, 4);
  const auto kind = static_cast<ReduceKind>(n.draw.below(5));
  Ints axes;
  for (std::int64_t i = 0; i < std::ssize(x); ++i)
    if (n.draw.coin()) axes.push_back(i);
  n.add(Reduce{kind, axes, n.draw.coin()}, {n.source(x)});
  n.add(Reduce{kind, axes, n.draw.coin()}, {n.indices(x, 20)});
}

void losses(Nodes& n) {
  Shape x = n.shape(2, 4);
  const bool mean = n.draw.coin();
  const std::int64_t ignored = n.draw.coin() ? -100 : 0;
  const TensorId log_prob = n.source(x), one = n.source({});
  const auto labels = [&](std::size_t axis) {
    Shape s = x;
    s.erase(s.begin() + static_cast<std::ptrdiff_t>(axis));
    return n.indices(s, x[axis]);
  };
  const TensorId l = labels(1);
  n.add(NegativeLogLikelihood{mean, ignored}, {log_prob, l});
  n.add(NegativeLogLikelihoodGradient{mean, ignored}, {one, log_prob, l});
  const std::int64_t axis = n.draw.below(std::ssize(x));
  n.add(CrossEntropyGradient{mean, ignored, Element::F32, axis},
        {one, log_prob, labels(static_cast<std::size_t>(axis))});
}

void windows(Nodes& n) {
  const TensorId x = n.source({n.draw.between(1, 2), n.draw.between(1, 9), n.draw.between(1, 3)});
  const std::int64_t size = n.draw.between(1, 6);
  n.add(Lrn{.size = size, .alpha = 0.5}, {x});
  n.add(LrnGradient{.size = size, .alpha = 0.5}, {n.source(n.b[x].shape), x});
  const auto rank = static_cast<std::size_t>(n.draw.between(1, 3));
  const Unfold unfold{n.list(rank, 1, 3), n.list(rank, 1, 3), n.list(rank, 1, 2), n.list(rank, 0, 2),
                      n.list(rank, 0, 2)};
  Shape image{n.draw.between(1, 2), n.draw.between(1, 3)};
  for (std::size_t i = 0; i < rank; ++i) image.push_back(n.draw.between(5, 8));
  n.add(unfold, {n.source(image)});
}

using Maker = void (*)(Nodes&);
constexpr Maker kMakers[] = {convolution, product,     pooling,   normalisation, padding, slicing, joining,
                             indexing,    rearranging, pointwise, reducing,      losses,  windows};

Graph random_graph(std::uint64_t seed, Maker maker) {
  Nodes n(seed);
  maker(n);
  return std::move(n).finish();
}

void check_family(Maker maker) {
  const std::uint64_t seed = *rc::gen::arbitrary<std::uint64_t>();
  const Graph g = random_graph(seed, maker);
  try {
    if (*rc::gen::arbitrary<bool>())
      check_every_node<float>(g, seed, 2);
    else
      check_every_node<double>(g, seed, 2);
  } catch (const TilingFault& fault) {
    RC_FAIL(fault.what() + ("\n" + print(g)));
  }
}

RC_GTEST_PROP(Cut, ConvolutionsOfEveryKind, ()) { check_family(convolution); }
RC_GTEST_PROP(Cut, MatrixProducts, ()) { check_family(product); }
RC_GTEST_PROP(Cut, PoolingsAndTheirGradients, ()) { check_family(pooling); }
RC_GTEST_PROP(Cut, PassesOfNormalisations, ()) { check_family(normalisation); }
RC_GTEST_PROP(Cut, PaddingsAndTheirGradients, ()) { check_family(padding); }
RC_GTEST_PROP(Cut, SlicesAndPlaces, ()) { check_family(slicing); }
RC_GTEST_PROP(Cut, JoinsAndSplits, ()) { check_family(joining); }
RC_GTEST_PROP(Cut, GathersAndScatters, ()) { check_family(indexing); }
RC_GTEST_PROP(Cut, Rearrangements, ()) { check_family(rearranging); }
RC_GTEST_PROP(Cut, ElementwiseWork, ()) { check_family(pointwise); }
RC_GTEST_PROP(Cut, Reductions, ()) { check_family(reducing); }
RC_GTEST_PROP(Cut, Losses, ()) { check_family(losses); }
RC_GTEST_PROP(Cut, WindowsOverChannelsAndColumns, ()) { check_family(windows); }

// Operators of which every element that a box of an operand has at its ends shows in the result, if it is read.
bool shows_what_it_reads(const Op& op) {
  if (const NormPart* part = std::get_if<NormPart>(&op))  // frozen statistics are given their mean, and do not use it
    return part->pass != NormPass::RunningUpdate && part->kind != NormKind::FrozenBatch;
  if (const PoolGradient* pool = std::get_if<PoolGradient>(&op)) return pool->kind == PoolKind::Average;
  return std::holds_alternative<Conv>(op) || std::holds_alternative<MatMul>(op) || std::holds_alternative<Pool>(op) ||
         std::holds_alternative<Lrn>(op) || std::holds_alternative<LrnGradient>(op) ||
         std::holds_alternative<Pad>(op) || std::holds_alternative<PadGradient>(op) ||
         std::holds_alternative<Slice>(op) || std::holds_alternative<Place>(op) || std::holds_alternative<Concat>(op) ||
         std::holds_alternative<Split>(op) || std::holds_alternative<Unfold>(op) || std::holds_alternative<Sum>(op) ||
         std::holds_alternative<Transpose>(op) || std::holds_alternative<Expand>(op) ||
         std::holds_alternative<View>(op);
}

void check_tight(const Graph& g, std::uint64_t seed) {
  RunOptions options;
  for (std::uint32_t t = 0; t < g.tensors.size(); ++t) options.keep.push_back(TensorId{t});
  const Values<double> values = run<double>(g, initial_values<double>(g, seed), options);
  Draw draw(seed);
  for (const Node& node : g.nodes) {
    if (!shows_what_it_reads(node.op)) continue;
    std::vector<const Array<double>*> inputs;
    for (const TensorId t : node.inputs) inputs.push_back(t == kNoTensor ? nullptr : &values.at(g[t].name));
    Tiling<double> tiling(g, node, inputs);
    // Of a convolution, what slides: weights and gradients of outputs are read where they meet padding too. The dy of
    // an LRN gradient has the region of its x.
    const std::size_t first = std::holds_alternative<LrnGradient>(node.op) ? 1 : 0;
    const std::size_t end = std::holds_alternative<Conv>(node.op) ? 1 : inputs.size();
    for (std::size_t i = first; i < end; ++i)
      if (inputs[i])
        for (int round = 0; round < 5; ++round) tiling.check_tight(i, draw);
  }
}

RC_GTEST_PROP(Cut, RegionsAreTheSmallestBoxes, ()) {
  const std::uint64_t seed = *rc::gen::arbitrary<std::uint64_t>();
  for (const Maker maker : kMakers) {
    const Graph g = random_graph(seed, maker);
    try {
      check_tight(g, seed);
    } catch (const TilingFault& fault) {
      RC_FAIL(fault.what() + ("\n" + print(g)));
    }
  }
}

}  // namespace
}  // namespace monet::test
