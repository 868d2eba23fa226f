#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace monet {

// Numbers as people read them.
std::string grouped(std::uint64_t value);           // 11,689,512
std::string point_count(double count);              // 10,000 or, where not all digits are known, 4.66e+28
std::string byte_count(std::uint64_t bytes);        // 13.0 MB (decimal units)
std::string byte_count(double bytes);               // of whole ones
std::string scientific(double value);               // 3.1e-09
std::string seconds_text(double seconds);           // 20.12 ms
std::string share_text(double part, double whole);  // 4.1 %, 37 %

// A cell of a CSV file, in quotes where it needs them.
std::string csv_cell(const std::string& cell);

// Columns as wide as their widest cell; the first is left-aligned, the others right-aligned.
class Table {
 public:
  Table() = default;
  explicit Table(std::vector<std::string> header);
  void row(std::vector<std::string> cells);
  std::string text(const std::string& indent = "") const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace monet
