// What Stream's scheduler costs here: the schedules of `monet validate stream`, and any other file of that format.
//     stream_bench FILE...
// Times are of the processor: others on the machine do not count.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <vector>

#include "cpu_time.h"
#include "monet/base/config.h"
#include "monet/base/diagnostic.h"
#include "monet/base/file.h"
#include "monet/base/gzip.h"
#include "monet/schedule/stream_file.h"

namespace monet::bench {
namespace {

// What Stream itself takes for these numbers of tiles, as measured by the writers of the schedules; no others are
// known.
const char* seconds_of_stream(std::size_t tiles) {
  switch (tiles) {
    case 162: return "0.1";
    case 3866: return "31";
    case 30720: return "480";
    default: return "";
  }
}

void measure(const std::string& path) {
  const double start = cpu_seconds();
  const config::Tree tree = config::parse_json(unpacked(read_file(path), path), path);
  config::Findings findings;
  const schedule::StreamCase given = schedule::read_stream_case(tree.root(), findings);
  findings.throw_if_failed();
  const double reading = 1000 * (cpu_seconds() - start);
  std::vector<double> runs;
  bool agrees = true;
  for (double spent = 0; runs.size() < 3 || (spent < 2000 && runs.size() < 21); spent += runs.back()) {
    const double begin = cpu_seconds();
    const schedule::StreamResult result = schedule::run_stream(given.problem);
    runs.push_back(1000 * (cpu_seconds() - begin));
    agrees =
        agrees && result.failure.empty() && result.start == given.expected.start && result.end == given.expected.end;
  }
  std::sort(runs.begin(), runs.end());
  const double median = runs[runs.size() / 2];
  const std::size_t tiles = given.problem.tiles.size();
  const std::string theirs = seconds_of_stream(tiles);
  fmt::print("{:44} {:7} {:9.1f} {:10.2f} {:8.2f} {:8.2f} {:7} {:>10} {:>9}\n",
             std::filesystem::path(path).filename().string(), tiles, reading, median, runs.front(),
             1000 * median / static_cast<double>(tiles), agrees ? "yes" : "NO", theirs,
             theirs.empty() ? "" : fmt::format("{:.0f}x", std::stod(theirs) * 1000 / median));
}

}  // namespace
}  // namespace monet::bench

int main(int count, char** words) {
  fmt::print("{:44} {:>7} {:>9} {:>10} {:>8} {:>8} {:>7} {:>10} {:>9}\n", "schedule", "tiles", "read ms", "median ms",
             "best ms", "us/tile", "exact", "Stream s", "faster");
  try {
    for (int i = 1; i < count; ++i) monet::bench::measure(words[i]);
  } catch (const monet::InputError& e) {
    std::fputs(e.what(), stderr);
    return 2;
  }
  return 0;
}
