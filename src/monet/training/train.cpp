// Assembles one iteration: per microbatch forward, loss, backward and accumulation, then overflow check, clipping and
// the updates. The order of nodes is the plain one: everything of the backward pass before the first update, so that no
// weight changes before its last reader.
#include "monet/training/train.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "monet/base/diagnostic.h"
#include "monet/graph/storage.h"
#include "monet/training/lora.h"
#include "monet/training/select.h"

namespace monet {
namespace {

constexpr double kFirstLossScale = 65536, kGrowthInterval = 2000;  // as PyTorch's GradScaler
constexpr std::int64_t kSeedStride = std::int64_t{1} << 32;        // every microbatch draws masks of its own
constexpr double kClipEpsilon = 1e-6;                              // as torch.nn.utils.clip_grad_norm_

std::int64_t parse_lora_rank(std::string_view text) {
  std::int64_t rank = 8;
  if (text == "lora") return rank;
  const std::string_view number = text.substr(std::min(text.size(), std::string_view("lora:rank=").size()));
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), rank);
  if (!text.starts_with("lora:rank=") || error != std::errc{} || end != number.data() + number.size() || rank < 1 ||
      rank > 1 << 20)
    throw InputError(
        Diagnostic{.where = "--train", .message = fmt::format("'{}' is not understood", text), .hint = "lora:rank=8"});
  return rank;
}

// Copies the nodes of one microbatch into the whole iteration. `map` says which tensor of the iteration stands for each
// tensor of the microbatch's graph; running statistics move on from one copy to the next.
void append_copy(Builder& b, const Graph& part, std::vector<TensorId>& map, std::int64_t k, const std::string& suffix) {
  for (const Node& node : part.nodes) {
    std::vector<TensorId> inputs, outputs;
    for (const TensorId t : node.inputs) inputs.push_back(t == kNoTensor ? kNoTensor : map[t.index()]);
    for (const TensorId t : node.outputs) {
      if (t == kNoTensor) {
        outputs.push_back(kNoTensor);
        continue;
      }
      const Tensor& type = part[t];
      const TensorId copy = b.source(type.name + suffix, type.shape, type.format, type.category);
      if (type.overwrites != kNoTensor) b[copy].overwrites = map[type.overwrites.index()];
      map[t.index()] = copy;
      outputs.push_back(copy);
    }
    Op op = node.op;
    if (Dropout* dropout = std::get_if<Dropout>(&op)) dropout->seed += k * kSeedStride;
    b.graph().nodes.push_back(Node{.name = b.unique_node(node.name + suffix),
                                   .op = std::move(op),
                                   .inputs = std::move(inputs),
                                   .outputs = std::move(outputs),
                                   .phase = node.phase,
                                   .barrier = node.barrier,
                                   .holds = {}});
  }
  for (std::size_t t = 0; t < part.tensors.size(); ++t)
    if (const TensorId old = part.tensors[t].overwrites; old != kNoTensor) map[old.index()] = map[t];
}

bool is_batched(const Tensor& t) {
  return (t.category == Category::Input || t.category == Category::Index) && !t.shape.empty();
}

class Assembly {
 public:
  Assembly(const Graph& part, TensorId loss, const TrainingOptions& options, std::vector<std::string> notes)
      : part_(part), loss_(loss), o_(options), b_(part.name) {
    result_.notes = std::move(notes);
  }

  TrainingGraph run(const std::vector<TensorId>& trained) {
    add_sources();
    for (const TensorId t : trained) result_.weights.push_back(map_[t.index()]);
    add_seed();
    for (std::int64_t k = 0; k < o_.microbatches; ++k) add_microbatch(k);
    finish_loss();
    for (std::size_t t = 0; t < part_.tensors.size(); ++t)
      if (is_state_source(part_.tensors[t]) && map_[t] != first_map_[t]) b_.graph().outputs.push_back(map_[t]);
    add_updates();
    result_.graph = std::move(b_).finish();
    return std::move(result_);
  }

 private:
  static bool is_state_source(const Tensor& t) {
    return t.category == Category::ModelState && t.overwrites == kNoTensor;
  }

  void add_sources() {
    const Uses u = uses(part_);
    map_.assign(part_.tensors.size(), kNoTensor);
    std::optional<std::int64_t> batch;
    for (std::size_t t = 0; t < part_.tensors.size(); ++t)
      if (u.producer[t] == kNoNode && is_batched(part_.tensors[t]) && !batch) batch = part_.tensors[t].shape[0];
    for (std::size_t t = 0; t < part_.tensors.size(); ++t) {
      if (u.producer[t] != kNoNode) continue;
      Tensor type = part_.tensors[t];
      // Labels of a flattened batch have a multiple of its size.
      const bool split = o_.microbatches > 1 && is_batched(type) && type.shape[0] % *batch == 0;
      if (split) type.shape[0] *= o_.microbatches;
      map_[t] = b_.source(type.name, type.shape, type.format, type.category, type.initial);
      if (split) batched_.push_back(t);
    }
    first_map_ = map_;
  }

  // The gradient the backward pass starts from: 1/microbatches, times the loss scale if there is one.
  void add_seed() {
    const double share = 1.0 / static_cast<double>(o_.microbatches);
    seed_ = b_.source("loss.seed", {}, part_[loss_].format, Category::Constant, Splat{share});
    if (!o_.loss_scaling) return;
    scale_ = b_.source("loss_scale", {}, Format{Element::F32}, Category::OptimizerState, Splat{kFirstLossScale});
    b_.phase = Phase::Loss;
    seed_ = b_.binary(BinaryKind::Mul, seed_, scale_, "loss.scaled_seed");
    b_[seed_].category = Category::Gradient;
  }

  void add_microbatch(std::int64_t k) {
    const std::string suffix = o_.microbatches == 1 ? "" : fmt::format("@{}", k + 1);
    const std::size_t begin = b_.graph().nodes.size();
    b_.phase = Phase::Forward;
    for (const std::size_t t : batched_) {
      const Shape& shape = part_.tensors[t].shape;
      Ints starts(shape.size(), 0), steps(shape.size(), 1);
      starts[0] = k * shape[0];
      map_[t] = b_.one(Slice{starts, shape, steps}, {first_map_[t]}, part_.tensors[t].name + suffix);
      b_[map_[t]].category = part_.tensors[t].category;
    }
    append_copy(b_, part_, map_, k, suffix);
    losses_.push_back(map_[loss_.index()]);
    const std::vector<TensorId> fresh = differentiate(b_, begin, b_.graph().nodes.size(), losses_.back(), seed_,
                                                      result_.weights, {.policy = o_.policy});
    accumulate(fresh, suffix);
  }

  // Gradients of several microbatches are summed in f32, in place.
  void accumulate(const std::vector<TensorId>& fresh, const std::string& suffix) {
    const bool several = o_.microbatches > 1;
    const bool is_first = result_.gradients.empty();
    if (is_first) result_.gradients.assign(fresh.size(), kNoTensor);
    for (std::size_t i = 0; i < fresh.size(); ++i) {
      TensorId g = fresh[i];
      if (g == kNoTensor) continue;
      const std::string name = b_[result_.weights[i]].name + ".accumulated" + suffix;
      if (several && bits(b_[g].format.element) < 32) g = b_.one(Cast{Element::F32}, {g}, name + ".wide");
      TensorId& sum = result_.gradients[i];
      if (sum == kNoTensor) {
        sum = g;
        continue;
      }
      const TensorId old = sum;
      sum = b_.binary(BinaryKind::Add, old, g, name);
      if (may_take_over_[i]) b_[sum].overwrites = old;
      may_take_over_[i] = true;
    }
    if (is_first && several) find_own_storage();
  }

  // A gradient that is a part of another, as the backward pass of a broadcast or a join gives it, has no storage of its
  // own that a sum could take over.
  void find_own_storage() {
    const Storage storage(b_.graph());
    const Uses u = uses(b_.graph());
    std::vector<std::size_t> sharing(b_.graph().tensors.size(), 0);
    for (const TensorId g : result_.gradients)
      if (g != kNoTensor) ++sharing[storage.root(g).index()];
    for (const TensorId g : result_.gradients) {
      const TensorId root = g == kNoTensor ? kNoTensor : storage.root(g);
      may_take_over_.push_back(root != kNoTensor && sharing[root.index()] == 1 && u.producer[root.index()] != kNoNode &&
                               elements(b_[root].shape) == elements(b_[g].shape));
    }
  }

  void finish_loss() {
    b_.phase = Phase::Loss;
    result_.loss = losses_[0];
    if (losses_.size() > 1) {
      const TensorId sum = b_.one(Sum{}, losses_, "loss.sum");
      result_.loss = b_.binary(BinaryKind::Mul, sum, b_.scalar(1.0 / static_cast<double>(losses_.size())), "loss.mean");
    }
    b_.graph().outputs.push_back(result_.loss);
  }

  void add_updates() {
    b_.phase = Phase::Update;
    drop_unreached();
    std::vector<TensorId> gradients;
    for (std::size_t i = 0; i < result_.weights.size(); ++i) {
      TensorId g = result_.gradients[i];
      const std::string name = b_[result_.weights[i]].name;
      if (bits(b_[g].format.element) < 32) g = b_.one(Cast{Element::F32}, {g}, name + ".update.gradient");
      gradients.push_back(g);
    }
    const TensorId proceed = o_.loss_scaling ? add_overflow_check(gradients) : kNoTensor;
    if (o_.loss_scaling) unscale(gradients);
    if (o_.clip_norm) clip(gradients);
    const OptimizerScalars scalars = add_optimizer_scalars(b_, o_.optimizer);
    for (std::size_t i = 0; i < result_.weights.size(); ++i) {
      result_.new_weights.push_back(add_update(b_, o_.optimizer, scalars, result_.weights[i], gradients[i], proceed));
      b_.graph().outputs.push_back(result_.new_weights.back());
    }
    add_state_outputs();
  }

  // A weight the loss does not depend on keeps its value.
  void drop_unreached() {
    std::vector<TensorId> weights, gradients;
    for (std::size_t i = 0; i < result_.weights.size(); ++i) {
      if (result_.gradients[i] == kNoTensor) {
        result_.notes.push_back(
            fmt::format("the loss does not depend on '{}': it is not trained", b_[result_.weights[i]].name));
        continue;
      }
      weights.push_back(result_.weights[i]);
      gradients.push_back(result_.gradients[i]);
    }
    result_.weights = std::move(weights);
    result_.gradients = std::move(gradients);
  }

  static Ints all_axes(const Shape& shape) {
    Ints axes(shape.size());
    for (std::size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<std::int64_t>(i);
    return axes;
  }

  // True if every gradient is finite: a barrier before every update. The scale halves on overflow and doubles after
  // kGrowthInterval good steps.
  TensorId add_overflow_check(const std::vector<TensorId>& gradients) {
    std::vector<TensorId> flags;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      const std::string name = b_[result_.weights[i]].name;
      const TensorId finite = b_.unary(UnaryKind::IsFinite, gradients[i], name + ".finite");
      const TensorId every =
          b_.one(Reduce{ReduceKind::Min, all_axes(b_[finite].shape), false}, {finite}, name + ".all_finite");
      flags.push_back(b_.view(every, {1}, name + ".finite_flag"));
    }
    const TensorId joined = b_.one(Concat{0}, flags, "overflow.flags");
    const TensorId proceed = b_.one(Reduce{ReduceKind::Min, {0}, false}, {joined}, "overflow.check");
    b_.graph().nodes.back().barrier = true;

    const TensorId good =
        b_.source("loss_scale.good_steps", {}, Format{Element::F32}, Category::OptimizerState, Splat{0});
    const TensorId zero = b_.scalar(0);
    const TensorId counted = b_.binary(BinaryKind::Add, good, b_.scalar(1), "loss_scale.counted");
    const TensorId streak = b_.one(Select{}, {proceed, counted, zero}, "loss_scale.streak");
    const TensorId grow = b_.binary(BinaryKind::GreaterEqual, streak, b_.scalar(kGrowthInterval), "loss_scale.grow");
    const TensorId doubled = b_.binary(BinaryKind::Mul, scale_, b_.scalar(2), "loss_scale.doubled");
    const TensorId halved = b_.binary(BinaryKind::Mul, scale_, b_.scalar(0.5), "loss_scale.halved");
    const TensorId kept = b_.one(Select{}, {grow, doubled, scale_}, "loss_scale.kept");
    inverse_scale_ = b_.unary(UnaryKind::Reciprocal, scale_, "loss_scale.inverse");
    const TensorId next = b_.one(Select{}, {proceed, kept, halved}, "loss_scale.next");
    const TensorId steps = b_.one(Select{}, {grow, zero, streak}, "loss_scale.next_good_steps");
    for (const auto& [value, old] : {std::pair{next, scale_}, std::pair{steps, good}}) {
      b_[value].category = Category::OptimizerState;
      b_[value].overwrites = old;
    }
    return proceed;
  }

  void unscale(std::vector<TensorId>& gradients) {
    for (std::size_t i = 0; i < gradients.size(); ++i)
      gradients[i] =
          b_.binary(BinaryKind::Mul, gradients[i], inverse_scale_, b_[result_.weights[i]].name + ".unscaled");
    result_.gradients = gradients;
  }

  // g · min(1, limit / (‖all g‖ + ε)): the norm is a barrier before every update.
  void clip(std::vector<TensorId>& gradients) {
    std::vector<TensorId> squares;
    for (std::size_t i = 0; i < gradients.size(); ++i)
      squares.push_back(b_.one(Reduce{ReduceKind::SumSquare, all_axes(b_[gradients[i]].shape), false}, {gradients[i]},
                               b_[result_.weights[i]].name + ".square_sum"));
    const TensorId total = b_.one(Sum{}, squares, "clip.square_sum");
    b_.graph().nodes.back().barrier = true;
    const TensorId norm = b_.unary(UnaryKind::Sqrt, total, "clip.norm");
    const TensorId safe = b_.binary(BinaryKind::Add, norm, b_.scalar(kClipEpsilon), "clip.safe_norm");
    const TensorId ratio = b_.binary(BinaryKind::Div, b_.scalar(*o_.clip_norm), safe, "clip.ratio");
    const TensorId factor = b_.binary(BinaryKind::Min, ratio, b_.scalar(1), "clip.factor");
    for (std::size_t i = 0; i < gradients.size(); ++i)
      gradients[i] = b_.binary(BinaryKind::Mul, gradients[i], factor, b_[result_.weights[i]].name + ".clipped");
  }

  // Every new value of a state tensor is an output: the next iteration starts from it.
  void add_state_outputs() {
    Graph& g = b_.graph();
    std::vector<bool> listed(g.tensors.size(), false), superseded(g.tensors.size(), false);
    for (const TensorId t : g.outputs) listed[t.index()] = true;
    for (const Tensor& t : g.tensors)
      if (t.overwrites != kNoTensor) superseded[t.overwrites.index()] = true;
    for (std::uint32_t t = 0; t < g.tensors.size(); ++t)
      if (g.tensors[t].category == Category::OptimizerState && g.tensors[t].overwrites != kNoTensor && !listed[t] &&
          !superseded[t])
        g.outputs.push_back(TensorId{t});
  }

  const Graph& part_;
  TensorId loss_;
  const TrainingOptions& o_;
  Builder b_;
  TrainingGraph result_;
  std::vector<TensorId> map_, first_map_;
  std::vector<std::size_t> batched_;
  std::vector<bool> may_take_over_;  // by weight: the sum of gradients so far has storage of its own
  std::vector<TensorId> losses_;
  TensorId seed_ = kNoTensor, scale_ = kNoTensor, inverse_scale_ = kNoTensor;
};

}  // namespace

TrainingGraph make_training(Graph forward, const TrainingOptions& options) {
  if (options.microbatches < 1 || options.microbatches > 1 << 16)
    throw InputError(Diagnostic{.where = "--microbatches", .message = "must be between 1 and 65536"});
  std::string train = options.train;
  if (train.starts_with("lora")) {
    forward = add_lora(forward, parse_lora_rank(train));
    train = "\\.lora_[ab]$";
  }
  const std::vector<TensorId> trained = select_weights(forward, train);
  std::vector<std::string> notes;
  Builder builder(std::move(forward));
  const TensorId loss = attach_loss(builder, options.loss, notes);
  const Graph part = std::move(builder).finish();
  if (options.microbatches > 1)
    for (const Node& node : part.nodes)
      if (const Norm* norm = std::get_if<Norm>(&node.op); norm && norm->kind == NormKind::Batch) {
        notes.push_back(
            "batch-norm statistics are taken per microbatch: numbers differ from one large batch, and running "
            "statistics move once per microbatch");
        break;
      }
  return Assembly(part, loss, options, std::move(notes)).run(trained);
}

}  // namespace monet
