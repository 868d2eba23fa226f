#include "monet/verbs/fusemax_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <tuple>

#include "monet/base/config_section.h"
#include "monet/base/nearest.h"
#include "monet/plan/lanes.h"
#include "monet/schedule/evaluation.h"
#include "monet/verbs/comparison.h"
#include "monet/verbs/evaluate.h"
#include "monet/verbs/hardware.h"

namespace monet {
namespace {

constexpr double kFusemaxTolerance = 0.05;
constexpr std::int64_t kLongest = 65536;      // beyond it a head alone is ten million tiles
constexpr std::int64_t kManyTiles = 100'000;  // of a head: then one is evaluated, else the second and third
constexpr std::int64_t kTokens = 8192;        // of products: these, and twice as many
constexpr std::int64_t kMiB = std::int64_t{1} << 20;
constexpr std::array<const char*, 5> kColumns{"latency", "traffic", "energy", "util_2d", "util_1d"};

enum class Design { Binding, Architecture, Cascade, Flat, Unfused, Products };
struct Setup {
  const char* table = "";
  Design design = Design::Binding;
  const char* chip = "";
  std::int64_t buffer_mib = 16;
};
constexpr std::array<Setup, 7> kSetups{{{"attn-binding", Design::Binding, "fusemax", 16},
                                        {"attn-arch", Design::Architecture, "fusemax", 16},
                                        {"attn-cascade", Design::Cascade, "flat", 16},
                                        {"attn-flat", Design::Flat, "flat", 32},
                                        {"attn-unfused", Design::Unfused, "flat", 32},
                                        {"end2end-proposal", Design::Products, "fusemax", 16},
                                        {"end2end-flat", Design::Products, "flat", 32}}};

const Setup* setup_of(const std::string& table) {
  const auto at = std::find_if(kSetups.begin(), kSetups.end(), [&](const Setup& s) { return table == s.table; });
  return at == kSetups.end() ? nullptr : &*at;
}

// "16K", "1M"
std::optional<std::int64_t> length_of(const std::string& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (error != std::errc() || number < 1 || number > 1'000'000) return std::nullopt;
  if (unit.empty()) return number;
  if (unit == "K") return number * 1024;
  if (unit == "M") return number * 1024 * 1024;
  return std::nullopt;
}

// ---- Evaluations ----

FusemaxWork attention_work(const Setup& setup, std::int64_t heads, std::int64_t length, std::int64_t head_size) {
  if (setup.design == Design::Flat || setup.design == Design::Unfused) {
    RowsShape shape{.heads = heads, .length = length, .head_size = head_size, .is_fused = setup.design == Design::Flat};
    // Scores, exponentials, shares, and those of the rows before and after, with a quarter left for what else is read;
    // and so many tiles that the first and the last one of a head, which have no neighbours, hardly count.
    while (shape.rows > 1 && (6 * shape.rows * length * 2 > setup.buffer_mib * kMiB / 4 * 3 || shape.rows * 8 > length))
      shape.rows /= 2;
    return rows_work(shape);
  }
  CascadeShape shape{
      .heads = heads, .length = length, .head_size = head_size, .on_array = setup.design != Design::Cascade};
  shape.row_blocks = row_blocks_of(shape, setup.buffer_mib * kMiB);
  return cascade_work(shape);
}

class Runner {
 public:
  Runner(const Setup& setup, const FusemaxData& data, cost::Cache& cache) : setup_(setup), data_(data), cache_(cache) {}

  FusemaxFigures figures(const FusemaxModel& model, std::int64_t length) {
    if (setup_.design == Design::Products) return products(model, length);
    const double all = static_cast<double>(data_.batch * model.heads);
    const auto [few, more] = heads(length);
    const auto key = std::tuple{length, model.head_size};
    if (!known_.contains(key)) {
      Pair pair{.few = attention(few, length, model.head_size)};
      if (more > few) pair.more = attention(more, length, model.head_size);
      known_.emplace(key, pair);
    }
    const Pair& pair = known_.at(key);
    return more > few ? extrapolated(pair.few, static_cast<double>(few), pair.more, static_cast<double>(more), all)
                      : extrapolated({.clock_hz = pair.few.clock_hz}, 0, pair.few, static_cast<double>(few), all);
  }

 private:
  struct Pair {
    FusemaxFigures few{}, more{};
  };

  // Of how many heads: the second and the third are like all that follow. Where scores leave the chip, the last ones
  // made are still on it when a softmax begins, and it takes some heads until each is like the one before.
  std::pair<std::int64_t, std::int64_t> heads(std::int64_t length) const {
    const std::int64_t scores = 2 * length * length;
    if (setup_.design == Design::Unfused) {
      const std::int64_t full = (setup_.buffer_mib * kMiB + scores - 1) / scores;
      return scores > 512 * kMiB ? std::pair<std::int64_t, std::int64_t>{1, 1} : std::pair{6 * full, 8 * full};
    }
    const std::int64_t tiles = length / 256 * (length / 256) * 11;
    return setup_.design != Design::Flat && tiles > kManyTiles ? std::pair<std::int64_t, std::int64_t>{1, 1}
                                                               : std::pair<std::int64_t, std::int64_t>{2, 3};
  }

  FusemaxFigures attention(std::int64_t heads, std::int64_t length, std::int64_t head_size) {
    return evaluate_fusemax(attention_work(setup_, heads, length, head_size), setup_.chip, setup_.buffer_mib, cache_);
  }

  FusemaxFigures products(const FusemaxModel& model, std::int64_t length) {
    const auto key = std::tuple{model.width, model.hidden};
    const auto run = [&](std::int64_t tokens) {
      return evaluate_fusemax(products_work({.tokens = tokens,
                                             .width = model.width,
                                             .heads_width = model.heads * model.head_size,
                                             .hidden = model.hidden,
                                             .buffer_bytes = setup_.buffer_mib * kMiB}),
                              setup_.chip, setup_.buffer_mib, cache_);
    };
    if (!known_.contains(key)) known_.emplace(key, Pair{run(kTokens), run(2 * kTokens)});
    return extrapolated(known_.at(key).few, kTokens, known_.at(key).more, 2 * kTokens,
                        static_cast<double>(data_.batch * length));
  }

  const Setup& setup_;
  const FusemaxData& data_;
  cost::Cache& cache_;
  std::map<std::tuple<std::int64_t, std::int64_t>, Pair> known_;
};

double column(const FusemaxFigures& f, std::string_view name) {
  if (name == "latency") return f.cycles / f.clock_hz;
  if (name == "traffic") return f.offchip_bytes;
  if (name == "energy") return f.energy_pj;
  return (name == "util_2d" ? f.array_cycles : f.lane_cycles) / f.cycles;
}

// Without interleaving FuseMax waits for the array to fill and drain at every score tile; our arrays do not, and
// nothing keeps our scheduler from going on with the next tile.
bool is_modelled(Design design, std::string_view column) {
  return design != Design::Architecture || column == "traffic" || column == "energy";
}

}  // namespace

FusemaxFigures extrapolated(const FusemaxFigures& few, double few_count, const FusemaxFigures& more, double more_count,
                            double all) {
  const double factor = (all - few_count) / (more_count - few_count);
  const auto line = [&](double a, double b) { return a + (b - a) * factor; };
  return {.cycles = line(few.cycles, more.cycles),
          .clock_hz = more.clock_hz,
          .offchip_bytes = line(few.offchip_bytes, more.offchip_bytes),
          .energy_pj = line(few.energy_pj, more.energy_pj),
          .register_pj = line(few.register_pj, more.register_pj),
          .array_cycles = line(few.array_cycles, more.array_cycles),
          .lane_cycles = line(few.lane_cycles, more.lane_cycles)};
}

FusemaxFigures evaluate_fusemax(const FusemaxWork& work, const std::string& chip_name, std::int64_t buffer_mib,
                                cost::Cache& cache) {
  const hardware::Loaded loaded =
      describe_hardware({.hardware = chip_name, .parameters = {{"buffer_mib", std::to_string(buffer_mib)}}});
  plan::Chip chip = plan::chip_of(loaded.hardware);
  const Storage storage(work.graph);
  const std::vector<plan::Facts> facts = plan::facts_of(work.graph);
  const plan::Decided decided = plan::decide(work.graph, facts, chip, work.plan);
  plan::add_lane_stores(chip, decided);
  schedule::CostOptions costs{.cache = &cache};
  costs.map.most_labels = kTileLabels;
  const auto outcome = schedule::evaluate({.graph = work.graph,
                                           .storage = storage,
                                           .facts = facts,
                                           .chip = chip,
                                           .hardware = loaded.hardware,
                                           .decided = decided,
                                           .costs = costs});
  if (const auto* none = std::get_if<schedule::Infeasible>(&outcome))
    throw InputError(Diagnostic{.where = chip_name, .message = none->reason});
  const auto& e = std::get<schedule::Evaluation>(outcome);
  FusemaxFigures out{.cycles = e.latency, .clock_hz = e.clock_hz};
  out.offchip_bytes = e.stores[chip.machine.home.index()].bytes_in + e.stores[chip.machine.home.index()].bytes_out;
  out.energy_pj = e.energy.compute + e.energy.link + e.energy.offchip;
  for (const auto& [level, pj] : e.energy.memory) (level == "buffer" ? out.energy_pj : out.register_pj) += pj;
  for (std::size_t i = 0; i < e.tiled.tiles.size(); ++i) {
    const schedule::TileKind& kind = e.tiled.kinds[e.tiled.tiles[i].kind];
    const plan::CoreOnChip& core = chip.cores[e.tiled.tiles[i].core];
    plan::Facts nest;
    nest.is_nest = true;
    if (!core.core.array)
      out.lane_cycles += kind.cost.cycles;
    else
      out.array_cycles += kind.cost.macs > 0 ? kind.cost.macs / lanes(core, nest) : kind.cost.cycles;
  }
  return out;
}

FusemaxData read_fusemax(const config::Value& root, config::Findings& findings) {
  using config::Dialect;
  config::Section file(root, "the file", Dialect::Strict, findings);
  FusemaxData data;
  const config::IntegerRange size{.least = 1, .most = 1'000'000};
  file.text("source");
  file.find("units");
  data.batch = file.require_integer("batch", size).value_or(1);
  if (const auto models = file.require("models"); models && models->is_map())
    for (std::size_t i = 0; i < models->size(); ++i) {
      config::Section s((*models)[i], "a model", Dialect::Strict, findings);
      FusemaxModel& model = data.models[std::string(models->key(i).text())];
      model.width = s.require_integer("width", size).value_or(1);
      model.head_size = s.require_integer("head_size", size).value_or(1);
      model.heads = s.require_integer("heads", size).value_or(1);
      model.hidden = s.require_integer("hidden", size).value_or(1);
      s.finish();
    }
  if (const auto tables = file.require("tables"); tables && tables->is_map())
    for (std::size_t i = 0; i < tables->size(); ++i) {
      FusemaxTable& table = data.tables.emplace_back();
      table.name = tables->key(i).text();
      for (std::size_t k = 0; (*tables)[i].is_sequence() && k < (*tables)[i].size(); ++k) {
        config::Section s((*tables)[i][k], "a row", Dialect::Strict, findings);
        FusemaxCase row{.model = s.require_text("model").value_or(""),
                        .length = s.require_text("seq_len").value_or("")};
        for (const char* name : kColumns)
          if (const auto value = s.number(name, {})) row.figures[name] = *value;
        s.finish();
        table.cases.push_back(std::move(row));
      }
    }
  file.finish();
  return data;
}

std::vector<ValidationSuite> run_fusemax(const FusemaxTable& table, const FusemaxData& data, cost::Cache& cache) {
  const Setup* setup = setup_of(table.name);
  if (setup == nullptr)
    return {{.name = table.name,
             .skipped = {{.id = table.name, .reason = "a table that is not modelled", .matters = false}}}};
  Runner runner(*setup, data, cache);
  std::vector<ValidationSuite> suites;
  for (const char* name : kColumns) suites.push_back({.name = fmt::format("{} {}", table.name, name)});
  for (const FusemaxCase& c : table.cases) {
    const std::string id = fmt::format("{} {}", c.model, c.length);
    const auto model = data.models.find(c.model);
    const std::optional<std::int64_t> length = length_of(c.length);
    const bool fits = length && *length <= kLongest && *length % 256 == 0;
    if (model == data.models.end() || !fits) {
      suites[0].skipped.push_back(
          {.id = id,
           .reason = model == data.models.end() ? "no such model" : "not a multiple of 256, or longer than 64K",
           .matters = false});
      continue;
    }
    const FusemaxFigures ours = runner.figures(model->second, *length);
    for (std::size_t k = 0; k < kColumns.size(); ++k) {
      const auto theirs = c.figures.find(kColumns[k]);
      if (theirs == c.figures.end() || !is_modelled(setup->design, kColumns[k])) continue;
      Comparison row(id);
      row.compare(kColumns[k], column(ours, kColumns[k]), theirs->second, kFusemaxTolerance);
      suites[k].rows.push_back(row.finish(kColumns[k]));
    }
  }
  std::erase_if(suites, [](const ValidationSuite& s) { return s.rows.empty() && s.skipped.empty(); });
  return suites;
}

}  // namespace monet
