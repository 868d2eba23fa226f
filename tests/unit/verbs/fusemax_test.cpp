#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "monet/base/diagnostic.h"
#include "monet/interpret/run.h"
#include "monet/verbs/fusemax_cases.h"
#include "monet/verbs/validation_data.h"

namespace monet {
namespace {

// What FuseMax's binding takes by hand, for one head (derived from its mappings and operation counts): on every score
// tile of 256 x 256 the array has E + 1 + 7 + 1 + E cycles of work (scores, maximum, exponential in six multiply-adds
// after a subtraction, sum, values), the lanes 1 + 7 + 1 + E + 1 + E; the maximum of both goes through the lanes in
// between. The last quotient takes E for 256 rows.
double binding_cycles(double length, double e) {
  const double tiles = length / 256 * length / 256;
  return tiles * (e + 1 + 1 + 8 + e) + e * length / 256;
}

FusemaxFigures cascade(std::int64_t heads, std::int64_t length, std::int64_t e, bool on_array = true) {
  static cost::Cache cache;
  CascadeShape shape{.heads = heads, .length = length, .head_size = e, .on_array = on_array};
  shape.row_blocks = row_blocks_of(shape, 16 << 20);
  return evaluate_fusemax(cascade_work(shape), on_array ? "fusemax" : "flat", 16, cache);
}

TEST(Fusemax, ABoundTileTakesAsLongAsItsBusiestArray) {
  for (const std::int64_t e : {64, 128}) {
    const double theirs = binding_cycles(1024, static_cast<double>(e));
    const FusemaxFigures two = cascade(2, 1024, e), three = cascade(3, 1024, e);
    const double a_head = three.cycles - two.cycles;
    EXPECT_NEAR(a_head / theirs, 1, 0.05) << e << ": " << a_head << " and " << theirs;
    // Queries, keys, values and results pass the chip's edge once; the beginnings of running values, a few bytes, once.
    EXPECT_EQ(three.offchip_bytes - two.offchip_bytes, 4. * 1024 * static_cast<double>(e) * 2);
  }
}

TEST(Fusemax, ScoresOnTheLanesTakeAsLongAsTheLanes) {
  // Per score tile 256 cycles each for maximum, subtraction, exponential and sum, and E twice.
  const FusemaxFigures two = cascade(2, 1024, 64, false), three = cascade(3, 1024, 64, false);
  const double theirs = 16 * (4 * 256 + 1 + 2 + 1 + 64 + 1 + 64) + 4 * 64;
  EXPECT_NEAR((three.cycles - two.cycles) / theirs, 1, 0.05);
}

TEST(Fusemax, HeadsAreAllAlike) {
  const FusemaxFigures two = cascade(2, 1024, 64), three = cascade(3, 1024, 64), seven = cascade(7, 1024, 64);
  const FusemaxFigures guessed = extrapolated(two, 2, three, 3, 7);
  EXPECT_NEAR(guessed.cycles, seven.cycles, 1e-3 * seven.cycles);
  EXPECT_NEAR(guessed.offchip_bytes, seven.offchip_bytes, 1e-9 * seven.offchip_bytes);
  EXPECT_NEAR(guessed.energy_pj, seven.energy_pj, 1e-9 * seven.energy_pj);
}

// Scores that leave the chip: the first heads find theirs still there, later ones do not.
TEST(Fusemax, UnfusedHeadsAreAllAlikeInTheEnd) {
  cost::Cache cache;
  const auto unfused = [&](std::int64_t heads) {
    return evaluate_fusemax(rows_work({.heads = heads, .length = 4096, .head_size = 64, .is_fused = false}), "flat", 32,
                            cache);
  };
  const FusemaxFigures two = unfused(2), three = unfused(3), six = unfused(6), eight = unfused(8), twelve = unfused(12);
  const FusemaxFigures guessed = extrapolated(six, 6, eight, 8, 12);
  EXPECT_NEAR(guessed.cycles, twelve.cycles, 1e-3 * twelve.cycles);
  EXPECT_NEAR(guessed.offchip_bytes, twelve.offchip_bytes, 1e-3 * twelve.offchip_bytes);
  EXPECT_NEAR(guessed.energy_pj, twelve.energy_pj, 1e-3 * twelve.energy_pj);
  // Two and three would say that a head is faster than it is.
  EXPECT_LT(extrapolated(two, 2, three, 3, 12).cycles, 0.95 * twelve.cycles);
  // Five passes of the lanes over 4096 x 4096 scores.
  EXPECT_GE((eight.cycles - six.cycles) / 2, 5 * 4096. * 4096 / 256);
}

// The cascade is attention: the same numbers as a softmax of whole rows.
TEST(Fusemax, TheCascadeIsAttention) {
  CascadeShape shape{.length = 32, .head_size = 8, .side = 8, .row_blocks = 2};
  const Graph graph = cascade_work(shape).graph;
  // 12 einsums for 4 blocks of keys and 2 of rows, the last of them once for each block of rows.
  ASSERT_EQ(graph.outputs.size(), 2u);
  EXPECT_EQ(graph.nodes.size(), 2u * (4 * 11 + 1));
  const Values<double> sources = initial_values<double>(graph, 1);
  const Values<double> results = run<double>(graph, sources);
  const auto named = [&](const std::string& name) { return sources.at(name).data; };
  for (std::size_t row = 0; row < 32; ++row) {
    const std::vector<double> q = named(row < 16 ? "h0.r0.Q" : "h0.r1.Q");
    double sum = 0;
    std::vector<double> expected(8, 0);
    for (std::size_t key = 0; key < 32; ++key) {
      const std::vector<double> k = named(fmt::format("h0.k{}.K", key / 8)),
                                v = named(fmt::format("h0.k{}.V", key / 8));
      double score = 0;
      for (std::size_t i = 0; i < 8; ++i) score += q[row % 16 * 8 + i] * k[key % 8 * 8 + i];
      sum += std::exp(score);
      for (std::size_t i = 0; i < 8; ++i) expected[i] += std::exp(score) * v[key % 8 * 8 + i];
    }
    for (std::size_t i = 0; i < 8; ++i)
      EXPECT_NEAR(results.at(graph[graph.outputs[row / 16]].name).data[row % 16 * 8 + i], expected[i] / sum, 1e-9)
          << row;
  }
}

TEST(Fusemax, RowBlocksFillTheBuffer) {
  // 16 MiB hold 256 · (64 + 64 + 1 + 1) · 2 B for each of 251 blocks of rows; 128 of them divide 256.
  EXPECT_EQ(row_blocks_of({.length = 65536, .head_size = 64}, 16 << 20), 128);
  EXPECT_EQ(row_blocks_of({.length = 1024, .head_size = 64}, 16 << 20), 4);
}

TEST(Fusemax, ItsOwnTablesAreRead) {
  const config::Tree tree = config::parse_json(fusemax_validation_data(), "fusemax.json");
  config::Findings findings;
  const FusemaxData data = read_fusemax(tree.root(), findings);
  EXPECT_NO_THROW(findings.throw_if_failed());
  EXPECT_EQ(data.tables.size(), 7u);
  EXPECT_EQ(data.models.at("XLM").head_size, 128);
  EXPECT_EQ(data.tables[0].cases[3].figures.at("traffic"), 38654705664.0);
}

// What docs/fusemax.md says of the artifact's energies, for its own tables: operations and rows of the buffer counted
// from its mappings, energies of its reference tables (pJ), and those of a row, which the tables of products alone
// decide.
struct RowEnergy {
  double read = 0, write = 0;
};
constexpr RowEnergy kRow16{12519, 15751}, kRow32{23861, 27098};
constexpr double kMac = 17.1645, kAdd = 8.3395, kMax = 0.028036, kDivide = 36.251153, kExp = 94.6475, kDram = 249.6 / 8;

double products_energy(const FusemaxModel& m, double tokens, double traffic, RowEnergy row) {
  const double width = static_cast<double>(m.width), hidden = static_cast<double>(m.hidden);
  const double heads = static_cast<double>(m.heads * m.head_size);
  const double macs = tokens * (4 * width * heads + 2 * width * hidden);
  const double results = tokens * (3 * heads + 2 * width + hidden);
  return macs * kMac + 2 * macs / 65536 * row.read + (traffic / 2 - results) / 256 * row.write + traffic * kDram;
}

double attention_energy(const std::string& table, const FusemaxModel& m, double length, double scores, double traffic) {
  const double e = static_cast<double>(m.head_size), part = e / 256, once = e / length;
  double pj = 2 * e * kMac + kMax + 2 * kAdd, reads = 0, writes = 0;  // of a score
  RowEnergy row = kRow32;
  if (table == "attn-flat" || table == "attn-unfused") {
    pj += kExp + kDivide;
    if (table == "attn-unfused") {
      reads = 3 + 4 * part;
      writes = 2 + part + 2 * once;
    } else {
      const bool one_stays = e == 128;  // XLM: queries or values
      reads = 4 + (one_stays ? part : 0) + (length == 65536 ? 1 : 0);
      writes = 3 + (one_stays ? once : 0);
    }
  } else {
    pj += (e * (kMac + kAdd) + kMac + 2 * kAdd) / 256 + once * kDivide;  // running values; no exponential on the lanes
    reads = 4 * part + once;
    writes = part + traffic / 2 / scores - once;
    if (table == "attn-cascade") {
      reads += 2;
      writes += 2;
    } else {
      pj += 6 * kMac * (1 + 1. / 256);
      row = kRow16;
    }
  }
  return scores * (pj + (reads * row.read + writes * row.write) / 256) + traffic * kDram;
}

TEST(Fusemax, TheArtifactsEnergiesAreCountsOfRows) {
  const config::Tree tree = config::parse_json(fusemax_validation_data(), "fusemax.json");
  config::Findings findings;
  const FusemaxData data = read_fusemax(tree.root(), findings);
  const std::map<std::string, double> lengths{{"1K", 1024}, {"4K", 4096}, {"16K", 16384}, {"64K", 65536}};
  for (const FusemaxTable& table : data.tables)
    for (const FusemaxCase& c : table.cases) {
      const FusemaxModel& m = data.models.at(c.model);
      const double length = lengths.at(c.length), batch = static_cast<double>(data.batch);
      const double traffic = c.figures.at("traffic"), energy = c.figures.at("energy");
      const bool is_product = table.name.starts_with("end2end");
      const double by_hand =
          is_product ? products_energy(m, batch * length, traffic, table.name == "end2end-flat" ? kRow32 : kRow16)
                     : attention_energy(table.name, m, length, batch * static_cast<double>(m.heads) * length * length,
                                        traffic);
      EXPECT_NEAR(by_hand / energy, 1, is_product ? 1e-5 : 1e-3) << table.name << ' ' << c.model << ' ' << c.length;
    }
}

TEST(Fusemax, TablesOfTheArtifactAreRead) {
  const FusemaxTable table = read_fusemax_csv("model,seq_len,traffic,latency,\r\nBERT,1K,402653184,0.002,\r\n",
                                              "some/fusemax_attn-binding.csv");
  EXPECT_EQ(table.name, "attn-binding");
  ASSERT_EQ(table.cases.size(), 1u);
  EXPECT_EQ(table.cases[0].figures.at("latency"), 0.002);
  EXPECT_THROW(read_fusemax_csv("model,seq_len,traffic\nBERT,1K,much\n", "attn-flat.csv"), InputError);
  EXPECT_THROW(read_fusemax_csv("a,b\n", "attn-flat.csv"), InputError);
  EXPECT_TRUE(read_fusemax_csv("accel,model,PE_dim\nproposal,BERT,16\n", "pareto.csv").cases.empty());
}

TEST(Fusemax, WhatIsOffIsFound) {
  const config::Tree tree = config::parse_json(fusemax_validation_data(), "fusemax.json");
  config::Findings findings;
  const FusemaxData data = read_fusemax(tree.root(), findings);
  FusemaxTable table{.name = "attn-binding", .cases = {data.tables[0].cases[0], data.tables[0].cases[0]}};
  table.cases[1].figures["latency"] *= 1.2;
  table.cases[1].figures["traffic"] *= 0.9;
  cost::Cache cache;
  const std::vector<ValidationSuite> suites = run_fusemax(table, data, cache);
  ASSERT_EQ(suites.size(), 5u);
  EXPECT_EQ(suites[0].exact(), 1u);  // latency
  EXPECT_EQ(suites[1].exact(), 1u);  // traffic
  EXPECT_TRUE(suites[0].rows[0].matches && suites[1].rows[0].matches);
}

TEST(Fusemax, UnknownTablesAndLengthsAreSaid) {
  cost::Cache cache;
  EXPECT_EQ(run_fusemax({.name = "pareto"}, {}, cache)[0].skipped.size(), 1u);
  FusemaxData data{.models = {{"BERT", {768, 64, 12, 3072}}}};
  const auto suites = run_fusemax(
      {.name = "attn-binding", .cases = {{"BERT", "1M", {}}, {"BERT", "100", {}}, {"X", "1K", {}}}}, data, cache);
  EXPECT_EQ(suites[0].skipped.size(), 3u);
}

}  // namespace
}  // namespace monet
