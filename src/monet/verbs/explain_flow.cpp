#include "monet/verbs/explain_flow.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "monet/base/config_number.h"
#include "monet/cost/tiles.h"
#include "monet/report/nest.h"
#include "monet/report/table.h"

namespace monet {
namespace {

using cost::Mapped;
using hardware::Direction;

// The loops inside one side of a memory: as many as are merged below it; the array's inputs stay for the irrelevant
// ones that come first.
std::size_t loops_inside(const Mapped& m, std::size_t o, std::size_t l) {
  const cost::OperandProblem& operand = m.problem.operands[o];
  if (l > 0) return m.evaluation.merged_cuts[o][l - 1];
  std::size_t i = 0;
  while (!operand.is_output && i < m.evaluation.merged_cuts[o][0] &&
         operand.relevance[m.order[i].dimension] == cost::Relevance::None)
    ++i;
  return i;
}

struct Side {
  cost::Extents inside{}, all{};
  double returns = 1;
  std::vector<std::string> returning{};  // the loops
};

Side side_of(const Mapped& m, std::size_t o, std::size_t l) {
  Side side;
  side.inside.fill(1);
  side.all.fill(1);
  const std::size_t inside = loops_inside(m, o, l);
  for (std::size_t i = 0; i < m.order.size(); ++i) {
    const cost::TemporalLoop& loop = m.order[i];
    side.all[loop.dimension] *= loop.factor;
    if (i < inside) {
      side.inside[loop.dimension] *= loop.factor;
    } else if (m.problem.operands[o].relevance[loop.dimension] == cost::Relevance::None) {
      side.returns *= loop.factor;
      if (loop.factor > 1)
        side.returning.push_back(
            fmt::format("{} {}", m.layer.dimensions[loop.dimension].name, exact_number(loop.factor)));
    }
  }
  return side;
}

// (1): the largest tile, with the temporal loops inside and the spatial ones below.
void explain_tile(const Mapped& m, std::size_t o, std::size_t l, std::vector<ExplainedLine>& lines) {
  const cost::OperandProblem& operand = m.problem.operands[o];
  const Side side = side_of(m, o, l + 1);
  const cost::Extents& spatial = operand.integer.extent[l + 1];
  std::vector<std::string> factors, names;
  for (const std::size_t d : operand.relevant) {
    if (m.problem.size[d] <= 1) continue;
    factors.push_back(exact_number(std::min(m.problem.size[d], side.inside[d] * spatial[d])));
    names.push_back(m.layer.dimensions[d].name);
  }
  for (const cost::Relation& r : operand.relations) {
    const double a = std::min(m.problem.size[r.a], side.inside[r.a] * spatial[r.a]),
                 b = std::min(m.problem.size[r.b], side.inside[r.b] * spatial[r.b]);
    factors.push_back(exact_number(cost::distinct(r, a, b)));
    names.push_back(fmt::format("window of {} {} and {} {}", exact_number(a), m.layer.dimensions[r.a].name,
                                exact_number(b), m.layer.dimensions[r.b].name));
  }
  if (factors.empty()) factors.push_back("1");
  double product = cost::count_tiles(m.problem, operand, side.inside, l + 1, 1, 1).largest;
  if (m.problem.quirks.uniform_tiles) return;
  lines.push_back({1, "tile, elements", fmt::format("{}", fmt::join(factors, " x ")), product,
                   names.empty() ? "one" : fmt::format("{}", fmt::join(names, ", "))});
  const double bits = m.evaluation.levels[o][l].tile_bits;
  if (product > 0)
    lines.push_back({2, "tile, bits", fmt::format("{} x {}", exact_number(product), exact_number(bits / product)), bits,
                     m.evaluation.levels[o][l].is_double_buffered ? "in each of two buffers" : "in one buffer"});
}

// (4) and (5): words of one flow of the default model.
void explain_words(const Mapped& m, std::size_t o, std::size_t l, Direction d, const std::string& name,
                   std::vector<ExplainedLine>& lines) {
  const cost::OperandProblem& operand = m.problem.operands[o];
  const cost::Flow& f = m.evaluation.levels[o][l].flows[static_cast<std::size_t>(d)];
  const cost::PortRef& port = operand.ports[l][static_cast<std::size_t>(d)];
  if (m.problem.quirks.uniform_tiles) {
    const double granules = std::ceil(f.elements * f.bits / port.min_bits);
    const double words = granules * (port.min_bits / port.max_bits) * f.periods * operand.fractional.instances[l + 1];
    const bool is_whole = m.problem.is_integral && std::floor(words) == f.words;
    lines.push_back({5, name + ", words",
                     is_whole ? fmt::format("floor({} x {} / {} x {} x {})", exact_number(granules),
                                            exact_number(port.min_bits), exact_number(port.max_bits),
                                            exact_number(f.periods), exact_number(operand.fractional.instances[l + 1]))
                              : "",
                     f.words, "parts of words a transfer x part of a word x transfers x instances (uniform_tiles)"});
    return;
  }
  const bool low = d == Direction::ReadToLow || d == Direction::WriteFromLow;
  const Side side = side_of(m, o, low ? l : l + 1);
  const cost::TileCount tiles = cost::count_tiles(m.problem, operand, side.inside, l + 1, f.bits, port.min_bits);
  const double copies = operand.integer.copies[l + 1];
  std::string terms =
      fmt::format("{} x {} x {}", exact_number(tiles.granules), exact_number(side.returns), exact_number(copies));
  const bool reads_sums = operand.is_output && (d == Direction::ReadToLow || d == Direction::WriteFromHigh);
  std::string remark = fmt::format("parts of words in all tiles x returns{} x instances that hold the same",
                                   side.returning.empty() ? "" : fmt::format(" ({})", fmt::join(side.returning, ", ")));
  if (reads_sums && !m.problem.starts_from_stored) {
    const cost::TileCount once = operand.relations.empty()
                                     ? tiles
                                     : cost::count_tiles(m.problem, operand, side.all, l + 1, f.bits, port.min_bits);
    const double first = tiles.elements > 0 ? tiles.granules * once.elements / tiles.elements * copies : 0;
    terms = fmt::format("({} - {})", terms, exact_number(first));
    remark += ", less the first time, when there is nothing to read back";
  }
  lines.push_back({5, name + ", words",
                   fmt::format("{} x {} / {}", terms, exact_number(port.min_bits), exact_number(port.max_bits)),
                   f.words, remark});
}

}  // namespace

std::string exact_number(double value) {
  if (std::abs(value) < 1e15 && value == std::floor(value)) return quantity(value);
  return config::shortest(value);
}

std::string port_name(const Mapped& m, const hardware::Core& core, std::size_t port) {
  const cost::PortProblem& p = m.problem.ports[port];
  return fmt::format("port '{}' of {}", core.memories[p.memory].ports[p.port].name, core.memories[p.memory].name);
}

double busy_cycles(const Mapped& m, std::size_t port) {
  double busy = 0;
  for (const cost::PortUser& user : m.problem.ports[port].users) {
    const cost::Flow& f = m.evaluation.levels[user.operand][user.level].flows[user.direction];
    if (f.periods > 0) busy += m.problem.quirks.uniform_tiles ? f.busy * f.periods : f.cycles;
  }
  return busy;
}

void explain_level(const Mapped& m, const hardware::Core& core, const ChipInputs& inputs, std::size_t o, std::size_t l,
                   bool brief, std::vector<ExplainedLine>& lines) {
  const cost::OperandProblem& operand = m.problem.operands[o];
  const std::size_t index = operand.memory[l];
  const std::string where = fmt::format("{}@{}", m.layer.operands[o].name, core.memories[index].name);
  lines.push_back({0, where, "", 0, ""});
  if (!brief) explain_tile(m, o, l, lines);
  const cost::MemoryProblem& memory = m.problem.memories[index];
  for (const Direction d : hardware::kDirections) {
    const cost::Flow& f = m.evaluation.levels[o][l].flows[static_cast<std::size_t>(d)];
    if (f.periods == 0) continue;
    const std::string name = flow_text(m, core, o, l, d);
    explain_words(m, o, l, d, name, lines);
    const cost::PortRef& port = operand.ports[l][static_cast<std::size_t>(d)];
    lines.back().inputs = {inputs.width(m.problem, port.port)};
    if (brief) continue;
    lines.push_back(
        {6,
         name + ", pJ",
         fmt::format("{} x {}", exact_number(f.words), exact_number(is_read(d) ? memory.read_pj : memory.write_pj)),
         f.words * (is_read(d) ? memory.read_pj : memory.write_pj),
         "words x pJ of one",
         {is_read(d) ? inputs.read_energy(index) : inputs.write_energy(index)}});
    lines.push_back(
        {11,
         name + ", cycles",
         fmt::format("ceil({} x {} / {})", exact_number(f.elements), exact_number(f.bits), exact_number(port.max_bits)),
         f.busy,
         fmt::format("elements x bits / bits a cycle of {}; every {} steps, {} times", port_name(m, core, port.port),
                     exact_number(f.period), exact_number(f.periods)),
         {inputs.width(m.problem, port.port)}});
  }
}

}  // namespace monet
