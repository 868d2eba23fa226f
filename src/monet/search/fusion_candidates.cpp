#include "monet/search/fusion_candidates.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <memory>
#include <set>

namespace monet::search {
namespace {

using Words = std::vector<std::uint64_t>;

bool is_one_of(const FusionNode& node, const std::vector<std::string>& kinds) {
  return std::any_of(kinds.begin(), kinds.end(),
                     [&](const std::string& kind) { return kind == node.kind || kind == node.work_class; });
}

// The rules for one graph, ready to be asked of many groups.
class Rules {
 public:
  Rules(const FusionGraph& graph, const plan::Chip& chip, const FusionRules& rules)
      : graph_(graph), rules_(rules), words_((graph.nodes.size() + 63) / 64) {
    for (const KindLimit& limit : rules.kinds) {
      std::vector<bool> counts, asks;
      for (const FusionNode& node : graph.nodes) {
        counts.push_back(is_one_of(node, limit.of));
        asks.push_back(is_one_of(node, limit.with));
      }
      counted_.push_back(std::move(counts));
      asked_.push_back(std::move(asks));
    }
    for (std::size_t c = 0; c < chip.cores.size(); ++c) {
      const auto room = [&](hardware::Slot slot) {
        const std::int64_t bytes = chip.machine.stores[chip.store(c, slot).index()].bytes;
        return chip.store(c, slot) == chip.machine.home ? std::numeric_limits<double>::infinity()
                                                        : static_cast<double>(bytes);
      };
      weight_room_.push_back(room(hardware::Slot::Weight));
      room_.push_back(std::max(room(hardware::Slot::Input), room(hardware::Slot::Output)));
    }
    add_reach();
  }

  // Rules that a larger group breaks if a smaller one does, for a group with one more node at its end.
  bool may_grow(const std::vector<std::uint32_t>& group) const {
    return group.size() <= rules_.limit && !broken_kind(group) && (!rules_.rows_divide || rows_divide(group)) &&
           (!rules_.weights_fit || weights_fit(group));
  }
  bool is_allowed(const std::vector<std::uint32_t>& group) const { return may_grow(group) && !broken_late(group); }

  std::optional<std::string> broken(const std::vector<std::uint32_t>& group) const {
    if (group.size() > rules_.limit) return fmt::format("{} nodes > {}", group.size(), rules_.limit);
    if (const auto kind = broken_kind(group)) {
      const KindLimit& limit = rules_.kinds[*kind];
      return fmt::format("more than {} of {}{}{}", limit.most, fmt::join(limit.of, ", "),
                         limit.with.empty() ? "" : " with ", fmt::join(limit.with, ", "));
    }
    if (rules_.rows_divide && !rows_divide(group)) return "rows that are no multiples of one another";
    if (rules_.weights_fit && !weights_fit(group)) return "weights that do not fit a core";
    if (const char* late = broken_late(group)) return late;
    return std::nullopt;
  }

 private:
  // Who must run after each node, however far.
  void add_reach() {
    const std::size_t n = graph_.nodes.size();
    after_.assign(n, Words(words_, 0));
    before_.assign(n, Words(words_, 0));
    std::vector<std::vector<std::uint32_t>> next(n), last(n);
    for (const auto& [from, to] : graph_.order) {
      next[from].push_back(to);
      last[to].push_back(from);
    }
    const auto gather = [&](std::uint32_t i, const std::vector<std::uint32_t>& list, std::vector<Words>& reach) {
      for (const std::uint32_t other : list) {
        reach[i][other / 64] |= std::uint64_t{1} << (other % 64);
        for (std::size_t w = 0; w < words_; ++w) reach[i][w] |= reach[other][w];
      }
    };
    for (std::uint32_t i = 0; i < n; ++i) gather(i, last[i], before_);
    for (std::uint32_t i = static_cast<std::uint32_t>(n); i-- > 0;) gather(i, next[i], after_);
  }

  std::optional<std::size_t> broken_kind(const std::vector<std::uint32_t>& group) const {
    for (std::size_t k = 0; k < rules_.kinds.size(); ++k) {
      std::uint32_t count = 0;
      bool is_asked = rules_.kinds[k].with.empty();
      for (const std::uint32_t n : group) {
        count += counted_[k][n] ? 1 : 0;
        is_asked = is_asked || asked_[k][n];
      }
      if (is_asked && count > rules_.kinds[k].most) return k;
    }
    return std::nullopt;
  }

  bool rows_divide(const std::vector<std::uint32_t>& group) const {
    for (const std::uint32_t a : group)
      for (const std::uint32_t b : group)
        if (graph_.nodes[a].rows % graph_.nodes[b].rows != 0 && graph_.nodes[b].rows % graph_.nodes[a].rows != 0)
          return false;
    return true;
  }

  bool weights_fit(const std::vector<std::uint32_t>& group) const {
    for (std::size_t c = 0; c < weight_room_.size(); ++c) {
      double sum = 0;
      for (const std::uint32_t n : group)
        if ((graph_.nodes[n].cores >> c & 1) != 0) sum += graph_.nodes[n].weight_bytes;
      if (sum > weight_room_[c]) return false;
    }
    return true;
  }

  // Rules that a larger group may keep though a smaller one breaks them.
  const char* broken_late(const std::vector<std::uint32_t>& group) const {
    if (group.size() == 1) return nullptr;
    if (!is_convex(group)) return "somebody outside must run in between";
    const auto is_inside = [&](std::uint32_t n) { return std::find(group.begin(), group.end(), n) != group.end(); };
    std::uint32_t outputs = 0;
    std::set<std::uint32_t> producers;
    for (const std::uint32_t n : group) {
      const auto leaves = [&](std::uint32_t t) {
        const FusionTensor& tensor = graph_.tensors[t];
        return std::any_of(tensor.readers.begin(), tensor.readers.end(),
                           [&](std::uint32_t r) { return !is_inside(r); });
      };
      outputs += std::any_of(graph_.made[n].begin(), graph_.made[n].end(), leaves) ? 1 : 0;
      for (const std::uint32_t t : graph_.read[n])
        if (const std::uint32_t by = graph_.tensors[t].producer; by != FusionTensor::kNobody && !is_inside(by))
          producers.insert(by);
    }
    if (rules_.most_outputs > 0 && outputs > rules_.most_outputs) return "too many nodes that are read outside";
    if (rules_.most_producers > 0 && producers.size() > rules_.most_producers) return "too many producers outside";
    if (rules_.statistics_are_barriers && waits_inside(group)) return "who needs a statistic with who makes it";
    if (rules_.boundary_fits && !boundary_fits(group)) return "a row of what enters and leaves that fits no core";
    return nullptr;
  }

  bool is_convex(const std::vector<std::uint32_t>& group) const {
    for (std::size_t w = 0; w < words_; ++w) {
      std::uint64_t after = 0, before = 0, inside = 0;
      for (const std::uint32_t n : group) {
        after |= after_[n][w];
        before |= before_[n][w];
        if (n / 64 == w) inside |= std::uint64_t{1} << (n % 64);
      }
      if ((after & before & ~inside) != 0) return false;
    }
    return true;
  }

  // Sums over the whole batch, and in the same group somebody who makes half as much as was summed up out of them.
  bool waits_inside(const std::vector<std::uint32_t>& group) const {
    std::vector<double> waited(group.size(), 0);
    std::vector<std::uint32_t> order = group;
    std::sort(order.begin(), order.end());
    for (std::size_t i = 0; i < order.size(); ++i) {
      for (const std::uint32_t t : graph_.read[order[i]]) {
        const auto by =
            std::find(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(i), graph_.tensors[t].producer);
        if (by == order.begin() + static_cast<std::ptrdiff_t>(i)) continue;
        const double summed = std::max(graph_.nodes[*by].summed, waited[static_cast<std::size_t>(by - order.begin())]);
        waited[i] = std::max(waited[i], summed);
      }
      if (waited[i] > 0 && 2 * graph_.nodes[order[i]].made >= waited[i]) return true;
    }
    return false;
  }

  bool boundary_fits(const std::vector<std::uint32_t>& group) const {
    const double rows = boundary_of(graph_, group).rows;
    return std::all_of(group.begin(), group.end(), [&](std::uint32_t n) {
      for (std::size_t c = 0; c < room_.size(); ++c)
        if ((graph_.nodes[n].cores >> c & 1) != 0 && rows <= room_[c]) return true;
      return graph_.nodes[n].cores == 0;
    });
  }

  const FusionGraph& graph_;
  const FusionRules& rules_;
  std::size_t words_;
  std::vector<std::vector<bool>> counted_, asked_;  // by limit and node
  std::vector<double> weight_room_, room_;          // by core: bytes
  std::vector<Words> after_, before_;               // by node, as bits
};

// Connected sets of nodes, each once (Wernicke, 2006): a set grows by nodes above its first one that touch its newest
// node and none of the earlier ones.
class Enumeration {
 public:
  Enumeration(const FusionGraph& graph, const Rules& judge, const CandidateOptions& options)
      : graph_(graph), judge_(judge), options_(options), touched_(graph.nodes.size(), 0) {}

  FusionCandidates run() {
    for (std::uint32_t n = 0; n < graph_.nodes.size(); ++n) out_.groups.push_back({n});
    for (std::uint32_t n = 0; n < graph_.nodes.size() && out_.is_complete; ++n) {
      std::vector<std::uint32_t> group{n}, open;
      touched_[n] = 1;
      for (const std::uint32_t next : graph_.neighbours[n])
        if (next > n) {
          open.push_back(next);
          touched_[next] = 1;
        }
      grow(group, open);
      for (const std::uint32_t next : open) touched_[next] = 0;
      touched_[n] = 0;
    }
    return std::move(out_);
  }

 private:
  void grow(std::vector<std::uint32_t>& group, std::vector<std::uint32_t> open) {
    while (!open.empty() && out_.is_complete) {
      const std::uint32_t next = open.back();
      open.pop_back();
      group.push_back(next);
      look();
      if (out_.is_complete && judge_.may_grow(group)) {
        keep(group);
        std::vector<std::uint32_t> wider = open, added;
        for (const std::uint32_t other : graph_.neighbours[next])
          if (other > group.front() && touched_[other] == 0) {
            wider.push_back(other);
            added.push_back(other);
            touched_[other] = 1;
          }
        grow(group, std::move(wider));
        for (const std::uint32_t other : added) touched_[other] = 0;
      }
      group.pop_back();
    }
  }

  void look() {
    ++looks_;
    if (looks_ >= options_.most_looks || (looks_ % 1024 == 0 && options_.deadline.is_over())) out_.is_complete = false;
  }

  void keep(const std::vector<std::uint32_t>& group) {
    if (!judge_.is_allowed(group)) return;
    std::vector<std::uint32_t> nodes = group;
    std::sort(nodes.begin(), nodes.end());
    out_.groups.push_back(std::move(nodes));
    if (out_.groups.size() >= options_.most) out_.is_complete = false;
  }

  const FusionGraph& graph_;
  const Rules& judge_;
  CandidateOptions options_;
  std::vector<std::uint8_t> touched_;  // by node: in the group, or beside it
  std::size_t looks_ = 0;
  FusionCandidates out_;
};

}  // namespace

Boundary boundary_of(const FusionGraph& graph, const std::vector<std::uint32_t>& group) {
  Boundary out;
  const auto is_inside = [&](std::uint32_t n) { return std::find(group.begin(), group.end(), n) != group.end(); };
  std::vector<std::uint32_t> read;
  for (const std::uint32_t n : group) {
    for (const std::uint32_t t : graph.made[n]) {
      const FusionTensor& tensor = graph.tensors[t];
      if (!tensor.is_output && std::all_of(tensor.readers.begin(), tensor.readers.end(), is_inside)) continue;
      out.out += tensor.bytes;
      out.rows += tensor.row_bytes;
    }
    for (const std::uint32_t t : graph.read[n]) {
      const FusionTensor& tensor = graph.tensors[t];
      const bool is_made = tensor.producer != FusionTensor::kNobody && is_inside(tensor.producer);
      if (is_made || std::find(read.begin(), read.end(), t) != read.end()) continue;
      read.push_back(t);
      out.in += tensor.bytes;
      out.rows += tensor.row_bytes;
    }
  }
  return out;
}

FusionCandidates fusion_candidates(const FusionGraph& graph, const plan::Chip& chip, const FusionRules& rules,
                                   const CandidateOptions& options) {
  const Rules judge(graph, chip, rules);
  return Enumeration(graph, judge, options).run();
}

GroupJudge group_judge(const FusionGraph& graph, const plan::Chip& chip, const FusionRules& rules) {
  return [judge = std::make_shared<const Rules>(graph, chip, rules)](const std::vector<std::uint32_t>& group) {
    return judge->broken(group);
  };
}

}  // namespace monet::search
