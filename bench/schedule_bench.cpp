// What a tile costs our scheduler, from 10^3 to 10^6 tiles: microseconds and resident memory.
//     schedule_bench [MOST_TILES]
// Times are of the processor: others on the machine do not count. Exit code 1 if a schedule cannot be made, or 10^6
// tiles take 10 s or 4 GiB.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "cpu_time.h"
#include "monet/schedule/timeline.h"
#include "synthetic.h"

namespace monet::bench {
namespace {

using namespace schedule;

struct Figures {
  bool is_feasible = false;
  std::size_t tiles = 0, transfers = 0, spills = 0;
  double cycles = 0, seconds = 0;
  double megabytes = 0;  // peak of the process: the problem and the schedule
};

std::vector<Shape> shapes() {
  constexpr std::int64_t kib = 1024, mib = 1024 * kib, gib = 1024 * mib;
  return {
      {.name = "4 cores, all fits", .store_bytes = 16 * gib},
      {.name = "4 cores, evictions", .store_bytes = 256 * kib},
      {.name = "4 cores, evictions, ports", .has_ports = true, .store_bytes = 256 * kib},
      {.name = "4 cores, fused", .is_fused = true, .store_bytes = 128 * kib},
      {.name = "16 cores, own links", .cores = 16, .has_own_links = true, .store_bytes = 256 * kib},
      {.name = "1 core, many blocks",
       .cores = 1,
       .rows = 256,
       .row_bytes = 64,
       .weight_bytes = 256,
       .store_bytes = mib},
      {.name = "sizes mixed, holes at home", .has_mixed_sizes = true, .store_bytes = 512 * kib},
      {.name = "a unit that waits", .has_late_unit = true, .store_bytes = 256 * kib},
      {.name = "chains one after the other", .is_one_after_other = true, .store_bytes = 256 * kib},
      {.name = "4 cores, finer rows", .rows_grow = true, .row_bytes = mib, .store_bytes = 2 * mib},
  };
}

Figures measure(const Shape& shape, std::uint32_t tiles) {
  const Problem p = training_chain(shape, tiles);
  Figures f{.tiles = p.tiles.size()};
  double spent = 0;
  // The best of several for short ones.
  for (int run = 0; run == 0 || (spent < 0.3 && run < 20); ++run) {
    const double start = cpu_seconds();
    const Scheduled result = schedule::schedule(p);
    const double seconds = cpu_seconds() - start;
    spent += seconds;
    f.seconds = run == 0 ? seconds : std::min(f.seconds, seconds);
    const Timeline* t = std::get_if<Timeline>(&result);
    if (t == nullptr) return f;
    f.is_feasible = true;
    f.transfers = t->transfers.size();
    f.cycles = t->cycles;
    f.spills = static_cast<std::size_t>(std::count_if(t->transfers.begin(), t->transfers.end(),
                                                      [](const Transfer& x) { return x.purpose == Purpose::Spill; }));
  }
  return f;
}

// In a process of its own, for its peak of memory.
Figures measure_apart(const Shape& shape, std::uint32_t tiles) {
  int ends[2];
  if (pipe(ends) != 0) std::exit(2);
  const pid_t child = fork();
  if (child == 0) {
    const Figures f = measure(shape, tiles);
    std::_Exit(write(ends[1], &f, sizeof f) == sizeof f ? 0 : 1);
  }
  close(ends[1]);
  Figures f;
  if (read(ends[0], &f, sizeof f) != static_cast<ssize_t>(sizeof f)) f.is_feasible = false;
  close(ends[0]);
  rusage usage{};
  wait4(child, nullptr, 0, &usage);
  f.megabytes = static_cast<double>(usage.ru_maxrss) / 1024;
  return f;
}

int run(std::uint32_t most) {
  bool is_good = true;
  fmt::print("{:28} {:>9} {:>10} {:>9} {:>14} {:>9} {:>8} {:>8} {:>7}\n", "shape", "tiles", "transfers", "spills",
             "cycles", "seconds", "us/tile", "MiB", "ratio");
  for (const Shape& shape : shapes()) {
    double first = 0;
    for (std::uint32_t tiles = 1000; tiles <= most; tiles *= 10) {
      const Figures f = measure_apart(shape, tiles);
      if (!f.is_feasible) {
        fmt::print("{:28} {:9}  no schedule\n", shape.name, tiles);
        is_good = false;
        break;
      }
      const double each = f.seconds / static_cast<double>(f.tiles) * 1e6;
      if (first == 0) first = each;
      fmt::print("{:28} {:9} {:10} {:9} {:14.0f} {:9.4f} {:8.3f} {:8.0f} {:7.2f}\n", shape.name, f.tiles, f.transfers,
                 f.spills, f.cycles, f.seconds, each, f.megabytes, each / first);
      std::fflush(stdout);
      is_good = is_good && f.seconds < 10 && f.megabytes < 4096;
    }
  }
  fmt::print("ratio: us/tile to that of 10^3 tiles; MiB with the problem itself\n");
  return is_good ? 0 : 1;
}

}  // namespace
}  // namespace monet::bench

int main(int count, char** words) {
  return monet::bench::run(count > 1 ? static_cast<std::uint32_t>(std::strtoul(words[1], nullptr, 10)) : 1'000'000);
}
