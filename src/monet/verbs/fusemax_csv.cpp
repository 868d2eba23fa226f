// Tables as FuseMax's artifact writes them: a line of names, then one line for each case.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "monet/base/diagnostic.h"
#include "monet/verbs/fusemax_cases.h"

namespace monet {
namespace {

std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells;
  while (!line.empty() && (line.back() == '\r' || line.back() == '\n')) line.remove_suffix(1);
  for (std::size_t at = 0; at <= line.size();) {
    const std::size_t end = std::min(line.find(',', at), line.size());
    cells.emplace_back(line.substr(at, end - at));
    at = end + 1;
  }
  return cells;
}

double cell_number(const std::string& text, const std::string& path, int line) {
  try {
    std::size_t used = 0;
    const double value = std::stod(text, &used);
    if (used == text.size()) return value;
  } catch (const std::exception&) {
    // Said below.
  }
  throw InputError(
      Diagnostic{.file = path, .line = line, .message = fmt::format("'{}' is no number", text.substr(0, 40))});
}

}  // namespace

FusemaxTable read_fusemax_csv(const std::string& bytes, const std::string& path) {
  // fusemax_attn-binding.csv and attn-binding.csv are the table attn-binding.
  FusemaxTable table{.name = std::filesystem::path(path).stem().string()};
  if (table.name.starts_with("fusemax_")) table.name = table.name.substr(8);
  std::vector<std::string> names;
  std::string_view rest = bytes;
  for (int line = 1; !rest.empty(); ++line) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::vector<std::string> cells = cells_of(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (cells.size() == 1 && cells[0].empty()) continue;
    if (names.empty()) {
      names = cells;
      const bool is_other = std::find(names.begin(), names.end(), "model") != names.end() && names[0] != "model";
      if (is_other) return table;  // such as pareto.csv
      if (names.size() < 3 || names[0] != "model" || names[1] != "seq_len")
        throw InputError(Diagnostic{.file = path,
                                    .line = line,
                                    .message = "not a table of FuseMax",
                                    .hint = "its columns are model, seq_len, traffic, latency, …"});
      continue;
    }
    FusemaxCase row;
    for (std::size_t i = 0; i < std::min(cells.size(), names.size()); ++i) {
      if (i == 0) row.model = cells[i];
      if (i == 1) row.length = cells[i];
      if (i > 1 && !names[i].empty()) row.figures[names[i]] = cell_number(cells[i], path, line);
    }
    table.cases.push_back(std::move(row));
  }
  return table;
}

}  // namespace monet
