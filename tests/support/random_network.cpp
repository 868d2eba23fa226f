#include <fmt/format.h>

#include <algorithm>

#include "monet/graph/saved.h"
#include "monet/models/catalogue.h"
#include "monet/models/layers.h"
#include "monet/rewrite/decompose.h"
#include "monet/rewrite/online_softmax.h"
#include "monet/rewrite/precision.h"
#include "monet/rewrite/recompute.h"
#include "monet/training/train.h"
#include "support/every_operator.h"
#include "support/random_case.h"

namespace monet::test {
namespace {

const char* const kNetworks[] = {
    "mlp:in=12,hidden=10,layers=3,classes=5",
    "resnet18:image=16,classes=4,width=4,stem=cifar",
    "resnet18:image=32,classes=4,width=4",
    "mobilenet_v2:image=32,classes=3",
    "gpt2:layers=1,width=8,heads=2,vocab=11,seq=6,dropout=0.2",
    "gpt2-mini:seq=6,width=8,heads=2,ff=10,vocab=12",
    "bert-base:layers=1,width=8,heads=2,vocab=13,seq=5,head=classify,dropout=0.1",
    "llama2-7b:layers=1,width=8,heads=4,kv_heads=2,ff=12,vocab=14,seq=5",
    "vit_b_16:image=32,classes=3,layers=1,width=8,heads=2,mlp=10",
};

// Images through convolutions, normalisations, poolings, sums and joins, to a few classes.
class ImageNetwork {
 public:
  ImageNetwork(std::int64_t batch, Draw& draw) : b_("images"), draw_(draw) {
    const std::int64_t side = draw.between(5, 12);
    x_ = b_.source("x", {batch, draw.between(1, 4), side, side + draw.below(3)}, Format{}, Category::Input);
  }

  Graph build() {
    for (std::int64_t i = draw_.between(1, 4); i > 0; --i) add_block();
    const TensorId mean = models::spatial_mean(b_, x_, "mean");
    b_.graph().outputs.insert(b_.graph().outputs.begin(), models::linear(b_, "classes", mean, 3));
    return std::move(b_).finish();
  }

 private:
  std::string name(const char* word) { return fmt::format("{}{}", word, at_++); }
  std::int64_t channels() const { return b_[x_].shape[1]; }
  std::int64_t least_side() const { return std::min(b_[x_].shape[2], b_[x_].shape[3]); }

  TensorId convolution(TensorId x, std::int64_t to, std::int64_t stride) {
    const std::int64_t from = b_[x].shape[1];
    const std::int64_t groups = from == to && draw_.coin() ? from : 1;
    models::ConvUnit unit{
        name("conv"), name("norm"), {}, draw_.coin() ? models::Activation::Relu : models::Activation::HardSwish};
    unit.conv = {.channels = to, .kernel = draw_.coin() ? 3 : 1, .stride = stride, .groups = groups};
    constexpr models::ConvNorm kNorms[] = {models::ConvNorm::Batch, models::ConvNorm::Batch, models::ConvNorm::Frozen,
                                           models::ConvNorm::Group};
    const models::ConvNormOptions norm{.kind = kNorms[draw_.below(4)], .groups = to % 2 == 0 ? 2 : 1};
    return models::conv_norm_act(b_, x, unit, norm);
  }

  void pool() {
    Pool pool{.kind = draw_.coin() ? PoolKind::Max : PoolKind::Average,
              .kernel = {2, 3},
              .strides = {2, draw_.between(1, 2)},
              .dilations = {1, 1},
              .pads_begin = {0, 1},
              .pads_end = {0, 1}};
    pool.ceil = draw_.coin();
    x_ = b_.one(pool, {x_}, name("pool"));
  }

  void add_block() {
    switch (draw_.below(5)) {
      case 0: {  // a residual block
        const TensorId y = convolution(x_, channels(), 1);
        x_ = models::add(b_, convolution(y, channels(), 1), x_, name("sum"));
        break;
      }
      case 1: {  // branches that are joined
        const TensorId a = convolution(x_, draw_.between(1, 4), 1), c = convolution(x_, draw_.between(1, 4), 1);
        x_ = b_.one(Concat{1}, {a, c}, name("join"));
        break;
      }
      case 2:  // channels that are split and multiplied, a gate
        if (channels() % 2 == 0) {
          const auto halves = b_.add(Split{1, {channels() / 2, channels() / 2}}, {x_}, name("split"), 2);
          const TensorId gate = b_.unary(UnaryKind::Sigmoid, halves[0], name("gate"));
          x_ = b_.binary(BinaryKind::Mul, gate, halves[1], name("gated"));
          break;
        }
        [[fallthrough]];
      case 3:
        if (least_side() >= 4) {
          pool();
          break;
        }
        [[fallthrough]];
      default: x_ = convolution(x_, draw_.between(1, 6), least_side() > 3 ? draw_.between(1, 2) : 1);
    }
  }

  Builder b_;
  Draw& draw_;
  TensorId x_ = kNoTensor;
  int at_ = 0;
};

Graph random_forward(std::int64_t batch, std::string& words, Draw& draw) {
  if (draw.below(3) == 0) {
    words = "images";
    return ImageNetwork(batch, draw).build();
  }
  words = kNetworks[draw.below(std::ssize(kNetworks))];
  Graph forward = build_model(words, batch);
  const bool has_attention = words.starts_with("gpt2") || words.starts_with("vit") || words.starts_with("llama");
  if (has_attention && draw.below(3) == 0) {
    words += " online";
    forward = use_online_softmax(std::move(forward), {.block = draw.between(1, 4)});
  }
  return forward;
}

void drop_some(Graph& graph, Network& network, Draw& draw) {
  const bool narrows = draw.below(4) == 0;
  std::vector<Dropped> dropped;
  for (const TensorId t : saved_activations(graph)) {
    if (draw.coin()) continue;
    dropped.push_back({.tensor = t, .per_consumer = draw.coin()});
    const Element own = graph[t].format.element;
    if (narrows && draw.coin() && is_float(own) && bits(own) > 8) dropped.back().narrow = Element::F8E5M2;
  }
  if (dropped.empty()) return;
  graph = recompute(graph, dropped);
  network.recomputes = true;
  network.words += " recomputed";
}

Network finished(TrainingGraph training, Network network) {
  for (std::size_t i = 0; i < training.gradients.size(); ++i)
    network.gradients.push_back(training.graph[training.gradients[i]].name);
  network.graph = std::move(training.graph);
  return network;
}

}  // namespace

Network random_network(Draw& draw) {
  Network network;
  if (draw.below(20) == 0) {
    network.words = "every operator";
    network.graph = decompose(every_operator(false));
    return network;
  }
  const std::int64_t batch = draw.between(1, 3);
  Graph forward = random_forward(batch, network.words, draw);
  constexpr const char* kFormats[] = {"fp32", "fp16", "bf16"};
  const char* format = kFormats[draw.below(3)];
  forward = set_precision(std::move(forward), parse_precision(format));
  if (draw.below(8) == 0) {
    network.words += " inference";
    network.graph = decompose(std::move(forward));
    return network;
  }
  constexpr const char* kOptimizers[] = {"sgd", "momentum", "nesterov", "adam", "adamw:wd=0.01"};
  TrainingOptions options;
  const char* optimizer = kOptimizers[draw.below(5)];
  options.optimizer = parse_optimizer(optimizer);
  options.policy = draw.coin() ? SavePolicy::Torch : SavePolicy::Lean;
  options.microbatches = draw.below(3) == 0 ? draw.between(2, 3) : 1;
  if (draw.below(5) == 0) options.clip_norm = 1;
  options.loss_scaling = draw.below(8) == 0;
  network.has_microbatches = options.microbatches > 1;
  network.words += fmt::format(" batch {} x {} {} {}", options.microbatches, batch, format, optimizer);
  network = finished(make_training(std::move(forward), options), std::move(network));
  if (draw.below(3) == 0) drop_some(network.graph, network, draw);
  network.fuses_updates = draw.below(3) == 0;
  if (network.fuses_updates) network.words += " updates fused";
  network.graph = decompose(std::move(network.graph), {.fused_updates = network.fuses_updates});
  // Gradients that an update makes of others for itself alone are no tensors.
  if (network.fuses_updates)
    std::erase_if(network.gradients,
                  [&](const std::string& name) { return tensor_named(network.graph, name) == kNoTensor; });
  return network;
}

Network trained_model(const std::string& model, std::int64_t batch, bool fuses_updates) {
  TrainingOptions options;
  options.optimizer = parse_optimizer("adamw");
  Graph forward = set_precision(build_model(model, batch), parse_precision("fp16"));
  Network network{.words = model, .fuses_updates = fuses_updates};
  network = finished(make_training(std::move(forward), options), std::move(network));
  network.graph = decompose(std::move(network.graph), {.fused_updates = fuses_updates});
  return network;
}

}  // namespace monet::test
