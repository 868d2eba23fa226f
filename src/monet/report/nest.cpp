#include "monet/report/nest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "monet/report/table.h"

namespace monet {
namespace {

using cost::Mapped;
using hardware::Core;
using hardware::Direction;

const std::string& memory_name(const Mapped& m, const Core& core, std::size_t operand, std::size_t level) {
  return core.memories[m.problem.operands[operand].memory[level]].name;
}

// The level whose loops loop `i` of the order is one of.
std::size_t level_of(const Mapped& m, std::size_t operand, std::size_t i) {
  std::size_t level = 0;
  while (level + 1 < m.problem.operands[operand].memories && m.evaluation.cuts[operand][level] <= i) ++level;
  return level;
}

struct DrawnLoop {
  std::uint32_t dimension = 0;
  double factor = 1;
  std::vector<std::size_t> levels{};  // per operand
};

// Outermost first.
std::vector<DrawnLoop> drawn_loops(const Mapped& m) {
  std::vector<DrawnLoop> out;
  for (std::size_t i = m.order.size(); i-- > 0;) {
    DrawnLoop loop{.dimension = m.order[i].dimension, .factor = m.order[i].factor};
    for (std::size_t o = 0; o < m.layer.operands.size(); ++o) loop.levels.push_back(level_of(m, o, i));
    if (loop.factor == 1) continue;
    if (!out.empty() && out.back().dimension == loop.dimension && out.back().levels == loop.levels)
      out.back().factor *= loop.factor;
    else
      out.push_back(std::move(loop));
  }
  return out;
}

std::string spatial_text(const Mapped& m, const Core& core) {
  std::vector<std::string> parts;
  for (std::size_t a = 0; a < m.spatial.size(); ++a)
    for (const cost::SpatialLoop& loop : m.spatial[a])
      if (loop.factor > 1)
        parts.push_back(fmt::format("{} {} on {}", m.layer.dimensions[loop.dimension].name, loop.factor,
                                    core.array->dimensions[a].name));
  return parts.empty() ? "on one lane" : fmt::format("in parallel {}", fmt::join(parts, ", "));
}

}  // namespace

std::string quantity(double value) {
  if (!(std::abs(value) < 1e18)) return fmt::format("{:.4g}", value);
  const double magnitude = std::abs(value);
  const std::string sign = value < 0 ? "-" : "";
  if (magnitude == std::floor(magnitude)) return sign + grouped(static_cast<std::uint64_t>(magnitude));
  if (magnitude < 10) return fmt::format("{:.3g}", value);
  const double tenths = std::round(magnitude * 10);
  return fmt::format("{}{}.{}", sign, grouped(static_cast<std::uint64_t>(tenths / 10)),
                     static_cast<int>(std::fmod(tenths, 10)));
}

std::string energy_text(double pj) {
  constexpr std::array<const char*, 5> kUnits{"pJ", "nJ", "uJ", "mJ", "J"};
  std::size_t unit = 0;
  while (std::abs(pj) >= 999.95 && unit + 1 < kUnits.size()) pj /= 1000, ++unit;
  return fmt::format("{:.4g} {}", pj, kUnits[unit]);
}

std::string size_text(double bits) {
  constexpr std::array<const char*, 5> kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  double value = bits / 8;
  if (value < 8) return fmt::format("{:g} bits", bits);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) value /= 1024, ++unit;
  return fmt::format("{:.4g} {}", value, kUnits[unit]);
}

double moved_bits(const Mapped& m, std::size_t operand, std::size_t level, Direction direction) {
  const cost::Flow& f = m.evaluation.levels[operand][level].flows[static_cast<std::size_t>(direction)];
  if (!m.problem.quirks.uniform_tiles) return f.moved * f.bits;
  return f.elements * f.bits * f.periods * m.problem.operands[operand].fractional.instances[level + 1];
}

std::string flow_text(const Mapped& m, const Core& core, std::size_t operand, std::size_t level, Direction direction) {
  const std::string below = level == 0 ? "the array" : memory_name(m, core, operand, level - 1);
  const std::string above =
      level + 1 < m.problem.operands[operand].memories ? memory_name(m, core, operand, level + 1) : "above";
  switch (direction) {
    case Direction::ReadToLow: return "read for " + below;
    case Direction::WriteFromLow: return "written by " + below;
    case Direction::ReadToHigh: return "read for " + above;
    case Direction::WriteFromHigh: return "filled from " + above;
  }
  return "";
}

double second_buffer_bits(const Mapped& m, const cost::MemoryLevel& level) {
  return m.problem.quirks.ordered_buffering ? level.spare_bits : level.tile_bits;
}

std::string draw_nest(const Mapped& m, const Core& core, const std::string& indent) {
  const std::size_t operands = m.layer.operands.size();
  std::vector<std::string> header{"loops, outermost first"};
  for (const cost::Operand& operand : m.layer.operands) header.push_back(operand.name + " is in");
  Table table(header);
  std::vector<std::size_t> shown;  // per operand: memories above this one are drawn
  for (std::size_t o = 0; o < operands; ++o) shown.push_back(m.problem.operands[o].memories);
  const auto cells = [&](const std::vector<std::size_t>& levels) {
    std::vector<std::string> out;
    for (std::size_t o = 0; o < operands; ++o) {
      std::vector<std::string> names;
      while (shown[o] > levels[o]) names.push_back(memory_name(m, core, o, --shown[o]));
      out.push_back(names.empty() ? "|" : fmt::format("{}", fmt::join(names, " > ")));
    }
    return out;
  };
  const auto row = [&](std::string loop, const std::vector<std::size_t>& levels) {
    std::vector<std::string> line{std::move(loop)};
    for (std::string& cell : cells(levels)) line.push_back(std::move(cell));
    table.row(std::move(line));
  };
  const std::vector<DrawnLoop> loops = drawn_loops(m);
  std::string deeper;
  for (const DrawnLoop& loop : loops) {
    row(fmt::format("{}for {} {:g}", deeper, m.layer.dimensions[loop.dimension].name, loop.factor), loop.levels);
    deeper += " ";
  }
  row(deeper + spatial_text(m, core), std::vector<std::size_t>(operands, 0));
  return table.text(indent);
}

std::string draw_memories(const Mapped& m, const Core& core, const std::string& indent) {
  Table table({"memory", "size", "instances", "operand", "tile (elements x bits)", "buffers", "full"});
  for (std::size_t i = core.memories.size(); i-- > 0;) {
    const cost::MemoryProblem& memory = m.problem.memories[i];
    double used = 0;
    for (std::size_t k = 0; k < memory.operands.size(); ++k) {
      const cost::MemoryLevel& level = m.evaluation.levels[memory.operands[k]][memory.level[k]];
      used += level.tile_bits + (level.is_double_buffered ? second_buffer_bits(m, level) : 0);
    }
    for (std::size_t k = 0; k < memory.operands.size(); ++k) {
      const std::size_t o = memory.operands[k], l = memory.level[k];
      const cost::MemoryLevel& level = m.evaluation.levels[o][l];
      const cost::OperandProblem& operand = m.problem.operands[o];
      // Sums that are not complete are wider.
      double bits = operand.bits;
      for (const Direction d : {Direction::ReadToHigh, Direction::WriteFromLow})
        if (operand.is_output) bits = std::max(bits, level.flows[static_cast<std::size_t>(d)].bits);
      const double elements = bits > 0 ? level.tile_bits / bits : 0;
      const bool whole = elements == std::floor(elements);
      table.row({k == 0 ? core.memories[i].name : "", k == 0 ? size_text(memory.size_bits) : "",
                 k == 0 ? quantity(operand.integer.instances[l + 1]) : "", m.layer.operands[o].name,
                 fmt::format("{} x {:g}", quantity(whole ? elements : level.tile_bits / operand.bits),
                             whole ? bits : operand.bits),
                 level.is_double_buffered ? "2" : "1",
                 k == 0 ? fmt::format("{:.3g} %", 100 * used / memory.size_bits) : ""});
    }
  }
  return table.text(indent);
}

}  // namespace monet
