#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include "monet/graph/op_elementwise.h"
#include "monet/graph/op_field.h"
#include "monet/numeric/format.h"

// The operators of a graph: about thirty families, each a plain struct. A family with kinds is printed by its kind
// ("relu", "reduce_sum"). `fields()` lists the attributes once, for printing, parsing and documentation alike.
// Operand lists are given as (inputs) -> (outputs); operands in [brackets] may be absent (kNoTensor).

namespace monet {

// ---- Loop nests ----

// (a, b, [c]) -> y = alpha · a' b' + beta · c, batch dimensions broadcast, c broadcast to y.
struct MatMul {
  bool trans_a = false, trans_b = false;
  double alpha = 1, beta = 1;
  static constexpr auto fields() {
    return std::tuple{Field{"trans_a", &MatMul::trans_a}, Field{"trans_b", &MatMul::trans_b},
                      Field{"alpha", &MatMul::alpha}, Field{"beta", &MatMul::beta}};
  }
  bool operator==(const MatMul&) const = default;
};

// The three convolutions of training share their attributes, which are always those of the forward convolution
// x [N,C,*] * w [K,C/g,*] -> y [N,K,*]:
//   Forward        (x, w, [bias]) -> y
//   DataGradient   (y, w, [bias]) -> x   `extent` = spatial sizes of x (also ConvTranspose, with its bias)
//   WeightGradient (x, y)         -> w   `extent` = spatial sizes of w
enum class ConvKind { Forward, DataGradient, WeightGradient };
struct Conv {
  ConvKind kind = ConvKind::Forward;
  Ints strides, dilations, pads_begin, pads_end;
  std::int64_t groups = 1;
  Ints extent;
  static constexpr auto fields() {
    return std::tuple{Field{"strides", &Conv::strides},       Field{"dilations", &Conv::dilations},
                      Field{"pads_begin", &Conv::pads_begin}, Field{"pads_end", &Conv::pads_end},
                      Field{"groups", &Conv::groups},         Field{"extent", &Conv::extent}};
  }
  bool operator==(const Conv&) const = default;
};

// ---- Reductions, pooling, normalisation ----

enum class ReduceKind { Sum, Mean, Max, Min, SumSquare };
// (x) -> y; `axes` ascending, not negative
struct Reduce {
  ReduceKind kind = ReduceKind::Sum;
  Ints axes;
  bool keep = true;
  static constexpr auto fields() { return std::tuple{Field{"axes", &Reduce::axes}, Field{"keep", &Reduce::keep}}; }
  bool operator==(const Reduce&) const = default;
};

enum class PoolKind { Max, Average };
// (x) -> (y, [indices])  Indices (Max only) say which element of the window won: as an offset in its window
// (row-major over the kernel) when `window_index`, else as a flat position in the image plane.
// `part`: spatial sizes of the whole image, where x begins in it, the first window made and how many.
struct Pool {
  PoolKind kind = PoolKind::Max;
  Ints kernel, strides, dilations, pads_begin, pads_end;
  bool ceil = false, count_pads = false, window_index = false;
  Part part{};
  static constexpr auto fields() {
    return std::tuple{Field{"kernel", &Pool::kernel},
                      Field{"strides", &Pool::strides},
                      Field{"dilations", &Pool::dilations},
                      Field{"pads_begin", &Pool::pads_begin},
                      Field{"pads_end", &Pool::pads_end},
                      Field{"ceil", &Pool::ceil},
                      Field{"count_pads", &Pool::count_pads},
                      Field{"window_index", &Pool::window_index},
                      Field{"part", &Pool::part}};
  }
  bool operator==(const Pool&) const = default;
};
// (dy, [indices]) -> dx   `extent` = spatial sizes of x
// `part`: spatial sizes of the whole image, where dx begins in it, the first window that dy holds.
struct PoolGradient {
  PoolKind kind = PoolKind::Max;
  Ints kernel, strides, dilations, pads_begin, pads_end;
  bool ceil = false, count_pads = false, window_index = false;
  Ints extent;
  Part part{};
  static constexpr auto fields() {
    return std::tuple{
        Field{"kernel", &PoolGradient::kernel},         Field{"strides", &PoolGradient::strides},
        Field{"dilations", &PoolGradient::dilations},   Field{"pads_begin", &PoolGradient::pads_begin},
        Field{"pads_end", &PoolGradient::pads_end},     Field{"ceil", &PoolGradient::ceil},
        Field{"count_pads", &PoolGradient::count_pads}, Field{"window_index", &PoolGradient::window_index},
        Field{"extent", &PoolGradient::extent},         Field{"part", &PoolGradient::part}};
  }
  bool operator==(const PoolGradient&) const = default;
};

// What is normalised together: Batch: N and space of one channel. Layer, Rms: dimensions from `axis` on.
// Group: the channels of one of `groups` groups and space, per sample. Parameters are per channel (dimension 1),
// or, for Layer and Rms, of the shape of the normalised dimensions.
enum class NormKind { Batch, FrozenBatch, Layer, Group, Rms };
// Batch:       (x, scale, bias, [running_mean, running_var]) -> (y, mean, inv_std, [new_running_mean, new_running_var])
// FrozenBatch: (x, scale, bias, mean, var) -> y
// Layer:       (x, scale, [bias]) -> (y, mean, inv_std)      scale and bias may be absent
// Group:       (x, scale, bias) -> (y, mean, inv_std)
// Rms:         (x, scale) -> (y, inv_rms)
struct Norm {
  NormKind kind = NormKind::Batch;
  std::int64_t axis = -1, groups = 1;
  double epsilon = 1e-5, momentum = 0.1;  // running = (1-momentum)·running + momentum·batch
  static constexpr auto fields() {
    return std::tuple{Field{"axis", &Norm::axis}, Field{"groups", &Norm::groups}, Field{"epsilon", &Norm::epsilon},
                      Field{"momentum", &Norm::momentum}};
  }
  bool operator==(const Norm&) const = default;
};
// Batch, Layer, Group: (dy, x, [scale], mean, inv_std) -> ([dx], [dscale], [dbias])
// FrozenBatch:         (dy, x, scale, mean, var) -> ([dx], [dscale], [dbias])   x absent unless dscale is wanted
// Rms:                 (dy, x, [scale], inv_rms) -> ([dx], [dscale])
struct NormGradient {
  NormKind kind = NormKind::Batch;
  std::int64_t axis = -1, groups = 1;
  double epsilon = 1e-5;
  static constexpr auto fields() {
    return std::tuple{Field{"axis", &NormGradient::axis}, Field{"groups", &NormGradient::groups},
                      Field{"epsilon", &NormGradient::epsilon}};
  }
  bool operator==(const NormGradient&) const = default;
};

// The single passes a normalisation consists of, as `decompose` makes them. Rms has no mean: kNoTensor there.
//   Statistics     (x) -> (mean, inv_std, [variance])
//   RunningUpdate  (running_mean, running_var, mean, variance) -> (new_running_mean, new_running_var)
//   Apply          (x, mean, inv_std, [scale], [bias]) -> y
//   ParameterSums  (dy, x, mean, inv_std) -> (dscale, [dbias])          Σdy·x̂ and Σdy over what shares a parameter
//   GroupSums      (dy, x, mean, inv_std, [scale]) -> (s1, s2)          Σdy·γ and Σdy·γ·x̂ over what is normalised
//   together InputGradient  (dy, x, mean, inv_std, [scale], s1, s2) -> dx        Batch takes s1=dbias, s2=dscale
enum class NormPass { Statistics, RunningUpdate, Apply, ParameterSums, GroupSums, InputGradient };
struct NormPart {
  NormPass pass = NormPass::Statistics;
  NormKind kind = NormKind::Batch;
  std::int64_t axis = -1, groups = 1;
  double epsilon = 1e-5, momentum = 0.1;
  std::int64_t count = 1;  // RunningUpdate: elements behind each statistic
  Part part{};             // InputGradient: `count` = elements behind each statistic, of which x holds some
  static constexpr auto fields() {
    return std::tuple{Field{"kind", &NormPart::kind},         Field{"axis", &NormPart::axis},
                      Field{"groups", &NormPart::groups},     Field{"epsilon", &NormPart::epsilon},
                      Field{"momentum", &NormPart::momentum}, Field{"count", &NormPart::count},
                      Field{"part", &NormPart::part}};
  }
  bool operator==(const NormPart&) const = default;
};

// Local response normalisation over channels: y = x / (bias + alpha/size · Σ_window x²)^beta. (x) -> y
// `part`: `origin`, `count` = the channels of x for which y is made.
struct Lrn {
  std::int64_t size = 5;
  double alpha = 1e-4, beta = 0.75, bias = 1;
  Part part{};
  static constexpr auto fields() {
    return std::tuple{Field{"size", &Lrn::size}, Field{"alpha", &Lrn::alpha}, Field{"beta", &Lrn::beta},
                      Field{"bias", &Lrn::bias}, Field{"part", &Lrn::part}};
  }
  bool operator==(const Lrn&) const = default;
};
// (dy, x) -> dx; `part` as in Lrn
struct LrnGradient {
  std::int64_t size = 5;
  double alpha = 1e-4, beta = 0.75, bias = 1;
  Part part{};
  static constexpr auto fields() {
    return std::tuple{Field{"size", &LrnGradient::size}, Field{"alpha", &LrnGradient::alpha},
                      Field{"beta", &LrnGradient::beta}, Field{"bias", &LrnGradient::bias},
                      Field{"part", &LrnGradient::part}};
  }
  bool operator==(const LrnGradient&) const = default;
};

// (x) -> y
struct Softmax {
  std::int64_t axis = -1;  // never negative in a graph
  bool log = false;
  static constexpr auto fields() { return std::tuple{Field{"axis", &Softmax::axis}, Field{"log", &Softmax::log}}; }
  bool operator==(const Softmax&) const = default;
};
// (dy, y) -> dx
struct SoftmaxGradient {
  std::int64_t axis = -1;
  bool log = false;
  static constexpr auto fields() {
    return std::tuple{Field{"axis", &SoftmaxGradient::axis}, Field{"log", &SoftmaxGradient::log}};
  }
  bool operator==(const SoftmaxGradient&) const = default;
};

// softmax(scale · q kᵀ + mask) v over [*, S, D] operands without storing the scores: running maximum and sum over
// blocks of `block` keys. (q, k, v, [mask]) -> (o, log_sum_exp). mask is added; `causal` hides keys after the query.
struct Attention {
  double scale = 1;
  bool causal = false;
  std::int64_t block = 128;
  static constexpr auto fields() {
    return std::tuple{Field{"scale", &Attention::scale}, Field{"causal", &Attention::causal},
                      Field{"block", &Attention::block}};
  }
  bool operator==(const Attention&) const = default;
};
// (do, q, k, v, o, log_sum_exp, [mask]) -> (dq, dk, dv)
struct AttentionGradient {
  double scale = 1;
  bool causal = false;
  std::int64_t block = 128;
  static constexpr auto fields() {
    return std::tuple{Field{"scale", &AttentionGradient::scale}, Field{"causal", &AttentionGradient::causal},
                      Field{"block", &AttentionGradient::block}};
  }
  bool operator==(const AttentionGradient&) const = default;
};

// ---- Losses ----

// Class axis is 1. (logits, labels) -> (loss, log_prob); labels equal to ignore_index do not count.
struct CrossEntropy {
  bool mean = true;  // else sum
  std::int64_t ignore_index = -100;
  static constexpr auto fields() {
    return std::tuple{Field{"mean", &CrossEntropy::mean}, Field{"ignore_index", &CrossEntropy::ignore_index}};
  }
  bool operator==(const CrossEntropy&) const = default;
};
// (log_prob, labels) -> loss
// `part`, here and in the two gradients: shape of the whole log_prob, and where this one begins in it. The labels are
// those of the whole, since the mean is over all that count.
struct NegativeLogLikelihood {
  bool mean = true;
  std::int64_t ignore_index = -100;
  Part part{};
  static constexpr auto fields() {
    return std::tuple{Field{"mean", &NegativeLogLikelihood::mean},
                      Field{"ignore_index", &NegativeLogLikelihood::ignore_index},
                      Field{"part", &NegativeLogLikelihood::part}};
  }
  bool operator==(const NegativeLogLikelihood&) const = default;
};
// of CrossEntropy: (dloss, log_prob, labels) -> dlogits in format `to`. The class axis is 1 but for imported graphs
// that keep it elsewhere; labels have the shape of log_prob without it.
struct CrossEntropyGradient {
  bool mean = true;
  std::int64_t ignore_index = -100;
  Element to = Element::F32;
  std::int64_t axis = 1;
  Part part{};
  static constexpr auto fields() {
    return std::tuple{Field{"mean", &CrossEntropyGradient::mean},
                      Field{"ignore_index", &CrossEntropyGradient::ignore_index},
                      Field{"to", &CrossEntropyGradient::to}, Field{"axis", &CrossEntropyGradient::axis},
                      Field{"part", &CrossEntropyGradient::part}};
  }
  bool operator==(const CrossEntropyGradient&) const = default;
};
// of NegativeLogLikelihood: (dloss, log_prob, labels) -> dlog_prob; log_prob gives the shape, its values are not read
struct NegativeLogLikelihoodGradient {
  bool mean = true;
  std::int64_t ignore_index = -100;
  Part part{};
  static constexpr auto fields() {
    return std::tuple{Field{"mean", &NegativeLogLikelihoodGradient::mean},
                      Field{"ignore_index", &NegativeLogLikelihoodGradient::ignore_index},
                      Field{"part", &NegativeLogLikelihoodGradient::part}};
  }
  bool operator==(const NegativeLogLikelihoodGradient&) const = default;
};

// ---- Shape and movement ----

// (x) -> y: the same elements under another shape; no data moves
struct View {
  Ints shape;
  static constexpr auto fields() { return std::tuple{Field{"shape", &View::shape}}; }
  bool operator==(const View&) const = default;
};
// (x) -> y with y.shape[i] = x.shape[perm[i]]
struct Transpose {
  Ints perm;
  static constexpr auto fields() { return std::tuple{Field{"perm", &Transpose::perm}}; }
  bool operator==(const Transpose&) const = default;
};
// (x) -> y broadcast to `shape`
struct Expand {
  Ints shape;
  static constexpr auto fields() { return std::tuple{Field{"shape", &Expand::shape}}; }
  bool operator==(const Expand&) const = default;
};
// (a, b, …) -> y
struct Concat {
  std::int64_t axis = 0;
  static constexpr auto fields() { return std::tuple{Field{"axis", &Concat::axis}}; }
  bool operator==(const Concat&) const = default;
};
// (x) -> (y0, y1, …)
struct Split {
  std::int64_t axis = 0;
  Ints sizes;
  static constexpr auto fields() { return std::tuple{Field{"axis", &Split::axis}, Field{"sizes", &Split::sizes}}; }
  bool operator==(const Split&) const = default;
};
// (x) -> y[i…] = x[starts + i·steps …], all ranks given, steps not zero
struct Slice {
  Ints starts, sizes, steps;
  static constexpr auto fields() {
    return std::tuple{Field{"starts", &Slice::starts}, Field{"sizes", &Slice::sizes}, Field{"steps", &Slice::steps}};
  }
  bool operator==(const Slice&) const = default;
};
// (x) -> y of `shape`, zero but y[starts + i·steps …] = x[i…]: the gradient of Slice
struct Place {
  Ints starts, steps, shape;
  static constexpr auto fields() {
    return std::tuple{Field{"starts", &Place::starts}, Field{"steps", &Place::steps}, Field{"shape", &Place::shape}};
  }
  bool operator==(const Place&) const = default;
};
enum class PadMode { Constant, Reflect, Edge };
// (x) -> y; negative pads crop. `part`: shape of the whole x, where x begins in it, the first element made, how many.
struct Pad {
  Ints begin, end;
  PadMode mode = PadMode::Constant;
  double value = 0;
  Part part{};
  static constexpr auto fields() {
    return std::tuple{Field{"begin", &Pad::begin}, Field{"end", &Pad::end}, Field{"mode", &Pad::mode},
                      Field{"value", &Pad::value}, Field{"part", &Pad::part}};
  }
  bool operator==(const Pad&) const = default;
};
// of Pad in modes Reflect and Edge: (dy) -> dx, sums what each element was copied to.
// `part`: shape of the whole dx, where the dx made begins in it, the first element that dy holds, how many are made.
struct PadGradient {
  Ints begin, end;
  PadMode mode = PadMode::Reflect;
  Part part{};
  static constexpr auto fields() {
    return std::tuple{Field{"begin", &PadGradient::begin}, Field{"end", &PadGradient::end},
                      Field{"mode", &PadGradient::mode}, Field{"part", &PadGradient::part}};
  }
  bool operator==(const PadGradient&) const = default;
};
// (data, indices) -> y: axis `axis` of data is replaced by the dimensions of indices (negative indices count from the
// end)
struct Gather {
  std::int64_t axis = 0;
  static constexpr auto fields() { return std::tuple{Field{"axis", &Gather::axis}}; }
  bool operator==(const Gather&) const = default;
};
// (dy, indices) -> ddata with `size` entries along `axis`: the gradient of Gather. `part`: entries of the whole, and
// the first of these; indices of others add nothing.
struct ScatterAdd {
  std::int64_t axis = 0, size = 1;
  Part part{};
  static constexpr auto fields() {
    return std::tuple{Field{"axis", &ScatterAdd::axis}, Field{"size", &ScatterAdd::size},
                      Field{"part", &ScatterAdd::part}};
  }
  bool operator==(const ScatterAdd&) const = default;
};
// (x) -> y: keeps the upper (j >= i+k) or lower (j <= i+k) triangle of the last two dimensions, else zero
struct Trilu {
  bool upper = true;
  std::int64_t k = 0;
  static constexpr auto fields() { return std::tuple{Field{"upper", &Trilu::upper}, Field{"k", &Trilu::k}}; }
  bool operator==(const Trilu&) const = default;
};
// im2col: x [N,C,*] -> [N, C·F, O] with F kernel points and O output points (row-major)
struct Unfold {
  Ints kernel, strides, dilations, pads_begin, pads_end;
  static constexpr auto fields() {
    return std::tuple{Field{"kernel", &Unfold::kernel}, Field{"strides", &Unfold::strides},
                      Field{"dilations", &Unfold::dilations}, Field{"pads_begin", &Unfold::pads_begin},
                      Field{"pads_end", &Unfold::pads_end}};
  }
  bool operator==(const Unfold&) const = default;
};
// () -> y, every element `value`
struct Fill {
  Ints shape;
  double value = 0;
  Element element = Element::F32;
  static constexpr auto fields() {
    return std::tuple{Field{"shape", &Fill::shape}, Field{"value", &Fill::value}, Field{"element", &Fill::element}};
  }
  bool operator==(const Fill&) const = default;
};
// () -> y[i] = start + i·step; `part`: length of the whole, and the i of the first element
struct Iota {
  double start = 0, step = 1;
  std::int64_t count = 0;
  Element element = Element::I64;
  Part part{};
  static constexpr auto fields() {
    return std::tuple{Field{"start", &Iota::start}, Field{"step", &Iota::step}, Field{"count", &Iota::count},
                      Field{"element", &Iota::element}, Field{"part", &Iota::part}};
  }
  bool operator==(const Iota&) const = default;
};

// An operator MONET does not know: a labelled estimate, never a silent zero. Cost classes: Movement moves every operand
// once; Elementwise also applies one function per output element; Reduction one per input element.
enum class CostClass { Movement, Elementwise, Reduction };
struct Fallback {
  std::string type;  // "domain:OpType"
  CostClass cost = CostClass::Elementwise;
  static constexpr auto fields() { return std::tuple{Field{"type", &Fallback::type}, Field{"cost", &Fallback::cost}}; }
  bool operator==(const Fallback&) const = default;
};

using OpKinds =
    std::variant<MatMul, Conv, Unary, UnaryGradient, Binary, Sum, Select, Cast, Dropout, DropoutGradient, Steps, Reduce,
                 Pool, PoolGradient, Norm, NormGradient, NormPart, Lrn, LrnGradient, Softmax, SoftmaxGradient,
                 Attention, AttentionGradient, CrossEntropy, NegativeLogLikelihood, CrossEntropyGradient,
                 NegativeLogLikelihoodGradient, View, Transpose, Expand, Concat, Split, Slice, Place, Pad, PadGradient,
                 Gather, ScatterAdd, Trilu, Unfold, Fill, Iota, Fallback>;

// What one node does. Copying, comparing and destroying are compiled once, in op.cpp: forty alternatives are dear to
// every file that holds a graph by value.
struct Op : OpKinds {
  using OpKinds::OpKinds;
  Op();
  Op(const Op&);
  Op(Op&&) noexcept;
  Op& operator=(const Op&);
  Op& operator=(Op&&) noexcept;
  ~Op();
  bool operator==(const Op&) const;
};

// An operator as a step, if it can be one, and back.
std::optional<StepOp> step_op(const Op& op);
Op whole_op(const StepOp& op);

// "relu", "reduce_sum", "conv_weight_gradient", …
std::string_view operator_name(const Op& op);
// One default-valued operator for each name, in a fixed order.
const std::vector<Op>& operator_prototypes();

// Whether its `part` is set.
bool is_part(const Op& op);

std::string_view name(Source);
std::string_view name(PadMode);
std::string_view name(CostClass);
std::string_view name(NormKind);
std::string_view name(UnaryKind);
std::string_view name(BinaryKind);
template <class Enum>
std::optional<Enum> enum_named(std::string_view text);  // for the first four

}  // namespace monet
