#pragma once
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace monet {

// Text and drawings of the page of an evaluation.

std::string html(std::string_view text);  // escaped, also for attributes; bytes that are no UTF-8 become U+FFFD
// At most so many characters, the middle left out.
std::string shortened(std::string_view text, std::size_t characters);
// For a script: as JSON, but nothing in it can end the script.
std::string script_string(std::string_view text);

// Numbers as people read them.
std::string bytes_text(double bytes);    // 13.4 MiB
std::string count_text(double value);    // 1.82 G
std::string percent_text(double share);  // 12.3 %
std::string pj_text(double pj);          // 4.21 mJ
std::string watt_text(double watt);      // 310 mW
std::string cycles_text(double cycles);  // 12,345,678 cycles
std::string drawn(double value);         // 12.3 in a drawing: one decimal, no zeros

// Time in the one unit that fits the whole page, or cycles where the clock is not known.
class TimeScale {
 public:
  TimeScale(double clock_hz, double latency);
  std::string text(double cycles) const;      // 1.234 ms
  std::string own_text(double cycles) const;  // 1.23 µs: in the unit that fits it alone
  std::string unit() const { return unit_; }
  double per_cycle() const { return per_cycle_; }
  // Round times for an axis, in cycles, about so many.
  std::vector<double> ticks(double latency, int about) const;
  std::string tick_text(double cycles) const;

 private:
  double clock_hz_ = 0, per_cycle_ = 1;
  std::string unit_;
  int decimals_ = 3;
};

// Layers on top of each other over columns of equal width, as one path for each layer that is there. A height is
// [column][layer], as part of `height`; columns alike are drawn as one.
std::string stacked_area(const std::vector<std::vector<double>>& columns, std::string_view css_class, double x,
                         double y, double width, double height);

// A cell of a table: a share, and behind it a bar as long as it is beside the largest of its column.
std::string share_cell(double share, double largest);

// A bar of parts with their names and shares below it. Parts of nothing are left out.
struct BarPart {
  std::string name{}, css_class{}, value{};
  double amount = 0;
};
std::string bar(const std::string& title, const std::string& total, const std::vector<BarPart>& parts);

}  // namespace monet
