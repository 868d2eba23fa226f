#include "monet/search/linear_problem.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "monet/base/assert.h"
#include "monet/graph/saved.h"

namespace monet::search {
namespace {

bool is_forward(const Node& node) { return node.phase == Phase::Forward || node.phase == Phase::Loss; }
bool is_backward(const Node& node) { return node.phase == Phase::Backward || node.phase == Phase::Recompute; }
bool is_view(const Node& node) {
  return std::holds_alternative<View>(node.op) || std::holds_alternative<Expand>(node.op);
}

// Why a tensor has a step, in the order in which those of one node are made.
enum class Role { None, Shared, Decided, Fixed };

// A part is what is merged into one step. It is called by the node that ends it; the loss's by one behind the last.
using Part = std::size_t;
constexpr Part kNoPart = std::numeric_limits<Part>::max();

class Extraction {
 public:
  Extraction(const Graph& g, std::span<const TensorId> activations, const NodeCosts& costs)
      : g_(g),
        costs_(costs),
        root_(view_roots(g)),
        producer_(uses(g).producer),
        readers_(g.tensors.size()),
        role_(g.tensors.size(), Role::None),
        is_saved_(g.tensors.size(), false),
        part_(g.nodes.size(), kNoPart),
        step_(g.tensors.size(), LinearStep::kNone),
        activations_(activations.begin(), activations.end()) {
    MONET_ASSERT(costs.cycles.size() == g.nodes.size() && costs.energy_pj.size() == g.nodes.size(), "costs by node");
    for (TensorId& t : activations_) role_[(t = root_[t.index()]).index()] = Role::Decided;
    for (std::size_t n = 0; n < g.nodes.size(); ++n)
      if (is_forward(g.nodes[n]) && !is_view(g.nodes[n]))
        for (const TensorId t : g.nodes[n].inputs)
          if (t != kNoTensor) readers_[root_[t.index()].index()].push_back(n);
  }

  LinearProblem run() {
    count_fixed();
    for (std::size_t n = g_.nodes.size(); n-- > 0;)
      if (is_forward(g_.nodes[n]) && !is_view(g_.nodes[n])) part_[n] = part_by_readers(n);
    place_the_rest();
    merge_fixed();
    make_forward_steps();
    make_backward_steps();
    for (const TensorId t : activations_) {
      MONET_ASSERT(step_[t.index()] != LinearStep::kNone, "a decided activation is made by a forward node");
      out_.step_of.push_back(step_[t.index()]);
    }
    return std::move(out_);
  }

 private:
  void count_fixed() {
    for (const TensorId t : saved_activations(g_)) {
      is_saved_[t.index()] = true;
      if (role_[t.index()] == Role::None) out_.fixed_bytes += static_cast<double>(bytes(g_[t]));
    }
    for (std::size_t t = 0; t < g_.tensors.size(); ++t) {
      const Category c = g_.tensors[t].category;
      const bool stays = c == Category::Weight || c == Category::OptimizerState || c == Category::ModelState ||
                         c == Category::Constant;
      if (stays && producer_[t] == kNoNode) out_.fixed_bytes += static_cast<double>(bytes(g_.tensors[t]));
    }
  }

  // Later nodes have their parts already. Sets the roles of the outputs of a node that ends a part.
  Part part_by_readers(std::size_t n) {
    const Node& node = g_.nodes[n];
    std::set<Part> parts;       // that read what is no step's value yet
    std::vector<TensorId> led;  // and these tensors
    bool is_end = false;
    for (const TensorId t : node.outputs) {
      if (t == kNoTensor) continue;
      if (role_[t.index()] == Role::Decided) is_end = true;
      if (role_[t.index()] != Role::None) continue;
      bool leads = false;
      for (const std::size_t reader : readers_[t.index()])
        if (part_[reader] != kNoPart) leads = true, parts.insert(part_[reader]);
      if (!leads) continue;
      led.push_back(t);
      if (is_saved_[t.index()]) is_end = true;
    }
    if (is_end || parts.size() > 1) {
      for (const TensorId t : led) role_[t.index()] = is_saved_[t.index()] ? Role::Fixed : Role::Shared;
      return n;
    }
    if (parts.size() == 1) return *parts.begin();
    return node.phase == Phase::Loss ? g_.nodes.size() : kNoPart;
  }

  // Views and what leads nowhere go with the last of what they read.
  void place_the_rest() {
    Part first = g_.nodes.size();
    for (std::size_t n = 0; n < part_.size(); ++n) first = std::min(first, part_[n]);
    for (std::size_t n = 0; n < g_.nodes.size(); ++n) {
      if (!is_forward(g_.nodes[n]) || part_[n] != kNoPart) continue;
      part_[n] = first;
      for (const TensorId t : g_.nodes[n].inputs)
        if (const Part p = part_making(t); p != kNoPart) part_[n] = std::max(part_[n], p);
    }
  }

  std::map<Part, std::vector<std::size_t>> forward_parts() const {
    std::map<Part, std::vector<std::size_t>> parts;
    for (std::size_t n = 0; n < part_.size(); ++n)
      if (is_forward(g_.nodes[n])) parts[part_[n]].push_back(n);
    return parts;
  }

  // What is made once and for all, from nothing else than that, need not be told apart.
  void merge_fixed() {
    std::set<Part> once;
    for (const auto& [part, nodes] : forward_parts()) {
      if (part == g_.nodes.size() || has_output(part, Role::Shared) || has_output(part, Role::Decided)) continue;
      once.insert(part);
      Part into = 0;
      bool is_mergeable = false, reads_others = false;
      for (const std::size_t n : nodes)
        for (const TensorId t : g_.nodes[n].inputs)
          if (const Part from = part_making(t); from != kNoPart && from != part) {
            (once.contains(from) ? is_mergeable : reads_others) = true;
            into = std::max(into, from);
          }
      if (is_mergeable && !reads_others)
        for (const std::size_t n : nodes) part_[n] = into;
    }
  }

  Part part_making(TensorId t) const {
    if (t == kNoTensor) return kNoPart;
    const NodeId by = producer_[root_[t.index()].index()];
    return by == kNoNode || !is_forward(g_[by]) ? kNoPart : part_[by.index()];
  }

  void add_costs(LinearStep& step, std::size_t n) const {
    step.cycles += costs_.cycles[n];
    step.energy_pj += costs_.energy_pj[n];
  }

  std::uint32_t push(LinearStep step, std::set<std::uint32_t> inputs) {
    step.inputs.assign(inputs.begin(), inputs.end());
    out_.steps.push_back(std::move(step));
    return static_cast<std::uint32_t>(out_.steps.size() - 1);
  }

  void make_forward_steps() {
    for (const auto& [part, nodes] : forward_parts()) {
      LinearStep step{.name = part < g_.nodes.size() ? g_.nodes[part].name : "loss"};
      std::set<std::uint32_t> inputs;
      for (const std::size_t n : nodes) {
        add_costs(step, n);
        for (const TensorId t : g_.nodes[n].inputs)
          if (const Part from = part_making(t); from != kNoPart && from != part) inputs.insert(value_step(t));
      }
      first_step_[part] = static_cast<std::uint32_t>(out_.steps.size());
      for (const Role role : {Role::Shared, Role::Decided, Role::Fixed}) {
        if (part == g_.nodes.size() || !has_output(part, role)) continue;
        step.bytes = 0;
        for (const TensorId t : g_.nodes[part].outputs)
          if (t != kNoTensor && role_[t.index()] == role) {
            if (role != Role::Fixed) step.bytes += static_cast<double>(bytes(g_[t]));
            step_[t.index()] = static_cast<std::uint32_t>(out_.steps.size());
          }
        push(step, inputs);
        step.cycles = step.energy_pj = 0;
        inputs = {first_step_[part]};
      }
      if (part == g_.nodes.size()) push(step, inputs);
    }
  }

  bool has_output(Part part, Role role) const {
    const auto& outputs = g_.nodes[part].outputs;
    return std::any_of(outputs.begin(), outputs.end(),
                       [&](TensorId t) { return t != kNoTensor && role_[t.index()] == role; });
  }

  // The step whose value another part reads with this tensor.
  std::uint32_t value_step(TensorId t) const {
    const std::uint32_t step = step_[root_[t.index()].index()];
    return step != LinearStep::kNone ? step : first_step_.at(part_making(t));
  }

  // The step whose value a gradient node reads with this tensor, or none: parts cut out are read from the whole.
  std::uint32_t saved_step(TensorId t) const {
    for (t = root_[t.index()]; step_[t.index()] == LinearStep::kNone;) {
      const NodeId by = producer_[t.index()];
      if (by == kNoNode || !is_forward(g_[by])) return LinearStep::kNone;
      if (!std::holds_alternative<Slice>(g_[by].op) && !std::holds_alternative<Split>(g_[by].op))
        return LinearStep::kNone;
      t = root_[g_[by].inputs[0].index()];
    }
    return step_[t.index()];
  }

  // Gradient nodes are called by what they differentiate, a dot, and more.
  std::vector<Part> backward_parts() const {
    std::unordered_map<std::string, Part> named;
    for (std::size_t n = 0; n < g_.nodes.size(); ++n) {
      if (!is_forward(g_.nodes[n])) continue;
      for (const TensorId t : g_.nodes[n].outputs)
        if (t != kNoTensor) named.emplace(g_[t].name, part_[n]);
    }
    for (std::size_t n = 0; n < g_.nodes.size(); ++n)
      if (is_forward(g_.nodes[n])) named[g_.nodes[n].name] = part_[n];
    const Part last = first_step_.empty() ? kNoPart : first_step_.rbegin()->first;
    std::vector<Part> parts(g_.nodes.size(), kNoPart);
    for (std::size_t n = 0; n < g_.nodes.size(); ++n) {
      if (!is_backward(g_.nodes[n])) continue;
      Part part = last;  // never before what it reads, whatever the names say
      for (const TensorId t : g_.nodes[n].inputs)
        if (t != kNoTensor && producer_[t.index()] != kNoNode && is_backward(g_[producer_[t.index()]]))
          part = std::min(part, parts[producer_[t.index()].index()]);
      const std::string& name = g_.nodes[n].name;
      for (std::size_t dot = name.rfind('.'); dot != std::string::npos && dot > 0; dot = name.rfind('.', dot - 1))
        if (const auto it = named.find(name.substr(0, dot)); it != named.end()) {
          part = std::min(part, it->second);
          break;
        }
      parts[n] = part;
    }
    return parts;
  }

  void make_backward_steps() {
    const std::vector<Part> part_of = backward_parts();
    std::map<Part, std::vector<std::size_t>, std::greater<>> parts;
    for (std::size_t n = 0; n < part_of.size(); ++n)
      if (is_backward(g_.nodes[n])) parts[part_of[n]].push_back(n);
    MONET_ASSERT(parts.empty() || !first_step_.empty(), "gradients of something");
    std::vector<bool> is_counted(g_.tensors.size(), false);
    std::map<Part, std::uint32_t> made;
    for (const auto& [part, nodes] : parts) {
      LinearStep step{.is_backward = true, .forward_of = first_step_.at(part)};
      step.name = "gradient of " + out_.steps[step.forward_of].name;
      std::set<std::uint32_t> inputs;
      // The backward pass begins when the loss is there.
      if (made.empty() && first_step_.contains(g_.nodes.size())) inputs.insert(first_step_.at(g_.nodes.size()));
      for (const std::size_t n : nodes) {
        add_costs(step, n);
        for (const TensorId t : g_.nodes[n].inputs) {
          if (t == kNoTensor) continue;
          const TensorId root = root_[t.index()];
          const NodeId by = producer_[root.index()];
          if (by != kNoNode && is_backward(g_[by])) {
            const Part from = part_of[by.index()];
            if (from == part) continue;
            inputs.insert(made.at(from));
            if (!is_counted[root.index()]) out_.steps[made.at(from)].bytes += static_cast<double>(bytes(g_[root]));
            is_counted[root.index()] = true;
          } else if (const std::uint32_t read = saved_step(t); read != LinearStep::kNone) {
            inputs.insert(read);
          }
        }
      }
      made[part] = push(step, inputs);
    }
  }

  const Graph& g_;
  const NodeCosts& costs_;
  std::vector<TensorId> root_;
  std::vector<NodeId> producer_;
  std::vector<std::vector<std::size_t>> readers_;  // of a tensor and its views: forward nodes that are no views
  std::vector<Role> role_;
  std::vector<bool> is_saved_;
  std::vector<Part> part_;  // of forward nodes
  std::vector<std::uint32_t> step_;
  std::vector<TensorId> activations_;
  std::map<Part, std::uint32_t> first_step_;
  LinearProblem out_;
};

}  // namespace

LinearProblem linear_problem(const Graph& training, std::span<const TensorId> activations, const NodeCosts& costs) {
  return Extraction(training, activations, costs).run();
}

std::vector<std::vector<std::uint32_t>> related_activations(const LinearProblem& problem) {
  std::map<std::uint32_t, std::uint32_t> first;  // of a step: the first activation it makes
  std::vector<std::vector<std::uint32_t>> out(problem.step_of.size());
  for (std::uint32_t a = 0; a < problem.step_of.size(); ++a)
    if (const auto [at, is_new] = first.emplace(problem.step_of[a], a); !is_new) out[a].push_back(at->second);
  // By step: the activations nearest before it or it itself; the steps nobody decides on between those and it.
  std::vector<std::set<std::uint32_t>> nearest(problem.steps.size()), between(problem.steps.size());
  std::map<std::uint32_t, std::vector<std::uint32_t>> made_from;  // such a step: activations
  for (std::uint32_t s = 0; s < problem.steps.size() && !problem.steps[s].is_backward; ++s) {
    for (const std::uint32_t i : problem.steps[s].inputs) {
      nearest[s].insert(nearest[i].begin(), nearest[i].end());
      between[s].insert(between[i].begin(), between[i].end());
    }
    const auto made = first.find(s);
    if (made == first.end()) {
      between[s].insert(s);
      continue;
    }
    const std::uint32_t a = made->second;
    std::set<std::uint32_t> related = nearest[s];
    for (const std::uint32_t open : between[s]) {
      related.insert(made_from[open].begin(), made_from[open].end());
      made_from[open].push_back(a);
    }
    for (const std::uint32_t other : related)
      if (other < a) out[a].push_back(other);
    nearest[s] = {a};
    between[s].clear();
  }
  return out;
}

}  // namespace monet::search
