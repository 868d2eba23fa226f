#include "monet/verbs/mapping_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "monet/base/diagnostic.h"
#include "monet/base/nearest.h"
#include "monet/verbs/refuse.h"

namespace monet {
namespace {

std::vector<std::string> split(const std::string& text, std::string_view separators) {
  std::vector<std::string> parts;
  std::string part;
  for (const char c : text + separators[0]) {
    if (separators.find(c) == std::string_view::npos) {
      part += c;
    } else if (!part.empty()) {
      parts.push_back(part);
      part.clear();
    }
  }
  return parts;
}

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t"), last = text.find_last_not_of(" \t");
  return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

std::vector<std::string> dimension_names(const cost::Layer& layer) {
  std::vector<std::string> names;
  for (const work::Dimension& d : layer.dimensions) names.push_back(d.name);
  return names;
}

struct AskedLoop {
  std::string dimension{};
  std::optional<std::int64_t> factor{};
};

// "K32", "K=32", "K*": the longest name of a dimension that leaves a factor.
AskedLoop parse_loop(const std::string& flag, const std::string& text, const cost::Layer& layer, bool open) {
  const std::vector<std::string> names = dimension_names(layer);
  std::optional<AskedLoop> best;
  for (const std::string& name : names) {
    if (!text.starts_with(name) || (best && best->dimension.size() >= name.size())) continue;
    std::string rest = text.substr(name.size());
    if (rest.starts_with("=")) rest.erase(0, 1);
    std::int64_t factor = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), factor);
    if (error == std::errc{} && end == rest.data() + rest.size() && factor >= 1)
      best = AskedLoop{name, factor};
    else if (open && rest == "*")
      best = AskedLoop{name, std::nullopt};
  }
  if (best) return *best;
  const std::string word = text.substr(0, text.find_first_of("0123456789=*"));
  refuse(
      flag, fmt::format("'{}' is no loop of this layer", text.substr(0, 40)),
      did_you_mean(word, names, fmt::format("its dimensions are {}; a loop is {}2", fmt::join(names, ", "), names[0])));
}

}  // namespace

cost::Quirks parse_quirks(const std::string& text) {
  cost::Quirks quirks;
  std::vector<std::string> known{"zigzag"};
  for (const auto& quirk : cost::kQuirkNames) known.emplace_back(quirk.first);
  for (std::string word : split(text, ", ")) {
    const bool on = !word.starts_with("-");
    if (!on) word.erase(0, 1);
    std::replace(word.begin(), word.end(), '_', '-');
    if (word == "zigzag") {
      quirks = on ? cost::kZigzagQuirks : cost::Quirks{};
      continue;
    }
    const auto* quirk = std::find_if(cost::kQuirkNames.begin(), cost::kQuirkNames.end(),
                                     [&](const auto& each) { return each.first == word; });
    if (quirk == cost::kQuirkNames.end())
      refuse("--quirks", fmt::format("unknown quirk '{}'", word.substr(0, 40)),
             did_you_mean(word, known, fmt::format("known: {}", fmt::join(known, ", "))));
    quirks.*(quirk->second) = on;
  }
  return quirks;
}

cost::Criterion parse_criterion(const std::string& text) {
  if (text == "latency") return cost::Criterion::Latency;
  if (text == "energy") return cost::Criterion::Energy;
  if (text == "edp") return cost::Criterion::Edp;
  const std::vector<std::string> known{"latency", "energy", "edp"};
  refuse("--criterion", fmt::format("unknown value '{}'", text.substr(0, 40)),
         did_you_mean(text, known, "known: latency, energy, edp"));
}

std::vector<cost::LoopPattern> parse_order(const std::string& text, const cost::Layer& layer) {
  std::vector<cost::LoopPattern> order;
  for (const std::string& word : split(text, " ,")) {
    if (word == "*") {
      order.push_back({});
      continue;
    }
    const AskedLoop loop = parse_loop("--order", word, layer, true);
    order.push_back({.dimension = loop.dimension, .factor = loop.factor});
  }
  return order;
}

cost::Named<std::vector<hardware::Unrolling>> parse_spatial(const std::string& text, const cost::Layer& layer,
                                                            const hardware::Core& core) {
  cost::Named<std::vector<hardware::Unrolling>> spatial;
  std::vector<std::string> known;
  if (core.array)
    for (const hardware::ArrayDimension& a : core.array->dimensions) known.push_back(a.name);
  for (const std::string& word : split(text, " ")) {
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    if (std::find(known.begin(), known.end(), name) == known.end())
      refuse("--spatial", fmt::format("core '{}' has no array dimension '{}'", core.name, name.substr(0, 40)),
             did_you_mean(name, known, fmt::format("it has {}", fmt::join(known, ", "))));
    if (equals == std::string::npos)
      refuse("--spatial", fmt::format("'{}' is not DIMENSION=LOOPS", word.substr(0, 40)), "such as D1=K32");
    std::vector<hardware::Unrolling> loops;
    for (const std::string& item : split(word.substr(equals + 1), ",")) {
      const AskedLoop loop = parse_loop("--spatial", item, layer, false);
      loops.push_back({.dimension = loop.dimension, .factor = *loop.factor});
    }
    const std::string asked = word.substr(equals + 1);
    for (const auto& [other, others] : spatial)
      if (other == name)
        refuse("--spatial", fmt::format("'{}' is given twice", name),
               fmt::format("its loops stand together: {}={}{},{}", name, others.front().dimension,
                           others.front().factor, asked.substr(0, 40)));
    double lanes = 1;
    for (const hardware::Unrolling& loop : loops) lanes *= static_cast<double>(loop.factor);
    const auto at = static_cast<std::size_t>(std::find(known.begin(), known.end(), name) - known.begin());
    if (const std::int64_t size = core.array->dimensions[at].size; lanes > static_cast<double>(size))
      refuse("--spatial",
             fmt::format("{}={} takes {:.0f} lanes, and {} has {}", name, asked.substr(0, 40), lanes, name, size));
    spatial.emplace_back(name, std::move(loops));
  }
  return spatial;
}

std::vector<cost::Placement> parse_placements(const std::string& text, const cost::Layer& layer,
                                              const hardware::Core& core) {
  std::vector<cost::Placement> placements;
  std::vector<std::string> operands, memories;
  for (const cost::Operand& operand : layer.operands) operands.push_back(operand.name);
  for (const hardware::Memory& memory : core.memories) memories.push_back(memory.name);
  for (const std::string& part : split(text, ";")) {
    const std::string item = trimmed(part);
    if (item.empty()) continue;
    const std::size_t at = item.find('@'), equals = item.find('=');
    if (at == std::string::npos || equals == std::string::npos || equals < at)
      refuse("--placement", fmt::format("'{}' is not OPERAND@MEMORY=LOOPS", item.substr(0, 60)), "such as W@rf=K2 C3");
    cost::Placement placement{.operand = trimmed(item.substr(0, at)),
                              .memory = trimmed(item.substr(at + 1, equals - at - 1))};
    if (std::find(operands.begin(), operands.end(), placement.operand) == operands.end())
      refuse("--placement", fmt::format("the layer has no operand '{}'", placement.operand.substr(0, 40)),
             did_you_mean(placement.operand, operands, fmt::format("it has {}", fmt::join(operands, ", "))));
    if (std::find(memories.begin(), memories.end(), placement.memory) == memories.end())
      refuse("--placement", fmt::format("core '{}' has no memory '{}'", core.name, placement.memory.substr(0, 40)),
             did_you_mean(placement.memory, memories, fmt::format("it has {}", fmt::join(memories, ", "))));
    for (const std::string& word : split(item.substr(equals + 1), " ,")) {
      const AskedLoop loop = parse_loop("--placement", word, layer, false);
      placement.loops.push_back({.dimension = loop.dimension, .factor = *loop.factor});
    }
    placements.push_back(std::move(placement));
  }
  return placements;
}

}  // namespace monet
