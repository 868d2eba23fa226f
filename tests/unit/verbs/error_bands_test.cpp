// Do error bands say what their rows say, and does an exploration say of its lead what they allow? Figures by hand.
#include "monet/verbs/error_bands.h"

#include <gtest/gtest.h>

#include "monet/base/diagnostic.h"
#include "monet/verbs/explore_bands.h"

namespace monet {
namespace {

constexpr const char* kBands = R"({"made_by": "hand", "bands": [
  {"figure": "latency", "mode": "training", "against": "measurement", "of": "rates", "command": "monet validate",
   "rows": [{"chip": "A", "workload": "u", "error": 0.2}, {"chip": "B", "workload": "u", "error": -0.4},
            {"chip": "A", "workload": "v", "error": -0.1}, {"chip": "B", "workload": "v", "error": 0.0}]},
  {"figure": "energy", "mode": "training", "against": "model", "of": "tables", "command": "monet validate",
   "rows": [{"chip": "A", "workload": "u", "error": 0.5}]}]})";

TEST(ErrorBands, SayWhatTheirRowsSay) {
  const std::vector<ErrorBand> bands = read_error_bands(kBands, "bands.json");
  ASSERT_EQ(bands.size(), 2u);
  const ErrorBand& b = bands[0];
  EXPECT_EQ(b.low(), -0.4);
  EXPECT_EQ(b.high(), 0.2);
  EXPECT_DOUBLE_EQ(b.median(), -0.05);
  EXPECT_DOUBLE_EQ(b.span(), 2);  // 1.2 / 0.6
  EXPECT_EQ(b.chips(), (std::vector<std::string>{"A", "B"}));
  EXPECT_EQ(b.workloads(), (std::vector<std::string>{"u", "v"}));
  EXPECT_EQ(text(b), "latency, training: -40.0 to +20.0 %, median -5.0 % (4 rows, rates: A, B; u, v)");
  EXPECT_EQ(text(bands[1]),
            "energy, training: nothing measured; beside another model +50.0 to +50.0 %, median +50.0 % (1 rows, "
            "tables: A; u)");
  ASSERT_TRUE(b.same_workload());
  EXPECT_EQ(b.same_workload()->workload, "u");  // 1.2 / 0.6, where v has 1 / 0.9
  EXPECT_DOUBLE_EQ(b.same_workload()->span, 2);
  EXPECT_FALSE(bands[1].same_workload());
  EXPECT_EQ(measured_band(bands, "latency", "training"), &bands[0]);
  EXPECT_EQ(measured_band(bands, "latency", "inference"), nullptr);
  EXPECT_EQ(measured_band(bands, "energy", "training"), nullptr) << "a model is no measurement";
}

TEST(ErrorBands, FaultsAreFound) {
  const auto refused = [](const std::string& from, const std::string& to) {
    std::string json = kBands;
    json.replace(json.find(from), from.size(), to);
    try {
      read_error_bands(json, "bands.json");
    } catch (const InputError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_NE(refused("0.2}", "\"x\"}").find("bands.json:3:"), std::string::npos);
  EXPECT_NE(refused("-0.4", "-1").find("error"), std::string::npos) << "ours would be nothing";
  EXPECT_NE(refused("measurement", "guess").find("neither measurement nor model"), std::string::npos);
  EXPECT_NE(refused("\"chip\": \"A\", ", "").find("has no 'chip'"), std::string::npos);
  EXPECT_NE(refused("{\"chip\": \"A\", \"workload\": \"u\", \"error\": 0.5}", "").find("needs rows"),
            std::string::npos);
}

// Those that come with MONET: both modes have a measured latency, and what missed its aim of 5 % and 25 % is in it.
TEST(ErrorBands, OursHaveWhatMissedItsAim) {
  const std::vector<ErrorBand> bands = error_bands();
  const ErrorBand *inference = measured_band(bands, "latency", "inference"),
                  *training = measured_band(bands, "latency", "training");
  ASSERT_NE(inference, nullptr);
  ASSERT_NE(training, nullptr);
  EXPECT_GE(inference->rows.size(), 3u);
  EXPECT_LT(inference->low(), -0.05);
  EXPECT_GE(training->rows.size(), 8u);
  EXPECT_LT(training->low(), -0.25);
}

search::Explored points_of(const std::vector<double>& seconds) {
  search::Explored found;
  found.fronts.resize(1);
  for (const double s : seconds)
    found.points.push_back(
        {.figures = {{.reason = s > 0 ? "" : "no", .latency_cycles = s, .latency_s = s, .energy_pj = 1}}});
  return found;
}

TEST(LatencyLead, IsComparedWithTheSpanOfTheBand) {
  const std::vector<ErrorBand> bands = read_error_bands(kBands, "bands.json");
  const std::vector<const ErrorBand*> one{&bands[0]};  // it spans a factor of 2
  // The second point is not possible; 3.9 is within 2 × 2, 4 is not.
  const std::vector<LatencyLead> leads = latency_leads(points_of({3.9, 0, 2, 4, 5}), {}, one);
  ASSERT_EQ(leads.size(), 1u);
  EXPECT_EQ(leads[0].best, 2u);
  EXPECT_EQ(leads[0].next, 0u);
  EXPECT_DOUBLE_EQ(leads[0].ratio, 1.95);
  EXPECT_EQ(leads[0].others, 3u);
  EXPECT_EQ(leads[0].within, 1u);
  EXPECT_EQ(latency_leads(points_of({2, 5}), {}, one)[0].within, 0u);
  EXPECT_EQ(latency_leads(points_of({2, 2}), {}, one)[0].ratio, 1);
  EXPECT_TRUE(latency_leads(points_of({2, 0}), {}, one).empty()) << "nothing to compare with";
  EXPECT_TRUE(latency_leads(points_of({2, 5}), {}, {nullptr}).empty()) << "nothing was measured";
}

}  // namespace
}  // namespace monet
