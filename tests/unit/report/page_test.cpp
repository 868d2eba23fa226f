#include "monet/report/page.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "monet/base/config.h"
#include "monet/report/page_text.h"
#include "unit/report/evaluated.h"

namespace monet {
namespace {

using schedule::Evaluation;
using test::small;

// What is wrong with the tags: every one is closed, in the right order, with quoted attributes; text has no stray
// angle. Scripts and styles are skipped. Empty: nothing.
std::string fault_of(const std::string& page) {
  std::vector<std::string> open;
  std::size_t at = 0;
  while ((at = page.find('<', at)) != std::string::npos) {
    if (page.compare(at, 2, "<!") == 0) {
      at = page.find('>', at);
      continue;
    }
    std::size_t end = at + 1;
    for (bool quoted = false; end < page.size() && (quoted || page[end] != '>'); ++end) {
      if (page[end] == '"') quoted = !quoted;
      if (page[end] == '<') return "an angle in a tag: " + page.substr(at, 60);
    }
    const std::string tag = page.substr(at + 1, end - at - 1);
    const std::string name = tag.substr(tag[0] == '/' ? 1 : 0, tag.find_first_of(" /", 1) - (tag[0] == '/' ? 1 : 0));
    at = end;
    if (tag[0] == '/') {
      if (open.empty() || open.back() != tag.substr(1)) return "closed but not open: " + tag;
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(name);
      if (name == "script" || name == "style") at = page.find("</" + name, at);
    }
  }
  return open.empty() ? "" : "left open: " + open.back();
}

bool has(const std::string& page, const std::string& text) { return page.find(text) != std::string::npos; }

std::string script_data(const std::string& page) {
  const std::string begin = "id=\"data\">";
  const std::size_t at = page.find(begin) + begin.size();
  return page.substr(at, page.find("</script>", at) - at);
}

std::string page_of(const Evaluation& e) {
  return page_html(small().graph, small().chip, e,
                   {.model = "a model", .chip = "a chip", .mode = "one training iteration"});
}

TEST(Page, ShowsTheFigures) {
  const std::string page = page_of(small().e);
  const Evaluation& e = small().e;
  EXPECT_TRUE(has(page, "a model <span>on</span> a chip"));
  EXPECT_TRUE(has(page, "one training iteration"));
  EXPECT_TRUE(has(page, TimeScale(e.clock_hz, e.latency).text(e.latency)));
  EXPECT_TRUE(has(page, cycles_text(e.latency)));
  EXPECT_TRUE(has(page, pj_text(e.energy.total())));
  EXPECT_TRUE(has(page, bytes_text(e.peak_total_bytes)));
  for (const auto& [level, pj] : e.energy.memory) {
    if (pj > 0) {
      EXPECT_TRUE(has(page, fmt::format("{} <span>{}", level, pj_text(pj)))) << level;
    }
  }
  for (std::size_t s = 0; s < e.stores.size(); ++s) EXPECT_TRUE(has(page, html(small().chip.machine.stores[s].name)));
  for (const auto& unit : small().chip.machine.units) EXPECT_TRUE(has(page, ">" + html(unit.name) + "<"));
}

TEST(Page, ShowsBusyPorts) {
  ASSERT_GE(small().chip.machine.ports.size(), 2u);
  Evaluation e = small().e;
  std::fill(e.port_cycles.begin(), e.port_cycles.end(), 0);
  EXPECT_FALSE(has(page_of(e), ">ports<"));
  e.port_cycles[1] = e.latency / 2;
  const std::string page = page_of(e);
  EXPECT_TRUE(has(page, ">ports<"));
  EXPECT_TRUE(has(page, "<title>" + html(small().chip.machine.ports[1].name) + "</title>"));
  EXPECT_FALSE(has(page, "<title>" + html(small().chip.machine.ports[0].name) + "</title>"));
  EXPECT_TRUE(has(page, fmt::format("{} less busy port", small().chip.machine.ports.size() - 1)));
  EXPECT_EQ(fault_of(page), "");
}

TEST(Page, IsWellFormedAndNeedsNothingElse) {
  const std::string page = page_of(small().e);
  EXPECT_EQ(fault_of(page), "");
  for (const char* outside : {"http:", "https:", "src=", "@import", "url("})
    EXPECT_FALSE(has(page, outside)) << outside;
  EXPECT_NO_THROW(config::parse_json(script_data(page), "data"));
  EXPECT_EQ(page, page_of(small().e));
}

TEST(Page, TheCheckFindsFaults) {
  EXPECT_EQ(fault_of("<p>a<b>c</b></p>"), "");
  EXPECT_NE(fault_of("<p>a<b>c</p></b>"), "");
  EXPECT_NE(fault_of("<p>a < b</p>"), "");
  EXPECT_NE(fault_of("<p>"), "");
}

TEST(Page, EscapesNames) {
  Graph graph = small().graph;
  const std::string wild = "</script><b>&\"'\xff";
  for (Node& node : graph.nodes) node.name = wild + node.name;
  for (Tensor& tensor : graph.tensors) tensor.name = wild + tensor.name;
  plan::Chip chip = small().chip;
  for (plan::Unit& unit : chip.machine.units) unit.name = wild + unit.name;
  for (plan::Store& store : chip.machine.stores) store.name = wild + store.name;
  for (plan::Channel& channel : chip.machine.channels) channel.name = wild + channel.name;
  for (plan::CoreOnChip& core : chip.cores) core.core.name = wild + core.core.name;
  const std::string page = page_html(
      graph, chip, small().e, {.model = wild, .chip = wild, .mode = wild, .details = {{wild, wild}}, .command = wild});
  EXPECT_EQ(fault_of(page), "");
  EXPECT_FALSE(has(page, "<b>&\""));
  EXPECT_FALSE(has(page, wild.substr(0, 12)));
  EXPECT_TRUE(has(page, "&lt;/script&gt;&lt;b&gt;&amp;&quot;&#39;\xEF\xBF\xBD"));
  const config::Tree data = config::parse_json(script_data(page), "data");
  const config::Value names = *data.root().find("names");
  bool is_whole = false;
  for (std::size_t i = 0; i < names.size(); ++i)
    is_whole = is_whole || has(std::string(names[i].text()), "</script><b>&\"'");
  EXPECT_TRUE(is_whole) << "the script is told other names";
}

TEST(Page, SumsUpTheCriticalPathByKind) {
  const Evaluation& e = small().e;
  double computing = 0;
  for (const schedule::PathStep& step : e.path)
    if (step.kind == schedule::PathStep::Kind::Tile) computing += step.to - step.from;
  ASSERT_GT(computing, 0);
  ASSERT_LT(computing, e.latency);
  const std::string text = TimeScale(e.clock_hz, e.latency).own_text(computing);
  EXPECT_TRUE(has(page_of(e), fmt::format("computing <span>{} · {}", text, percent_text(computing / e.latency))));
}

TEST(Page, SaysWhatIsAliveAtThePeak) {
  const Evaluation& e = small().e;
  const std::uint32_t home = small().chip.machine.home.value;
  // The largest block that lies there at that time belongs to a tensor the page names.
  const schedule::Stay* largest = nullptr;
  const auto bytes = [&](const schedule::Stay& s) { return e.tiled.problem.blocks[s.block.index()].bytes; };
  for (const schedule::Stay& stay : e.timeline.stays)
    if (stay.store.value == home && stay.from <= e.stores[home].peak_time && stay.to > e.stores[home].peak_time)
      if (!largest || bytes(stay) > bytes(*largest)) largest = &stay;
  ASSERT_NE(largest, nullptr);
  const std::string page = page_of(e);
  const std::size_t at = page.find("Alive at the peak");
  ASSERT_NE(at, std::string::npos);
  const std::string table = page.substr(at, page.find("</table>", at) - at);
  EXPECT_TRUE(has(table, small().graph[e.tiled.blocks[largest->block.index()].tensor].name)) << table;
}

// A tile past which as much flows as its channels carry in its time.
TEST(Page, SaysThatAFlowBoundsANode) {
  Evaluation e = small().e;
  schedule::Problem& p = e.tiled.problem;
  EXPECT_FALSE(has(page_of(e), "flow from and to"));
  for (std::size_t i = 0; i < p.tiles.size(); ++i) {
    e.timeline.tiles[i].cause = {};
    const plan::StoreId store = small().chip.cores[e.tiled.tiles[i].core].stores[0];
    const plan::Route& route = p.machine.route(p.machine.home, store);
    double rate = 1e18;
    for (const plan::ChannelId c : route.channels) rate = std::min(rate, p.machine.channels[c.index()].bytes_per_cycle);
    p.tiles[i].first_flow = static_cast<std::uint32_t>(p.flows.size());
    p.tiles[i].flows = 1;
    p.flows.push_back({.block = schedule::BlockId{0},
                       .store = store,
                       .in = rate * (e.timeline.tiles[i].end - e.timeline.tiles[i].start)});
  }
  EXPECT_TRUE(has(page_of(e), "flow from and to"));
}

// Every tile two hundred times: what is drawn must not grow with it.
TEST(Page, StaysSmallHoweverManyTilesThereAre) {
  Evaluation e = small().e;
  const double latency = e.latency;
  constexpr std::size_t kTimes = 200;
  const auto tiles = e.timeline.tiles;
  const auto infos = e.tiled.tiles;
  const auto problem_tiles = e.tiled.problem.tiles;
  for (std::size_t k = 1; k < kTimes; ++k) {
    const double shift = latency * static_cast<double>(k);
    for (std::size_t i = 0; i < tiles.size(); ++i) {
      e.timeline.tiles.push_back({tiles[i].start + shift, tiles[i].end + shift, {}});
      e.tiled.tiles.push_back(infos[i]);
      e.tiled.problem.tiles.push_back(problem_tiles[i]);
    }
  }
  const std::size_t transfers = e.timeline.transfers.size(), steps = e.path.size();
  for (std::size_t k = 1; k < kTimes; ++k) {
    const double shift = latency * static_cast<double>(k);
    for (std::uint32_t i = 0; i < transfers; ++i) {
      schedule::Transfer t = e.timeline.transfers[i];
      t.carried_by = static_cast<std::uint32_t>(e.timeline.transfers.size());
      t.start += shift;
      t.end += shift;
      e.timeline.transfers.push_back(t);
    }
    for (std::size_t i = 0; i < steps; ++i) {
      schedule::PathStep step = e.path[i];
      step.from += shift;
      step.to += shift;
      e.path.push_back(step);
    }
    for (schedule::StoreUse& use : e.stores) {
      const std::size_t points = use.points.size() / k;
      for (std::size_t i = 0; i < points; ++i) use.points.push_back({use.points[i].time + shift, use.points[i].bytes});
    }
  }
  e.latency *= kTimes;
  ASSERT_GT(e.timeline.tiles.size(), 5'000u);
  const std::string page = page_of(e);
  EXPECT_LT(page.size(), 2'000'000u);
  EXPECT_EQ(fault_of(page), "");
}

TEST(Page, BecomesCoarserUntilItFits) {
  Evaluation e = small().e;
  for (schedule::StoreUse& use : e.stores) {  // every column another one
    use.points.clear();
    for (std::size_t i = 0; i < 5'000; ++i) {
      schedule::ByUse bytes{};
      for (std::size_t u = 0; u < bytes.size(); ++u) bytes[u] = static_cast<double>(1 + (i * 7919 + u * 104'729) % 997);
      use.points.push_back({e.latency * static_cast<double>(i) / 5'000, bytes});
    }
    use.peak_bytes = 6'000;
  }
  const auto sized = [&](std::size_t most) {
    return page_html(small().graph, small().chip, e, {.most_bytes = most}).size();
  };
  const std::size_t whole = sized(2'000'000);
  EXPECT_GT(whole, 200'000u);
  EXPECT_LE(sized(whole / 2), whole / 2);
  EXPECT_GT(sized(whole / 2), whole / 8);
}

TEST(Page, NothingAtAllIsAPageToo) {
  plan::Chip chip;
  chip.machine.stores.push_back({.name = "dram"});
  EXPECT_EQ(fault_of(page_html(Graph{}, chip, Evaluation{})), "");
  Evaluation e = small().e;
  e.clock_hz = 0;
  EXPECT_TRUE(has(page_of(e), "the clock is not known"));
}

TEST(PageText, NumbersAsPeopleReadThem) {
  EXPECT_EQ(bytes_text(512), "512 B");
  EXPECT_EQ(bytes_text(1024), "1.00 KiB");
  EXPECT_EQ(bytes_text(14.05 * 1024 * 1024), "14.1 MiB");
  EXPECT_EQ(bytes_text(1023.9 * 1024), "1.00 MiB");
  EXPECT_EQ(count_text(1.8194e9), "1.82 G");
  EXPECT_EQ(count_text(12), "12");
  EXPECT_EQ(pj_text(4.213e9), "4.21 mJ");
  EXPECT_EQ(watt_text(0.31), "310 mW");
  EXPECT_EQ(percent_text(0.1234), "12.3 %");
  EXPECT_EQ(percent_text(1), "100 %");
  EXPECT_EQ(cycles_text(1234567), "1,234,567 cycles");
  EXPECT_EQ(drawn(3.04), "3");
  EXPECT_EQ(drawn(-0.01), "0");
  EXPECT_EQ(shortened("abcdefgh", 5), "ab…gh");
  EXPECT_EQ(shortened("abc", 5), "abc");
}

TEST(PageText, TimesHaveOneUnitAndRoundTicks) {
  const TimeScale ms(200e6, 1e6);  // 5 ms
  EXPECT_EQ(ms.text(1e6), "5.000 ms");
  EXPECT_EQ(ms.tick_text(ms.ticks(1e6, 10)[1]), "0.5");
  EXPECT_EQ(ms.ticks(1e6, 10).size(), 11u);
  const TimeScale cycles(0, 5e4);
  EXPECT_EQ(cycles.text(5e4), "50.00 kcycles");
}

TEST(PageText, AreasStackAndColumnsAlikeAreOne) {
  const std::string area = stacked_area({{0.5, 0.25}, {0.5, 0.25}, {0, 0.5}}, "u", 0, 0, 30, 100);
  EXPECT_EQ(area,
            "<path class=\"u0\" d=\"M0 50H20V100H0z\"/>\n"
            "<path class=\"u1\" d=\"M0 25H20V50H30V100H20V50H0z\"/>\n");
}

TEST(PageText, BarsLeaveOutNothingsAndSayShares) {
  const std::string text =
      bar("Energy", "4 pJ", {{"a", "x", "1 pJ", 1}, {"none", "y", "0 pJ", 0}, {"b", "z", "3 pJ", 3}});
  EXPECT_TRUE(has(text, "25.0 %") && has(text, "75.0 %"));
  EXPECT_FALSE(has(text, "none"));
  EXPECT_EQ(fault_of(text), "");
}

}  // namespace
}  // namespace monet
