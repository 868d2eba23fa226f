#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "monet/report/page_parts.h"

// How full every store is over time, by what it is used for, and what is alive at the peak.

namespace monet {
namespace {

using schedule::ByUse;
using schedule::kMemoryUses;
using schedule::MemoryUse;
using schedule::StoreUse;

constexpr double kTop = 20, kHeight = 96, kBottom = kTop + kHeight;
constexpr std::size_t kMostMemoryColumns = 6'000, kShownStores = 6;

std::string use_text(MemoryUse use) {
  std::string text(name(use));
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

// Of every column the fullest moment.
std::vector<ByUse> columns_of(const StoreUse& use, double latency, std::size_t count) {
  std::vector<ByUse> out(count);
  std::vector<double> most(count, -1);
  const double step = latency / static_cast<double>(count);
  for (std::size_t i = 0; i < use.points.size(); ++i) {
    const StoreUse::Point& point = use.points[i];
    const double end = i + 1 < use.points.size() ? use.points[i + 1].time : latency;
    if (end <= point.time) continue;
    const double total = schedule::sum(point.bytes);
    const auto first = std::min(count - 1, static_cast<std::size_t>(std::max(0.0, point.time / step)));
    for (std::size_t c = first; c < count && static_cast<double>(c) * step < end; ++c)
      if (total > most[c]) most[c] = total, out[c] = point.bytes;
  }
  return out;
}

struct Chart {
  const PageInput& in;
  plan::StoreId store{};
  const StoreUse& use;
  double capacity = 0, scale = 1;
  bool shows_capacity = false;
};

Chart chart_of(const PageInput& in, std::uint32_t s) {
  Chart chart{.in = in, .store = plan::StoreId{s}, .use = in.e.stores[s]};
  chart.capacity = static_cast<double>(in.chip.machine.stores[s].bytes);
  // A capacity far above the peak would leave nothing of the drawing.
  chart.shows_capacity = chart.capacity <= 2 * chart.use.peak_bytes;
  chart.scale = std::max(1.0, chart.shows_capacity ? chart.capacity : chart.use.peak_bytes);
  return chart;
}

std::string heading(const Chart& chart) {
  const StoreUse& use = chart.use;
  std::string parts;
  for (std::size_t u = 0; u < kMemoryUses; ++u)
    if (use.at_peak[u] > 0)
      parts += fmt::format("<li><b class=\"dot u{}\"></b>{} <span>{}</span></li>", u,
                           use_text(static_cast<MemoryUse>(u)), bytes_text(use.at_peak[u]));
  return fmt::format("<h3>{} <span>peak {} of {} ({}) at {}</span></h3>\n<ul class=\"keys\">{}</ul>\n",
                     html(chart.in.store_name(chart.store)), bytes_text(use.peak_bytes), bytes_text(chart.capacity),
                     percent_text(chart.capacity > 0 ? use.peak_bytes / chart.capacity : 0),
                     chart.in.time.text(use.peak_time), parts);
}

std::string bytes_axis(const Chart& chart) {
  std::string out;
  for (const double part : {0.0, 0.5, 1.0}) {
    const double y = kBottom - kHeight * part;
    out += fmt::format(
        "<path class=\"grid\" d=\"M{} {}h{}\"/><text class=\"quiet\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n",
        kPlotLeft, drawn(y), kPlotWidth, kPlotLeft - 8, drawn(y + 4), bytes_text(chart.scale * part));
  }
  return out;
}

// The peak and the capacity, on top of the drawing.
std::string marks(const Chart& chart) {
  const double right = kPlotLeft + kPlotWidth;
  std::string out;
  const double peak = chart.use.peak_bytes;
  const double x = chart.in.x_of(chart.use.peak_time), y = kBottom - kHeight * peak / chart.scale;
  const bool is_late = x > kPlotLeft + 0.7 * kPlotWidth;
  out += fmt::format("<path class=\"mark\" d=\"M{} {}V{}\"/><circle class=\"peak\" cx=\"{}\" cy=\"{}\" r=\"3.5\"/>",
                     drawn(x), kTop - 8, kBottom, drawn(x), drawn(y));
  out += fmt::format("<text class=\"strong\" x=\"{}\" y=\"{}\" text-anchor=\"{}\">peak {}</text>\n",
                     drawn(is_late ? x - 6 : x + 6), kTop - 8, is_late ? "end" : "start", bytes_text(peak));
  if (chart.shows_capacity) out += fmt::format("<path class=\"limit\" d=\"M{} {}h{}\"/>", kPlotLeft, kTop, kPlotWidth);
  // Above the drawing, on the side where the peak is not.
  out += fmt::format("<text class=\"limit\" x=\"{}\" y=\"{}\" text-anchor=\"{}\">capacity {}{}</text>\n",
                     is_late ? kPlotLeft : right, kTop - 8, is_late ? "start" : "end", bytes_text(chart.capacity),
                     chart.shows_capacity ? "" : " ↑");
  return out;
}

// Columns alike once: how many, then bytes by use in a unit that keeps the numbers short.
std::string numbers(const Chart& chart, const std::vector<ByUse>& columns) {
  const double unit = std::max(1.0, std::ceil(chart.use.peak_bytes / 1e5));
  std::string out, last;
  std::size_t run = 0;
  const auto flush = [&] {
    if (run > 0) out += fmt::format("{}{},{}", out.empty() ? "" : ",", run, last);
  };
  for (const ByUse& column : columns) {
    std::string now;
    for (const double bytes : column) now += fmt::format("{}{:.0f}", now.empty() ? "" : ",", bytes / unit);
    if (now != last) flush(), run = 0, last = now;
    ++run;
  }
  flush();
  return fmt::format("{{\"c\":{},\"u\":{:.0f},\"d\":[{}]}}", columns.size(), unit, out);
}

std::string alive_table(const Chart& chart) {
  const std::vector<Alive> alive = alive_at(chart.in, chart.use.peak_time, chart.store);
  if (alive.empty()) return "";
  constexpr std::size_t kRows = 8;
  std::string rows;
  double rest = 0;
  for (std::size_t i = 0; i < alive.size(); ++i) {
    if (i >= kRows) {
      rest += alive[i].bytes;
      continue;
    }
    rows +=
        fmt::format("<tr><td>{}</td><td><b class=\"dot u{}\"></b>{}</td><td>{}</td><td>{}</td></tr>\n",
                    html(chart.in.graph[alive[i].tensor].name), static_cast<int>(alive[i].use), use_text(alive[i].use),
                    bytes_text(alive[i].bytes), percent_text(alive[i].bytes / chart.use.peak_bytes));
  }
  if (rest > 0)
    rows += fmt::format("<tr class=\"rest\"><td>{} more</td><td></td><td>{}</td><td>{}</td></tr>\n",
                        alive.size() - kRows, bytes_text(rest), percent_text(rest / chart.use.peak_bytes));
  return fmt::format(
      "<details><summary>Alive at the peak: {} tensor{}</summary>\n<table><thead><tr><th>tensor</th><th>use</th>"
      "<th>bytes</th><th>share</th></tr></thead><tbody>\n{}</tbody></table></details>\n",
      alive.size(), alive.size() == 1 ? "" : "s", rows);
}

std::string draw_store(const Chart& chart, std::size_t count, ScriptData& data) {
  const std::vector<ByUse> columns = columns_of(chart.use, chart.in.e.latency, count);
  std::vector<std::vector<double>> heights;
  for (const ByUse& column : columns) {
    heights.emplace_back(column.begin(), column.end());
    for (double& h : heights.back()) h /= chart.scale;
  }
  data.store(numbers(chart, columns));
  return fmt::format(
      "<div class=\"store\">{}<div class=\"scroll\"><svg class=\"drawing memory\" viewBox=\"0 0 {} {}\" role=\"img\" "
      "aria-label=\"{} over time\">\n{}{}{}{}</svg></div>\n{}</div>\n",
      heading(chart), kDrawingWidth, kBottom + 22, html(chart.in.store_name(chart.store)),
      time_axis(chart.in, kTop, kBottom), bytes_axis(chart),
      stacked_area(heights, "u", kPlotLeft, kTop, kPlotWidth, kHeight), marks(chart), alive_table(chart));
}

}  // namespace

std::vector<Alive> alive_at(const PageInput& in, double time, plan::StoreId store) {
  const schedule::Tiled& tiled = in.e.tiled;
  const std::size_t stores = in.chip.machine.stores.size();
  std::map<std::pair<std::uint32_t, bool>, Alive> found;  // sums apart from what they become
  for (const schedule::Stay& stay : in.e.timeline.stays) {
    if (stay.from > time || stay.to <= time) continue;
    if (store != kNoId<plan::StoreTag> && stay.store != store) continue;
    const schedule::BlockInfo& block = tiled.blocks[stay.block.index()];
    const auto bytes = static_cast<double>(tiled.problem.blocks[stay.block.index()].bytes);
    if (bytes == 0) continue;
    Alive& alive = found[{block.tensor.value, block.is_sum}];
    alive.tensor = block.tensor;
    alive.use = block.is_sum ? MemoryUse::Workspace : schedule::memory_use(in.graph[block.tensor].category);
    alive.bytes += bytes;
    alive.by_store.resize(stores);
    alive.by_store[stay.store.index()] += bytes;
  }
  std::vector<Alive> out;
  for (auto& [key, alive] : found) out.push_back(std::move(alive));
  std::stable_sort(out.begin(), out.end(), [](const Alive& a, const Alive& b) { return a.bytes > b.bytes; });
  return out;
}

std::string memory_section(const PageInput& in, ScriptData& data) {
  std::vector<std::uint32_t> used;
  std::string unused;
  for (std::uint32_t s = 0; s < in.e.stores.size(); ++s)
    if (in.e.stores[s].peak_bytes > 0)
      used.push_back(s);
    else
      unused += (unused.empty() ? "" : ", ") + html(in.store_name(plan::StoreId{s}));
  std::string out = "<section id=\"memory\"><h2>Memory over time</h2>\n";
  if (!unused.empty()) out += fmt::format("<p class=\"note\">Never used: {}.</p>\n", unused);
  // The home, then the fullest; the rest can be opened.
  const auto share = [&](std::uint32_t s) {
    return in.e.stores[s].peak_bytes / std::max(1.0, static_cast<double>(in.chip.machine.stores[s].bytes));
  };
  const std::uint32_t home = in.chip.machine.home.value;
  if (used.size() > kShownStores)
    std::stable_sort(used.begin(), used.end(), [&](std::uint32_t a, std::uint32_t b) {
      return (a == home) != (b == home) ? a == home : share(a) > share(b);
    });
  const std::size_t columns =
      std::clamp<std::size_t>(kMostMemoryColumns / in.coarseness / std::max<std::size_t>(1, used.size()), 20, 498);
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (i == kShownStores)
      out += fmt::format("<details class=\"store\"><summary>{} more memories, at most {} full</summary>\n",
                         used.size() - i, percent_text(share(used[i])));
    out += draw_store(chart_of(in, used[i]), columns, data);
  }
  if (used.size() > kShownStores) out += "</details>\n";
  return out + "</section>\n";
}

std::string tensors_section(const PageInput& in) {
  const std::vector<Alive> alive = alive_at(in, in.e.peak_total_time, kNoId<plan::StoreTag>);
  if (alive.empty()) return "";
  std::string rows;
  double rest = 0;
  const double total = std::max(1.0, in.e.peak_total_bytes), most = alive[0].bytes;
  for (std::size_t i = 0; i < alive.size(); ++i) {
    const Alive& a = alive[i];
    if (i >= in.options.most_rows) {
      rest += a.bytes;
      continue;
    }
    std::string where;
    std::size_t places = 0;
    for (std::uint32_t s = 0; s < a.by_store.size(); ++s)
      if (a.by_store[s] > 0 && ++places <= 3) where += (where.empty() ? "" : ", ") + in.store_name(plan::StoreId{s});
    if (places > 3) where += fmt::format(" and {} more", places - 3);
    const schedule::TensorResult& t = in.e.tensors[a.tensor.index()];
    const bool is_sum = a.use == MemoryUse::Workspace && schedule::memory_use(in.graph[a.tensor].category) != a.use;
    rows += fmt::format(
        "<tr><td>{}{}</td><td><b class=\"dot u{}\"></b>{}</td><td>{}</td>{}<td>{}</td><td>{}</td><td>{}</td></tr>\n",
        html(in.graph[a.tensor].name), is_sum ? " (sums)" : "", static_cast<int>(a.use), use_text(a.use),
        bytes_text(a.bytes), share_cell(a.bytes / total, most / total), html(where), in.time.text(t.born),
        in.time.text(t.died));
  }
  if (rest > 0)
    rows += fmt::format(
        "<tr class=\"rest\"><td>{} more</td><td></td><td>{}</td><td>{}</td><td></td><td></td><td></td></tr>\n",
        alive.size() - in.options.most_rows, bytes_text(rest), percent_text(rest / total));
  return fmt::format(
      "<section><h2>Largest tensors at the peak</h2>\n<p class=\"note\">All memories together hold most at {}: "
      "{}.</p>\n"
      "<div class=\"scroll\"><table><thead><tr><th>tensor</th><th>use</th><th>bytes</th><th>share</th><th>where</th>"
      "<th>born</th><th>died</th></tr></thead><tbody>\n{}</tbody></table></div></section>\n",
      in.time.text(in.e.peak_total_time), bytes_text(in.e.peak_total_bytes), rows);
}

}  // namespace monet
