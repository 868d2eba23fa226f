#include "monet/report/page_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "monet/base/json.h"
#include "monet/base/utf8.h"
#include "monet/report/nest.h"

namespace monet {
namespace {

constexpr std::string_view kNoCharacter = "\xEF\xBF\xBD";

// Three digits that count, and a prefix of the unit.
template <std::size_t N>
std::string scaled(double value, double base, const std::array<const char*, N>& units) {
  std::size_t unit = 0;
  const double limit = base == 1000 ? 999.5 : 1023.5;
  while (std::abs(value) >= limit && unit + 1 < N) value /= base, ++unit;
  const double magnitude = std::abs(value);
  const int decimals = unit == 0 && value == std::floor(value) ? 0 : magnitude < 9.995 ? 2 : magnitude < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f} {}", value, decimals, units[unit]);
}

}  // namespace

std::string html(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const auto c = static_cast<unsigned char>(text[0]);
    switch (c) {
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '&': out += "&amp;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default:
        if (length == 0 || c < 0x20)
          out += c == '\n' || c == '\t' ? std::string_view(" ") : kNoCharacter;
        else
          out += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(1, length));
  }
  return out;
}

std::string shortened(std::string_view text, std::size_t characters) {
  std::vector<std::string_view> all;
  while (!text.empty()) {
    const std::size_t length = std::max<std::size_t>(1, utf8_length(text));
    all.push_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  std::string out;
  const bool is_short = all.size() <= characters;
  const std::size_t head = is_short ? all.size() : characters / 2,
                    tail = is_short || characters == 0 ? 0 : characters - head - 1;
  for (std::size_t i = 0; i < head; ++i) out += all[i];
  if (!is_short) out += "…";
  for (std::size_t i = all.size() - tail; i < all.size(); ++i) out += all[i];
  return out;
}

std::string script_string(std::string_view text) {
  std::string out;
  for (const char c : json_quoted(text))
    if (c == '<' || c == '>' || c == '&')
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      out += c;
  return out;
}

std::string bytes_text(double bytes) { return scaled(bytes, 1024, std::array{"B", "KiB", "MiB", "GiB", "TiB"}); }
std::string count_text(double value) {
  std::string text = scaled(value, 1000, std::array{"", "k", "M", "G", "T", "P"});
  if (text.back() == ' ') text.pop_back();
  return text;
}
std::string percent_text(double share) {
  const double percent = 100 * share, magnitude = std::abs(percent);
  if (magnitude > 0 && magnitude < 0.005) return "≈ 0 %";
  return fmt::format("{:.{}f} %", percent, magnitude >= 99.95 || magnitude == 0 ? 0 : magnitude >= 0.95 ? 1 : 2);
}
std::string pj_text(double pj) { return scaled(pj, 1000, std::array{"pJ", "nJ", "µJ", "mJ", "J", "kJ"}); }
std::string watt_text(double watt) { return scaled(watt * 1e6, 1000, std::array{"µW", "mW", "W", "kW"}); }
std::string cycles_text(double cycles) { return quantity(std::round(cycles)) + " cycles"; }

std::string drawn(double value) {
  std::string text = fmt::format("{:.1f}", value);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

TimeScale::TimeScale(double clock_hz, double latency) : clock_hz_(clock_hz) {
  struct Unit {
    const char* name;
    double per_s;
  };
  if (clock_hz > 0) {
    constexpr std::array<Unit, 4> kUnits{{{"s", 1}, {"ms", 1e3}, {"µs", 1e6}, {"ns", 1e9}}};
    const double seconds = latency / clock_hz;
    std::size_t i = 0;
    while (i + 1 < kUnits.size() && seconds * kUnits[i].per_s < 1) ++i;
    unit_ = kUnits[i].name;
    per_cycle_ = kUnits[i].per_s / clock_hz;
  } else {
    unit_ = latency >= 1e7 ? "Mcycles" : latency >= 1e4 ? "kcycles" : "cycles";
    per_cycle_ = latency >= 1e7 ? 1e-6 : latency >= 1e4 ? 1e-3 : 1;
  }
  const double most = latency * per_cycle_;
  decimals_ = most >= 1000 ? 0 : most >= 100 ? 1 : most >= 10 ? 2 : 3;
}

std::string TimeScale::text(double cycles) const {
  return fmt::format("{:.{}f} {}", cycles * per_cycle_, decimals_, unit_);
}

std::string TimeScale::own_text(double cycles) const {
  if (clock_hz_ > 0) return scaled(cycles / clock_hz_ * 1e12, 1000, std::array{"ps", "ns", "µs", "ms", "s"});
  return quantity(std::round(cycles)) + " cycles";
}

std::vector<double> TimeScale::ticks(double latency, int about) const {
  const double most = latency * per_cycle_;
  if (!(most > 0)) return {0};
  const double rough = most / about;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {5.0, 2.0, 1.0})
    if (factor * power >= rough * 0.75) step = factor * power;
  std::vector<double> out;
  for (int i = 0; i * step <= most * (1 + 1e-9) && i <= 4 * about; ++i) out.push_back(i * step / per_cycle_);
  return out;
}

std::string TimeScale::tick_text(double cycles) const { return fmt::format("{:.6g}", cycles * per_cycle_); }

std::string stacked_area(const std::vector<std::vector<double>>& columns, std::string_view css_class, double x,
                         double y, double width, double height) {
  if (columns.empty()) return "";
  const std::size_t layers = columns[0].size();
  const double step = width / static_cast<double>(columns.size());
  std::vector<double> below(columns.size(), 0);
  std::string out;
  for (std::size_t l = 0; l < layers; ++l) {
    // Every run of columns that have something of the layer is one closed part of the path.
    std::string path;
    const auto top = [&](std::size_t c) { return drawn(y + height * (1 - std::min(1.0, below[c] + columns[c][l]))); };
    const auto bottom = [&](std::size_t c) { return drawn(y + height * (1 - std::min(1.0, below[c]))); };
    const auto at = [&](std::size_t c) { return drawn(x + step * static_cast<double>(c)); };
    const auto is_there = [&](std::size_t c) { return top(c) != bottom(c); };
    for (std::size_t c = 0; c < columns.size();) {
      if (!is_there(c)) {
        ++c;
        continue;
      }
      std::size_t end = c;
      while (end < columns.size() && is_there(end)) ++end;
      path += "M" + at(c) + " " + top(c);
      for (std::size_t i = c + 1; i < end; ++i)
        if (top(i) != top(i - 1)) path += "H" + at(i) + "V" + top(i);
      path += "H" + at(end) + "V" + bottom(end - 1);
      for (std::size_t i = end - 1; i > c; --i)
        if (bottom(i) != bottom(i - 1)) path += "H" + at(i) + "V" + bottom(i - 1);
      path += "H" + at(c) + "z";
      c = end;
    }
    for (std::size_t c = 0; c < columns.size(); ++c) below[c] += columns[c][l];
    if (!path.empty()) out += fmt::format("<path class=\"{}{}\" d=\"{}\"/>\n", css_class, l, path);
  }
  return out;
}

std::string share_cell(double share, double largest) {
  return fmt::format("<td class=\"share\" style=\"--s:{:.3f}\">{}</td>", largest > 0 ? share / largest : 0,
                     percent_text(share));
}

std::string bar(const std::string& title, const std::string& total, const std::vector<BarPart>& parts) {
  double sum = 0;
  for (const BarPart& part : parts) sum += std::max(0.0, part.amount);
  std::string bars, keys;
  for (const BarPart& part : parts) {
    if (!(part.amount > 0)) continue;
    const double share = part.amount / sum;
    const std::string told = fmt::format("{}: {}, {}", part.name, part.value, percent_text(share));
    bars +=
        fmt::format("<i class=\"{}\" style=\"flex-grow:{:.5f}\" title=\"{}\"></i>", part.css_class, share, html(told));
    keys += fmt::format("<li><b class=\"dot {}\"></b>{} <span>{} · {}</span></li>", part.css_class, html(part.name),
                        html(part.value), percent_text(share));
  }
  return fmt::format(
      "<div class=\"bar\"><h3>{} <span>{}</span></h3>\n<div class=\"strip\">{}</div>\n<ul "
      "class=\"keys\">{}</ul></div>\n",
      html(title), html(total), bars, keys);
}

}  // namespace monet
