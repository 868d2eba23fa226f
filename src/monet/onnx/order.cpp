#include "monet/onnx/order.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <queue>
#include <unordered_map>

#include "monet/base/nearest.h"

namespace monet {
namespace {

constexpr std::size_t kSource = static_cast<std::size_t>(-1);  // made by no node
using Origins = std::unordered_map<std::string, std::size_t>;

Origins find_origins(const FlatModel& model, const pb::GraphProto& graph, Findings& findings) {
  Origins origins;
  for (const auto& input : graph.input())
    if (!origins.emplace(input.name(), kSource).second)
      findings.error(fmt::format("input '{}'", input.name()), "the name is given to two inputs");
  std::unordered_set<std::string> initialisers;
  const auto add_initialiser = [&](const std::string& name) {
    if (!initialisers.insert(name).second)
      findings.error(fmt::format("initializer '{}'", name), "the name is given to two initializers");
    origins.emplace(name, kSource);  // an input may have a default value
  };
  for (const auto& tensor : graph.initializer()) add_initialiser(tensor.name());
  for (const auto& tensor : graph.sparse_initializer()) add_initialiser(tensor.values().name());
  for (std::size_t n = 0; n < model.nodes.size() && !findings.enough(); ++n)
    for (const std::string& output : model.nodes[n].proto->output()) {
      if (output.empty()) continue;
      const auto [it, fresh] = origins.emplace(output, n);
      if (fresh) continue;
      const std::string other = it->second == kSource ? "an input or initializer" : model.nodes[it->second].where;
      findings.error(model.nodes[n].where, fmt::format("output '{}' has the name of a value of {}", output, other));
    }
  return origins;
}

std::string nearest_value(const std::string& name, const Origins& origins) {
  std::vector<std::string> names;
  for (const auto& [candidate, origin] : origins) names.push_back(candidate);
  std::sort(names.begin(), names.end());
  constexpr std::size_t kMost = 5000;  // edit distances to more are not worth the wait
  if (names.size() > kMost) names.resize(kMost);
  return did_you_mean(name, names);
}

// The nodes each node waits for.
std::vector<std::vector<std::size_t>> find_needs(const FlatModel& model, const Origins& origins, Findings& findings) {
  std::vector<std::vector<std::size_t>> needs(model.nodes.size());
  for (std::size_t n = 0; n < model.nodes.size(); ++n) {
    const pb::NodeProto& node = *model.nodes[n].proto;
    std::vector<std::string> read(node.input().begin(), node.input().end());
    collect_captures(node, read);
    for (const std::string& name : read) {
      if (name.empty()) continue;
      const auto it = origins.find(name);
      if (it == origins.end()) {
        if (!findings.enough())
          findings.error(model.nodes[n].where, fmt::format("reads '{}', which nothing produces", name),
                         nearest_value(name, origins));
      } else if (it->second != kSource) {
        needs[n].push_back(it->second);
      }
    }
    std::sort(needs[n].begin(), needs[n].end());
    needs[n].erase(std::unique(needs[n].begin(), needs[n].end()), needs[n].end());
  }
  return needs;
}

// Among nodes that all wait for another of them, follow the first need of each until one comes twice.
std::string describe_cycle(const FlatModel& model, const std::vector<std::vector<std::size_t>>& needs,
                           const std::vector<bool>& done) {
  std::size_t n = static_cast<std::size_t>(std::find(done.begin(), done.end(), false) - done.begin());
  std::vector<std::size_t> path;
  while (std::find(path.begin(), path.end(), n) == path.end()) {
    path.push_back(n);
    n = *std::find_if(needs[n].begin(), needs[n].end(), [&](std::size_t m) { return !done[m]; });
  }
  path.erase(path.begin(), std::find(path.begin(), path.end(), n));
  constexpr std::size_t kShown = 6;
  std::vector<std::string> names;
  for (auto it = path.rbegin(); it != path.rend() && names.size() < kShown; ++it)
    names.push_back(model.nodes[*it].name);
  if (path.size() > kShown) names.push_back("…");
  names.push_back(names.front());
  return fmt::format("{}", fmt::join(names, " -> "));
}

}  // namespace

void check_and_sort(FlatModel& model, const pb::GraphProto& graph, Findings& findings) {
  const Origins origins = find_origins(model, graph, findings);
  const auto needs = find_needs(model, origins, findings);
  for (const auto& output : graph.output())
    if (!origins.count(output.name()) && !findings.enough())
      findings.error(fmt::format("output '{}'", output.name()), "nothing produces it",
                     nearest_value(output.name(), origins));
  if (!findings.errors.empty()) return;

  std::vector<std::size_t> waiting(needs.size());
  std::vector<std::vector<std::size_t>> feeds(needs.size());
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t n = 0; n < needs.size(); ++n) {
    waiting[n] = needs[n].size();
    for (const std::size_t m : needs[n]) feeds[m].push_back(n);
    if (waiting[n] == 0) ready.push(n);
  }
  std::vector<FlatNode> sorted;
  std::vector<bool> done(needs.size(), false);
  while (!ready.empty()) {
    const std::size_t n = ready.top();
    ready.pop();
    done[n] = true;
    sorted.push_back(model.nodes[n]);
    for (const std::size_t m : feeds[n])
      if (--waiting[m] == 0) ready.push(m);
  }
  if (sorted.size() < model.nodes.size()) {
    const auto first = static_cast<std::size_t>(std::find(done.begin(), done.end(), false) - done.begin());
    findings.error(model.nodes[first].where,
                   fmt::format("the nodes form a cycle: {}", describe_cycle(model, needs, done)));
    return;
  }
  model.nodes = std::move(sorted);
}

}  // namespace monet
