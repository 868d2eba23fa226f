#include "monet/onnx/phases.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <tuple>

// Files that contain gradients do not say which node belongs to what. The seed is the first gradient of a loss.
//   forward   stands before the seed
//   backward  depends on the seed or stands after it
//   update    what lies between the gradient of a weight and its new value: walking back from a graph output through
//             element-wise nodes of its shape (or scalar ones), the nodes that see state (the weight, moments, an
//             accumulation buffer), and those before them that see one gradient only (scaling it). A sum of several
//             gradients is the end of the backward phase. Norms for clipping, which lead from gradients back into
//             the update through a scalar, belong to it.

namespace monet {
namespace {

bool is_elementwise(const Op& op) {
  return std::holds_alternative<Unary>(op) || std::holds_alternative<Binary>(op) || std::holds_alternative<Sum>(op) ||
         std::holds_alternative<Select>(op) || std::holds_alternative<Cast>(op);
}

bool is_single(const Tensor& tensor) { return elements(tensor.shape) == 1; }

// One graph output and the element-wise nodes behind it.
struct Closure {
  TensorId output;
  std::vector<std::size_t> nodes;  // in order
};

struct NodeFacts {
  bool state = false;                                       // sees a weight, moment or buffer
  std::array<TensorId, 2> gradients{kNoTensor, kNoTensor};  // the first two gradients it sees
  void see(TensorId t) {
    if (t == kNoTensor || t == gradients[0] || t == gradients[1]) return;
    (gradients[0] == kNoTensor ? gradients[0] : gradients[1]) = t;
  }
  bool one_gradient() const { return gradients[1] == kNoTensor; }
};

struct Candidate {  // `output` may be the new value of `old`
  int distance = 0;
  bool update_only = false;
  std::size_t order = 0;
  TensorId output, old;
};

class PhaseFinder {
 public:
  PhaseFinder(Graph& graph, std::size_t seed)
      : g_(graph),
        seed_(seed),
        uses_(uses(graph)),
        after_(graph.nodes.size()),
        update_(graph.nodes.size()),
        backward_(graph.nodes.size()),
        depends_(graph.tensors.size()) {}

  std::int64_t run() {
    find_dependents();
    for (const TensorId output : g_.outputs) visit_output(output);
    for (std::size_t n = 0; n < update_.size(); ++n) update_[n] = update_[n] && !backward_[n];
    add_norms();
    // What the backward phase still reads belongs to it.
    for (std::size_t n = update_.size(); n-- > 0;)
      for (const TensorId t : g_.nodes[n].outputs)
        if (t != kNoTensor && read_outside_update(t)) update_[n] = false;
    for (std::size_t n = 0; n < g_.nodes.size(); ++n) set_phase(n);
    const std::int64_t trained = assign_weights();
    sort_sources();
    return trained;
  }

 private:
  void find_dependents() {
    for (std::size_t n = seed_; n < g_.nodes.size(); ++n) {
      bool depends = n == seed_;
      for (const TensorId t : g_.nodes[n].inputs) depends |= t != kNoTensor && depends_[t.index()];
      after_[n] = true;
      if (!depends) continue;
      for (const TensorId t : g_.nodes[n].outputs)
        if (t != kNoTensor) depends_[t.index()] = true;
    }
  }

  std::optional<std::size_t> producer(TensorId t) const {
    const NodeId n = uses_.producer[t.index()];
    return n == kNoNode ? std::nullopt : std::optional(n.index());
  }

  bool belongs(std::size_t n, const Shape& shape) const {
    const Tensor& out = g_[g_.nodes[n].outputs[0]];
    return after_[n] && is_elementwise(g_.nodes[n].op) && (out.shape == shape || is_single(out));
  }

  void visit_output(TensorId output) {
    const auto maker = producer(output);
    if (steps_ > kMostSteps) return;
    if (!maker || !depends_[output.index()] || !belongs(*maker, g_[output].shape)) return;
    std::map<std::size_t, int> distance{{*maker, 0}};  // in node order
    std::queue<std::size_t> open;
    open.push(*maker);
    while (!open.empty()) {
      const std::size_t n = open.front();
      open.pop();
      for (const TensorId t : g_.nodes[n].inputs) {
        if (t == kNoTensor) continue;
        const auto p = producer(t);
        if (p && belongs(*p, g_[output].shape) && distance.emplace(*p, distance[n] + 1).second) open.push(*p);
      }
    }
    steps_ += distance.size();
    judge(output, *maker, distance);
  }

  // A tensor that is carried from iteration to iteration, as far as one can see.
  bool is_state(TensorId t, bool read_by_maker) const {
    const Tensor& tensor = g_[t];
    if (depends_[t.index()] || is_single(tensor) || tensor.category == Category::Constant) return false;
    const auto p = producer(t);
    return !p || after_[*p] || read_by_maker;  // activations are state only where they are updated directly
  }

  void judge(TensorId output, std::size_t maker, const std::map<std::size_t, int>& distance) {
    std::map<std::size_t, NodeFacts> facts;
    std::vector<Candidate> found;
    for (const auto& [n, steps] : distance) {
      NodeFacts& f = facts[n];
      for (const TensorId t : g_.nodes[n].inputs) {
        if (t == kNoTensor) continue;
        const auto p = producer(t);
        if (p && distance.count(*p)) {
          const NodeFacts& before = facts[*p];
          f.state |= before.state;
          // A sum of gradients is one from there on.
          if (!before.state && !before.one_gradient())
            f.see(t);
          else
            for (const TensorId gradient : before.gradients) f.see(gradient);
        } else if (depends_[t.index()]) {
          if (!is_single(g_[t])) f.see(t);
        } else if (is_state(t, n == maker)) {
          f.state = true;
          if (g_[t].shape == g_[output].shape) found.push_back({steps, false, found.size(), output, t});
        }
      }
    }
    if (!facts[maker].state) return;  // just a gradient
    for (auto it = distance.rbegin(); it != distance.rend(); ++it) {
      const std::size_t n = it->first;
      if (!facts[n].state && !facts[n].one_gradient()) backward_[n] = true;
      if (backward_[n] && !facts[n].state) {
        for (const TensorId t : g_.nodes[n].inputs)
          if (t != kNoTensor)
            if (const auto p = producer(t); p && distance.count(*p) && !is_single(g_[t])) backward_[*p] = true;
      } else {
        update_[n] = true;
      }
    }
    candidates_.insert(candidates_.end(), found.begin(), found.end());
  }

  // Gradients enter the update; what leads from them to a scalar the update reads is part of it.
  void add_norms() {
    std::vector<bool> entered(g_.tensors.size()), below(g_.tensors.size());
    for (std::size_t n = 0; n < g_.nodes.size(); ++n)
      if (update_[n])
        for (const TensorId t : g_.nodes[n].inputs)
          if (t != kNoTensor && depends_[t.index()] && !is_single(g_[t]) && !update_[*producer(t)])
            entered[t.index()] = true;
    for (const Node& node : g_.nodes) {
      bool from = false;
      for (const TensorId t : node.inputs) from |= t != kNoTensor && (entered[t.index()] || below[t.index()]);
      for (const TensorId t : node.outputs)
        if (t != kNoTensor) below[t.index()] = from;
    }
    std::vector<TensorId> open;
    std::vector<bool> seen = update_;  // whose inputs are looked at already
    for (std::size_t n = 0; n < g_.nodes.size(); ++n)
      if (update_[n])
        for (const TensorId t : g_.nodes[n].inputs)
          if (t != kNoTensor && is_single(g_[t])) open.push_back(t);
    while (!open.empty()) {
      const TensorId t = open.back();
      open.pop_back();
      const auto p = producer(t);
      if (!p || !below[t.index()] || entered[t.index()]) continue;
      if (seen[*p]) continue;
      seen[*p] = update_[*p] = true;
      for (const TensorId input : g_.nodes[*p].inputs)
        if (input != kNoTensor) open.push_back(input);
    }
  }

  void set_phase(std::size_t n) {
    Node& node = g_.nodes[n];
    if (!after_[n]) return;  // forward or loss
    node.phase = update_[n] ? Phase::Update : Phase::Backward;
    for (const TensorId t : node.outputs)
      if (t != kNoTensor && g_[t].category == Category::Activation)
        g_[t].category = update_[n] ? Category::Workspace : Category::Gradient;
  }

  bool read_outside_update(TensorId t) const {
    const auto& readers = uses_.consumers[t.index()];
    return std::any_of(readers.begin(), readers.end(), [&](NodeId n) { return !update_[n.index()]; });
  }

  static bool is_buffer(const Tensor& tensor) { return tensor.name.find("accumulation") != std::string::npos; }

  std::int64_t assign_weights() {
    for (Candidate& candidate : candidates_) candidate.update_only = !read_outside_update(candidate.old);
    std::stable_sort(candidates_.begin(), candidates_.end(), [](const Candidate& a, const Candidate& b) {
      return std::tuple(a.distance, a.update_only) < std::tuple(b.distance, b.update_only);
    });
    std::set<TensorId> taken, written;
    std::int64_t trained = 0;
    for (const Candidate& candidate : candidates_) {
      if (taken.count(candidate.old) || written.count(candidate.output)) continue;
      taken.insert(candidate.old);
      written.insert(candidate.output);
      Tensor& old = g_[candidate.old];
      Tensor& output = g_[candidate.output];
      const bool source = !producer(candidate.old);
      const Category category = !candidate.update_only ? Category::Weight
                                : is_buffer(old)       ? Category::Gradient
                                                       : Category::OptimizerState;
      if (source) old.category = category;
      output.category = category;
      if (source && output.format == old.format) output.overwrites = candidate.old;
      if (!candidate.update_only) trained += elements(old.shape);
    }
    return trained;
  }

  // ---- Sources nothing updates ----

  bool is_parameter_of(const Node& node, TensorId t) const {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] != t) continue;
      if (std::holds_alternative<Conv>(node.op) || std::holds_alternative<MatMul>(node.op) ||
          std::holds_alternative<Norm>(node.op))
        return i > 0;
      if (std::holds_alternative<Gather>(node.op)) return i == 0;
      if (std::holds_alternative<Binary>(node.op)) return elements(g_[t].shape) < elements(g_[node.outputs[0]].shape);
    }
    return false;
  }

  void sort_sources() {
    std::set<std::string> names;
    for (const Tensor& tensor : g_.tensors) names.insert(tensor.name);
    for (std::uint32_t i = 0; i < g_.tensors.size(); ++i) {
      const TensorId t{i};
      Tensor& tensor = g_[t];
      if (producer(t) || tensor.category != Category::Input || is_single(tensor)) continue;
      const auto& readers = uses_.consumers[i];
      if (readers.empty()) continue;
      if (!read_outside_update(t)) {
        tensor.category = is_buffer(tensor) ? Category::Gradient : Category::OptimizerState;
        continue;
      }
      const bool parameter = std::any_of(readers.begin(), readers.end(),
                                         [&](NodeId n) { return !after_[n.index()] && is_parameter_of(g_[n], t); });
      // Engines that accumulate gradients name the buffer after its parameter.
      if (parameter || names.count(tensor.name + "_grad.accumulation.buffer")) tensor.category = Category::Weight;
    }
  }

  Graph& g_;
  std::size_t seed_;
  Uses uses_;
  std::vector<bool> after_, update_, backward_;  // by node
  std::vector<bool> depends_;                    // by tensor: on the seed
  std::vector<Candidate> candidates_;
  // Optimisers take tens of nodes per weight; a file made to waste time is left half sorted.
  static constexpr std::size_t kMostSteps = 20'000'000;
  std::size_t steps_ = 0;
};

struct Overwrite {
  TensorId output;
  std::size_t writer = 0;
  std::vector<std::size_t> readers;  // what must come before the writer
};

// The nearest order to the present one in which every reader comes before the writer; none if they wait in a circle.
std::optional<std::vector<std::size_t>> order_with(const Graph& graph, const Uses& uses,
                                                   const std::vector<Overwrite>& overwrites) {
  const std::size_t count = graph.nodes.size();
  std::vector<std::vector<std::size_t>> feeds(count);
  std::vector<std::size_t> waiting(count, 0);
  const auto edge = [&](std::size_t from, std::size_t to) {
    feeds[from].push_back(to);
    ++waiting[to];
  };
  for (std::size_t n = 0; n < count; ++n)
    for (const TensorId t : graph.nodes[n].inputs)
      if (t != kNoTensor && uses.producer[t.index()] != kNoNode) edge(uses.producer[t.index()].index(), n);
  for (const Overwrite& overwrite : overwrites)
    for (const std::size_t reader : overwrite.readers) edge(reader, overwrite.writer);
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t n = 0; n < count; ++n)
    if (waiting[n] == 0) ready.push(n);
  std::vector<std::size_t> order;
  while (!ready.empty()) {
    order.push_back(ready.top());
    ready.pop();
    for (const std::size_t m : feeds[order.back()])
      if (--waiting[m] == 0) ready.push(m);
  }
  return order.size() == count ? std::optional(order) : std::nullopt;
}

// The nodes that read each tensor, itself or a view of it.
std::vector<std::vector<std::size_t>> readers_through_views(const Graph& graph) {
  std::vector<std::vector<std::size_t>> readers(graph.tensors.size());
  std::vector<TensorId> root(graph.tensors.size());
  for (std::uint32_t t = 0; t < root.size(); ++t) root[t] = TensorId{t};
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    for (const TensorId t : node.inputs)
      if (t != kNoTensor) readers[root[t.index()].index()].push_back(n);
    if (std::holds_alternative<View>(node.op)) root[node.outputs[0].index()] = root[node.inputs[0].index()];
  }
  return readers;
}

}  // namespace

std::int64_t assign_phases(Graph& graph, std::size_t seed) { return PhaseFinder(graph, seed).run(); }

void legalise_overwrites(Graph& graph) {
  const Uses all_uses = uses(graph);
  const auto readers = readers_through_views(graph);
  std::vector<Overwrite> all, late;
  std::set<TensorId> taken;
  for (std::uint32_t i = 0; i < graph.tensors.size(); ++i) {
    Tensor& tensor = graph.tensors[i];
    if (tensor.overwrites == kNoTensor) continue;
    const TensorId old = tensor.overwrites;
    const NodeId writer = all_uses.producer[i];
    const bool returned = std::find(graph.outputs.begin(), graph.outputs.end(), old) != graph.outputs.end();
    const bool same = graph[old].shape == tensor.shape && graph[old].format == tensor.format;
    if (writer == kNoNode || returned || !same || old == TensorId{i} || taken.count(old)) {
      tensor.overwrites = kNoTensor;
      continue;
    }
    Overwrite overwrite{TensorId{i}, writer.index(), {}};
    bool legal = true;
    for (const std::size_t n : readers[old.index()]) {
      if (n == writer.index()) continue;
      overwrite.readers.push_back(n);
      legal &= n < writer.index();
    }
    if (const NodeId maker = all_uses.producer[old.index()]; maker != kNoNode) {
      overwrite.readers.push_back(maker.index());
      legal &= maker < writer;
    }
    if (legal) taken.insert(old);
    (legal ? all : late).push_back(overwrite);
  }
  // Two new values cannot share one old place.
  std::erase_if(late, [&](const Overwrite& overwrite) {
    Tensor& tensor = graph[overwrite.output];
    const bool second = !taken.insert(tensor.overwrites).second;
    if (second) tensor.overwrites = kNoTensor;
    return second;
  });
  if (late.empty()) return;
  all.insert(all.end(), late.begin(), late.end());
  if (const auto order = order_with(graph, all_uses, all)) {
    std::vector<Node> nodes;
    for (const std::size_t n : *order) nodes.push_back(std::move(graph.nodes[n]));
    graph.nodes = std::move(nodes);
  } else {
    for (const Overwrite& overwrite : late) graph[overwrite.output].overwrites = kNoTensor;
  }
}

std::int64_t count_trained(const Graph& graph) {
  std::int64_t count = 0;
  for (const Tensor& tensor : graph.tensors)
    if (tensor.overwrites != kNoTensor && graph[tensor.overwrites].category == Category::Weight)
      count += elements(tensor.shape);
  return count;
}

}  // namespace monet
