#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "monet/report/nest.h"
#include "monet/report/page_parts.h"
#include "monet/report/trace_events.h"

// Who worked when: the path that decides the latency, every unit, every channel.

namespace monet {
namespace {

using schedule::ByPhase;

constexpr double kRowGap = 4, kPathHeight = 14, kUnitHeight = 20, kChannelHeight = 14, kHeadHeight = 22;
constexpr std::size_t kMostBars = 14'000, kMostGanttColumns = 8'000, kMostChannels = 24, kMostPorts = 12,
                      kPortColumns = 240;
constexpr double kBusyPort = 0.1;  // of the time, and more

struct Piece {
  double start = 0, end = 0;
  std::size_t phase = 0;
  std::uint32_t subject = 0;  // pieces of one subject have one name
  bool is_move = false;
};

struct Bar {
  double start = 0, end = 0, busy = 0, moved = 0;
  ByPhase by_phase{};
  std::uint32_t subject = 0;
  std::size_t count = 0;
  bool is_mixed = false;

  std::size_t phase() const {
    return static_cast<std::size_t>(std::max_element(by_phase.begin(), by_phase.end()) - by_phase.begin());
  }
  double share() const { return end > start ? std::min(1.0, busy / (end - start)) : 1; }
};

// Pieces of one subject with less than half of `least` between them are one bar, and so is what lies within `least`.
std::vector<Bar> bars_of(const std::vector<Piece>& pieces, double least) {
  std::vector<Bar> bars;
  for (const Piece& p : pieces) {
    if (p.end <= p.start) continue;
    const bool is_alike = !bars.empty() && !bars.back().is_mixed && bars.back().subject == p.subject &&
                          p.start - bars.back().end < least / 2;
    if (!is_alike && (bars.empty() || std::max(p.end, bars.back().end) - bars.back().start > least))
      bars.push_back({.start = p.start, .end = p.start, .subject = p.subject});
    Bar& bar = bars.back();
    bar.is_mixed = bar.is_mixed || bar.subject != p.subject;
    bar.end = std::max(bar.end, p.end);
    bar.busy += p.end - p.start;
    if (p.is_move) bar.moved += p.end - p.start;
    bar.by_phase[p.phase] += p.end - p.start;
    ++bar.count;
  }
  return bars;
}

class Gantt {
 public:
  Gantt(const PageInput& in, ScriptData& data) : in_(in), machine_(in.chip.machine), data_(data) {}

  std::string draw() {
    collect();
    heading("", 0);
    draw_bars("critical path", path_, kPathHeight, 1);
    heading("units", kHeadHeight);
    for (std::size_t u = 0; u < units_.size(); ++u)
      draw_bars(machine_.units[u].name, units_[u], kUnitHeight,
                in_.e.latency > 0 ? in_.e.units[u].busy / in_.e.latency : 0);
    std::string rest = draw_channels();
    rest += draw_ports();
    const double bottom = y_;
    return fmt::format(
        "<section><h2>Who works when</h2>\n<p class=\"note\">Colour: phase. Height of a bar: how much of the time it "
        "is busy; of a channel: the part of its bandwidth in use; of a port: the part of its cycles that are taken. "
        "Thin bars of the critical path: transfers.{}</p>\n"
        "{}<div class=\"scroll\"><svg id=\"gantt\" class=\"drawing\" viewBox=\"0 0 {} {}\" role=\"img\" "
        "aria-label=\"Units and "
        "channels over time\">\n{}{}</svg></div></section>\n",
        rest, legend(), kDrawingWidth, drawn(bottom + 22), time_axis(in_, 0, bottom), svg_);
  }

 private:
  void collect() {
    std::vector<Piece> path;
    std::map<std::string, std::uint32_t> known;
    for (const schedule::PathStep& step : in_.e.path) {
      const PathPart part = path_part(in_, step);
      const auto [at, is_new] = known.try_emplace(part.name, static_cast<std::uint32_t>(path_names_.size()));
      if (is_new) path_names_.push_back(part.name);
      path.push_back({step.from, step.to, part.phase, at->second, part.is_move});
    }
    std::vector<std::vector<Piece>> tiles(machine_.units.size());
    for (std::uint32_t i = 0; i < in_.e.timeline.tiles.size(); ++i) {
      const schedule::TileTime& t = in_.e.timeline.tiles[i];
      tiles[in_.e.tiled.problem.tiles[i].unit.index()].push_back(
          {t.start, t.end, in_.phase_of(i), in_.e.tiled.tiles[i].node.value});
    }
    for (auto& row : tiles)
      std::stable_sort(row.begin(), row.end(), [](const Piece& a, const Piece& b) { return a.start < b.start; });
    // From half a unit of the drawing upwards, until there are few enough for the page.
    const double unit = in_.e.latency / kPlotWidth;
    for (double least = unit / 2;; least *= 1.5) {
      path_ = bars_of(path, least);
      units_.clear();
      std::size_t count = path_.size();
      for (const auto& row : tiles) {
        units_.push_back(bars_of(row, least));
        count += units_.back().size();
      }
      if (count <= kMostBars / in_.coarseness || least > in_.e.latency) break;
    }
  }

  void heading(const std::string& text, double height) {
    if (!text.empty())
      svg_ += fmt::format("<text class=\"head\" x=\"0\" y=\"{}\">{}</text>\n", drawn(y_ + height - 6), text);
    y_ += height;
  }

  void label(const std::string& name, double height, const std::string& right) {
    const double middle = y_ + height / 2 + 4;
    svg_ += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}<title>{}</title></text>\n", kPlotLeft - 8,
                        drawn(middle), html(shortened(name, 20)), html(name));
    if (!right.empty())
      svg_ += fmt::format("<text class=\"quiet\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n", kDrawingWidth,
                          drawn(middle), right);
  }

  const std::string& name_of(const Bar& bar, bool is_path) const {
    return is_path ? path_names_[bar.subject] : in_.graph.nodes[bar.subject].name;
  }

  void draw_bars(const std::string& name, const std::vector<Bar>& bars, double height, double share) {
    const bool is_path = height == kPathHeight;
    label(name, height, is_path ? "" : percent_text(share));
    std::array<std::string, kPhases> paths;
    std::string words, numbers;
    double before = 0;
    for (const Bar& bar : bars) {
      const double x = in_.x_of(bar.start), width = std::max(0.3, in_.x_of(bar.end) - x);
      const bool is_thin = is_path && 2 * bar.moved > bar.busy;
      const double h = is_path ? (is_thin ? height * 0.4 : height) : std::max(1.0, height * bar.share());
      const double shown = width > 2 ? width - 0.5 : width;  // neighbours can be told apart
      paths[bar.phase()] += fmt::format("M{} {}h{}v{}h-{}z", drawn(x), drawn(y_ + height - h),
                                        drawn(std::max(0.1, shown)), drawn(h), drawn(std::max(0.1, shown)));
      const auto room = static_cast<std::size_t>(std::max(0.0, width - 8) / 6);
      if (!is_path && !bar.is_mixed && h > 14 && (room >= 12 || room >= name_of(bar, is_path).size()))
        words += fmt::format("<text class=\"in\" x=\"{}\" y=\"{}\">{}</text>\n", drawn(x + 4), drawn(y_ + height - 6),
                             html(shortened(name_of(bar, is_path), room)));
      // From the end of the one before, length, name (-1: several), phase, how many, busy percent.
      const double start = std::round(bar.start), end = std::round(bar.end);
      numbers += fmt::format("{}{:.0f},{:.0f},{},{},{},{:.0f}", numbers.empty() ? "" : ",", start - before, end - start,
                             bar.is_mixed ? -1 : static_cast<int>(data_.name(name_of(bar, is_path))), bar.phase(),
                             bar.count, 100 * bar.share());
      before = end;
    }
    for (std::size_t p = 0; p < kPhases; ++p)
      if (!paths[p].empty()) svg_ += fmt::format("<path class=\"p{}\" d=\"{}\"/>\n", p, paths[p]);
    svg_ += words;
    data_.row(fmt::format("{{\"y\":{},\"h\":{},\"n\":{},\"k\":\"{}\",\"d\":[{}]}}", drawn(y_), height, data_.name(name),
                          is_path ? "path" : "unit", numbers));
    y_ += height + kRowGap;
  }

  // ---- Channels ----

  struct Column {
    ByPhase bytes{};
    double most = 0;
    std::uint32_t tensor = 0;  // of the largest part
  };

  // The busiest, in the order of the machine; what is left out is said.
  std::string draw_channels() {
    std::vector<std::uint32_t> used;
    for (std::uint32_t c = 0; c < machine_.channels.size(); ++c)
      if (in_.e.channel_bytes[c] > 0) used.push_back(c);
    const auto share = [&](std::uint32_t c) {
      const double most = machine_.channels[c].bytes_per_cycle * in_.e.latency;
      return most > 0 ? in_.e.channel_bytes[c] / most : 0;
    };
    std::string rest;
    if (const std::size_t idle = machine_.channels.size() - used.size(); idle > 0)
      rest += fmt::format(" {} channel{} carried nothing.", idle, idle == 1 ? "" : "s");
    if (used.size() > kMostChannels) {
      std::stable_sort(used.begin(), used.end(), [&](auto a, auto b) { return share(a) > share(b); });
      rest += fmt::format(" {} channels used less than {} are not shown.", used.size() - kMostChannels,
                          percent_text(share(used[kMostChannels])));
      used.resize(kMostChannels);
      std::sort(used.begin(), used.end());
    }
    if (used.empty()) return rest;
    columns_ = std::clamp<std::size_t>(kMostGanttColumns / in_.coarseness / used.size(), 20,
                                       static_cast<std::size_t>(kPlotWidth));
    const std::vector<std::vector<Column>> rows = channel_columns(used);
    heading("channels", kHeadHeight);
    for (std::size_t i = 0; i < used.size(); ++i) draw_channel(used[i], rows[i], share(used[i]));
    return rest;
  }

  std::vector<std::vector<Column>> channel_columns(const std::vector<std::uint32_t>& used) const {
    std::vector<std::vector<Column>> rows(used.size(), std::vector<Column>(columns_));
    std::vector<std::size_t> row_of(machine_.channels.size(), used.size());
    for (std::size_t i = 0; i < used.size(); ++i) row_of[used[i]] = i;
    const double step = in_.e.latency / static_cast<double>(columns_);
    for (const Move& m : in_.moves.moves) {
      const double length = m.end - m.start;
      const auto first = std::min(columns_ - 1, static_cast<std::size_t>(std::max(0.0, m.start / step)));
      const auto last = std::min(columns_ - 1, static_cast<std::size_t>(std::max(0.0, m.end / step)));
      for (const plan::ChannelId c : route_of(in_.e, m).channels) {
        if (row_of[c.index()] == used.size()) continue;
        for (std::size_t i = first; i <= last; ++i) {
          const double from = std::max(m.start, step * static_cast<double>(i));
          const double to = std::min(m.end, step * static_cast<double>(i + 1));
          const double bytes = length > 0 ? m.bytes * std::max(0.0, to - from) / length : i == first ? m.bytes : 0;
          Column& column = rows[row_of[c.index()]][i];
          column.bytes[in_.phase_of(m.tile)] += bytes;
          if (bytes > column.most) column.most = bytes, column.tensor = m.tensor.value;
        }
      }
    }
    return rows;
  }

  void draw_channel(std::uint32_t channel, const std::vector<Column>& columns, double share) {
    label(machine_.channels[channel].name, kChannelHeight, percent_text(share));
    const double most = machine_.channels[channel].bytes_per_cycle * in_.e.latency / static_cast<double>(columns_);
    std::vector<std::vector<double>> heights;
    std::string numbers;
    std::size_t run = 0;
    std::string last;
    const auto flush = [&] {
      if (run > 0) numbers += fmt::format("{}{},{}", numbers.empty() ? "" : ",", run, last);
    };
    for (const Column& column : columns) {
      heights.emplace_back(column.bytes.begin(), column.bytes.end());
      double total = 0;
      for (double& h : heights.back()) h = most > 0 ? h / most : 0, total += h;
      // What can be seen, and can be told apart.
      const std::string now =
          fmt::format("{:.0f},{}", std::min(100.0, 100 * total),
                      column.most > 0 ? static_cast<int>(data_.name(in_.graph.tensors[column.tensor].name)) : -1);
      if (now != last) flush(), run = 0, last = now;
      ++run;
    }
    flush();
    draw_area(heights, "p", "channel", machine_.channels[channel].name, numbers);
  }

  // A row of columns, and what is said of each where the pointer is.
  void draw_area(const std::vector<std::vector<double>>& heights, std::string_view css_class, std::string_view kind,
                 const std::string& name, const std::string& numbers) {
    svg_ += stacked_area(heights, css_class, kPlotLeft, y_, kPlotWidth, kChannelHeight);
    svg_ += fmt::format("<path class=\"base\" d=\"M{} {}h{}\"/>\n", kPlotLeft, drawn(y_ + kChannelHeight), kPlotWidth);
    data_.row(fmt::format("{{\"y\":{},\"h\":{},\"n\":{},\"k\":\"{}\",\"c\":{},\"d\":[{}]}}", drawn(y_), kChannelHeight,
                          data_.name(name), kind, heights.size(), numbers));
    y_ += kChannelHeight + kRowGap;
  }

  // ---- Ports ----

  // Those that somebody may have waited for: the busiest.
  std::string draw_ports() {
    std::vector<std::uint32_t> used;
    const auto share = [&](std::uint32_t p) { return in_.e.latency > 0 ? in_.e.port_cycles[p] / in_.e.latency : 0; };
    for (std::uint32_t p = 0; p < machine_.ports.size(); ++p)
      if (share(p) >= kBusyPort) used.push_back(p);
    std::stable_sort(used.begin(), used.end(), [&](auto a, auto b) { return share(a) > share(b); });
    used.resize(std::min(used.size(), kMostPorts));
    std::sort(used.begin(), used.end());
    std::string rest;
    if (const std::size_t others = machine_.ports.size() - used.size(); others > 0)
      rest =
          fmt::format(" {} less busy port{} {} not shown.", others, others == 1 ? "" : "s", others == 1 ? "is" : "are");
    if (used.empty()) return rest;
    const auto shares = port_shares(in_.e, kPortColumns / in_.coarseness);
    heading("ports", kHeadHeight);
    for (const std::uint32_t p : used) {
      label(machine_.ports[p].name, kChannelHeight, percent_text(share(p)));
      std::vector<std::vector<double>> heights;
      std::string numbers;
      for (const double s : shares[p]) {
        heights.push_back({s});
        numbers += fmt::format("{}1,{:.0f},0", numbers.empty() ? "" : ",", std::min(100.0, 100 * s));
      }
      draw_area(heights, "port", "port", machine_.ports[p].name, numbers);
    }
    return rest;
  }

  std::string legend() const {
    std::string out;
    for (std::size_t p = 0; p < kPhases; ++p)
      if (in_.e.busy_by_phase[p] > 0)
        out += fmt::format("<li><b class=\"dot p{}\"></b>{}</li>", p, name(static_cast<Phase>(p)));
    return "<ul class=\"keys\">" + out + "</ul>\n";
  }

  const PageInput& in_;
  const plan::Machine& machine_;
  ScriptData& data_;
  std::vector<std::string> path_names_;
  std::vector<Bar> path_;
  std::vector<std::vector<Bar>> units_;
  std::size_t columns_ = 0;
  double y_ = 4;
  std::string svg_;
};

}  // namespace

std::string gantt_section(const PageInput& in, ScriptData& data) { return Gantt(in, data).draw(); }

std::string time_axis(const PageInput& in, double top, double bottom) {
  std::string out;
  const std::vector<double> ticks = in.time.ticks(in.e.latency, 10);
  for (std::size_t i = 0; i < ticks.size(); ++i) {
    const double x = in.x_of(ticks[i]);
    out += fmt::format("<path class=\"grid\" d=\"M{} {}V{}\"/>", drawn(x), drawn(top), drawn(bottom));
    out +=
        fmt::format("<text class=\"quiet\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}{}</text>\n", drawn(x),
                    drawn(bottom + 15), in.time.tick_text(ticks[i]), i + 1 == ticks.size() ? " " + in.time.unit() : "");
  }
  return out;
}

}  // namespace monet
