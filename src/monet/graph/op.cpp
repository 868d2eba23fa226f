#include "monet/graph/op.h"

#include <algorithm>
#include <array>
#include <span>

#include "monet/base/overloaded.h"

namespace monet {
namespace {

constexpr std::array<std::string_view, 28> kUnary{
    "relu", "leaky_relu", "gelu", "gelu_tanh", "silu",  "sigmoid",    "tanh", "hard_swish", "hard_sigmoid", "clip",
    "erf",  "exp",        "log",  "sqrt",      "rsqrt", "reciprocal", "neg",  "abs",        "square",       "sin",
    "cos",  "softplus",   "sign", "floor",     "ceil",  "round",      "not",  "is_finite"};
static_assert(kUnary.size() == static_cast<std::size_t>(UnaryKind::IsFinite) + 1);

constexpr std::array<std::string_view, 28> kUnaryGradient{
    "relu_gradient",       "leaky_relu_gradient", "gelu_gradient",       "gelu_tanh_gradient",    "silu_gradient",
    "sigmoid_gradient",    "tanh_gradient",       "hard_swish_gradient", "hard_sigmoid_gradient", "clip_gradient",
    "erf_gradient",        "exp_gradient",        "log_gradient",        "sqrt_gradient",         "rsqrt_gradient",
    "reciprocal_gradient", "neg_gradient",        "abs_gradient",        "square_gradient",       "sin_gradient",
    "cos_gradient",        "softplus_gradient",   "sign_gradient",       "floor_gradient",        "ceil_gradient",
    "round_gradient",      "not_gradient",        "is_finite_gradient"};
static_assert(kUnaryGradient.size() == kUnary.size());

constexpr std::array<std::string_view, 17> kBinary{
    "add",   "sub",  "mul",        "div",     "pow",           "max", "min", "mod", "exp_difference",
    "equal", "less", "less_equal", "greater", "greater_equal", "and", "or",  "xor"};
static_assert(kBinary.size() == static_cast<std::size_t>(BinaryKind::Xor) + 1);

constexpr std::array<std::string_view, 3> kConv{"conv", "conv_data_gradient", "conv_weight_gradient"};
constexpr std::array<std::string_view, 5> kReduce{"reduce_sum", "reduce_mean", "reduce_max", "reduce_min",
                                                  "reduce_sum_square"};
constexpr std::array<std::string_view, 2> kPool{"max_pool", "average_pool"};
constexpr std::array<std::string_view, 2> kPoolGradient{"max_pool_gradient", "average_pool_gradient"};
constexpr std::array<std::string_view, 5> kNorm{"batch_norm", "frozen_batch_norm", "layer_norm", "group_norm",
                                                "rms_norm"};
constexpr std::array<std::string_view, 5> kNormGradient{"batch_norm_gradient", "frozen_batch_norm_gradient",
                                                        "layer_norm_gradient", "group_norm_gradient",
                                                        "rms_norm_gradient"};
constexpr std::array<std::string_view, 6> kNormPass{"norm_statistics", "norm_running_update",
                                                    "norm_apply",      "norm_parameter_sums",
                                                    "norm_group_sums", "norm_input_gradient"};

constexpr std::array<std::string_view, 3> kSource{"input", "output", "mask"};
constexpr std::array<std::string_view, 3> kPadMode{"constant", "reflect", "edge"};
constexpr std::array<std::string_view, 3> kCostClass{"movement", "elementwise", "reduction"};
constexpr std::array<std::string_view, 5> kNormKind{"batch", "frozen_batch", "layer", "group", "rms"};

template <std::size_t N, class Enum>
std::string_view at(const std::array<std::string_view, N>& names, Enum value) {
  return names[static_cast<std::size_t>(value)];
}

template <class Enum, std::size_t N>
std::optional<Enum> find(const std::array<std::string_view, N>& names, std::string_view text) {
  const auto it = std::find(names.begin(), names.end(), text);
  if (it == names.end()) return std::nullopt;
  return static_cast<Enum>(it - names.begin());
}

std::vector<Op> make_prototypes() {
  std::vector<Op> all;
  const auto kinds = [&]<class Family, class Kind>(Family, Kind Family::*kind, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      Family family;
      family.*kind = static_cast<Kind>(i);
      all.emplace_back(family);
    }
  };
  all.emplace_back(MatMul{});
  kinds(Conv{}, &Conv::kind, kConv.size());
  kinds(Unary{}, &Unary::kind, kUnary.size());
  kinds(UnaryGradient{}, &UnaryGradient::kind, kUnaryGradient.size());
  kinds(Binary{}, &Binary::kind, kBinary.size());
  kinds(Reduce{}, &Reduce::kind, kReduce.size());
  kinds(Pool{}, &Pool::kind, kPool.size());
  kinds(PoolGradient{}, &PoolGradient::kind, kPoolGradient.size());
  kinds(Norm{}, &Norm::kind, kNorm.size());
  kinds(NormGradient{}, &NormGradient::kind, kNormGradient.size());
  kinds(NormPart{}, &NormPart::pass, kNormPass.size());
  for (Op op : {Op{Sum{}},
                Op{Select{}},
                Op{Cast{}},
                Op{Dropout{}},
                Op{DropoutGradient{}},
                Op{Steps{}},
                Op{Lrn{}},
                Op{LrnGradient{}},
                Op{Softmax{}},
                Op{SoftmaxGradient{}},
                Op{Attention{}},
                Op{AttentionGradient{}},
                Op{CrossEntropy{}},
                Op{NegativeLogLikelihood{}},
                Op{CrossEntropyGradient{}},
                Op{NegativeLogLikelihoodGradient{}},
                Op{View{}},
                Op{Transpose{}},
                Op{Expand{}},
                Op{Concat{}},
                Op{Split{}},
                Op{Slice{}},
                Op{Place{}},
                Op{Pad{}},
                Op{PadGradient{}},
                Op{Gather{}},
                Op{ScatterAdd{}},
                Op{Trilu{}},
                Op{Unfold{}},
                Op{Fill{}},
                Op{Iota{}},
                Op{Fallback{}}})
    all.push_back(std::move(op));
  return all;
}

}  // namespace

Op::Op() = default;
Op::Op(const Op&) = default;
Op::Op(Op&&) noexcept = default;
Op& Op::operator=(const Op&) = default;
Op& Op::operator=(Op&&) noexcept = default;
Op::~Op() = default;
bool Op::operator==(const Op& other) const {
  return static_cast<const OpKinds&>(*this) == static_cast<const OpKinds&>(other);
}

std::optional<StepOp> step_op(const Op& op) {
  return std::visit(
      []<class Family>(const Family& family) -> std::optional<StepOp> {
        if constexpr (std::is_constructible_v<StepOp, const Family&>)
          return family;
        else
          return std::nullopt;
      },
      op);
}

Op whole_op(const StepOp& op) {
  return std::visit([](const auto& family) { return Op{family}; }, op);
}

std::string_view operator_name(const Op& op) {
  using R = std::string_view;
  return std::visit(overloaded{
                        [](const MatMul&) -> R { return "matmul"; },
                        [](const Conv& o) -> R { return at(kConv, o.kind); },
                        [](const Unary& o) -> R { return at(kUnary, o.kind); },
                        [](const UnaryGradient& o) -> R { return at(kUnaryGradient, o.kind); },
                        [](const Binary& o) -> R { return at(kBinary, o.kind); },
                        [](const Sum&) -> R { return "sum"; },
                        [](const Select&) -> R { return "select"; },
                        [](const Cast&) -> R { return "cast"; },
                        [](const Dropout&) -> R { return "dropout"; },
                        [](const DropoutGradient&) -> R { return "dropout_gradient"; },
                        [](const Steps&) -> R { return "steps"; },
                        [](const Reduce& o) -> R { return at(kReduce, o.kind); },
                        [](const Pool& o) -> R { return at(kPool, o.kind); },
                        [](const PoolGradient& o) -> R { return at(kPoolGradient, o.kind); },
                        [](const Norm& o) -> R { return at(kNorm, o.kind); },
                        [](const NormGradient& o) -> R { return at(kNormGradient, o.kind); },
                        [](const NormPart& o) -> R { return at(kNormPass, o.pass); },
                        [](const Lrn&) -> R { return "lrn"; },
                        [](const LrnGradient&) -> R { return "lrn_gradient"; },
                        [](const Softmax&) -> R { return "softmax"; },
                        [](const SoftmaxGradient&) -> R { return "softmax_gradient"; },
                        [](const Attention&) -> R { return "attention"; },
                        [](const AttentionGradient&) -> R { return "attention_gradient"; },
                        [](const CrossEntropy&) -> R { return "cross_entropy"; },
                        [](const NegativeLogLikelihood&) -> R { return "negative_log_likelihood"; },
                        [](const CrossEntropyGradient&) -> R { return "cross_entropy_gradient"; },
                        [](const NegativeLogLikelihoodGradient&) -> R { return "negative_log_likelihood_gradient"; },
                        [](const View&) -> R { return "view"; },
                        [](const Transpose&) -> R { return "transpose"; },
                        [](const Expand&) -> R { return "expand"; },
                        [](const Concat&) -> R { return "concat"; },
                        [](const Split&) -> R { return "split"; },
                        [](const Slice&) -> R { return "slice"; },
                        [](const Place&) -> R { return "place"; },
                        [](const Pad&) -> R { return "pad"; },
                        [](const PadGradient&) -> R { return "pad_gradient"; },
                        [](const Gather&) -> R { return "gather"; },
                        [](const ScatterAdd&) -> R { return "scatter_add"; },
                        [](const Trilu&) -> R { return "trilu"; },
                        [](const Unfold&) -> R { return "unfold"; },
                        [](const Fill&) -> R { return "fill"; },
                        [](const Iota&) -> R { return "iota"; },
                        [](const Fallback&) -> R { return "fallback"; },
                    },
                    op);
}

const std::vector<Op>& operator_prototypes() {
  static const std::vector<Op> kPrototypes = make_prototypes();
  return kPrototypes;
}

bool is_part(const Op& op) {
  return std::visit(
      []<class Family>(const Family& family) {
        if constexpr (requires { family.part; })
          return family.part != Part{};
        else
          return false;
      },
      op);
}

std::string_view name(Source v) { return at(kSource, v); }
std::string_view name(PadMode v) { return at(kPadMode, v); }
std::string_view name(CostClass v) { return at(kCostClass, v); }
std::string_view name(NormKind v) { return at(kNormKind, v); }
std::string_view name(UnaryKind v) { return at(kUnary, v); }
std::string_view name(BinaryKind v) { return at(kBinary, v); }

template <>
std::optional<Source> enum_named<Source>(std::string_view t) {
  return find<Source>(kSource, t);
}
template <>
std::optional<PadMode> enum_named<PadMode>(std::string_view t) {
  return find<PadMode>(kPadMode, t);
}
template <>
std::optional<CostClass> enum_named<CostClass>(std::string_view t) {
  return find<CostClass>(kCostClass, t);
}
template <>
std::optional<NormKind> enum_named<NormKind>(std::string_view t) {
  return find<NormKind>(kNormKind, t);
}

}  // namespace monet
