#include "monet/search/checkpoint.h"

#include "monet/base/assert.h"
#include "monet/base/parallel.h"
#include "monet/graph/saved.h"
#include "monet/rewrite/recompute.h"

namespace monet::search {

Checkpointing::Checkpointing(Graph training, const Setting& setting, const CheckpointOptions& options)
    : training_(std::move(training)), setting_(setting), options_(options) {
  setting_.costs.threads = 1;
  setting_.costs.priced = &priced_;
  const Uses u = uses(training_);
  const std::vector<TensorId> saved = saved_activations(training_);
  for (const TensorId t : saved) saved_bytes_ += static_cast<double>(bytes(training_[t]));
  // What nobody makes (inputs, labels) cannot be rebuilt.
  for (const TensorId t : saved)
    if (const auto size = static_cast<double>(bytes(training_[t]));
        u.producer[t.index()] != kNoNode && size >= options.least_share * saved_bytes_)
      activations_.push_back({t, training_[t].name, size});
}

Graph Checkpointing::rewritten(const solve::Choices& decision) const {
  MONET_ASSERT(decision.size() == activations_.size(), "a decision for every activation");
  std::vector<TensorId> dropped;
  for (std::size_t i = 0; i < decision.size(); ++i)
    if (decision[i] == static_cast<std::uint16_t>(Saving::Recompute)) dropped.push_back(activations_[i].tensor);
  return decompose(dropped.empty() ? training_ : recompute(training_, dropped), options_.decompose);
}

Figures Checkpointing::figures(const solve::Choices& decision) const {
  const Subject subject(rewritten(decision));
  const Evaluated e = evaluate(setting_, subject, {});
  return figures_of(setting_.chip, e.decided, e.outcome);
}

std::vector<Figures> Checkpointing::figures(std::span<const solve::Choices> decisions) const {
  std::vector<Figures> out(decisions.size());
  parallel_for(decisions.size(), options_.threads, [&](std::size_t i) { out[i] = figures(decisions[i]); });
  return out;
}

solve::Score score_of(const Figures& f) {
  return f.is_possible ? solve::Score{{f.latency_cycles, f.energy_pj, f.peak_total_bytes}} : solve::Score{{}, 1};
}

}  // namespace monet::search
