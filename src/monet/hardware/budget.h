#pragma once
#include <optional>
#include <string>
#include <vector>

#include "monet/hardware/hardware.h"

namespace monet::hardware {

// What a chip takes: area, and power when everything on it is busy. The off-chip memory is no part of it. A memory that
// several cores share is counted once, with the first of them.

// mm2, W, bytes; of one core, or of all.
struct Budget {
  double array_area_mm2 = 0, vector_area_mm2 = 0, memory_area_mm2 = 0;
  // At peak: every lane computes its dearest operation, every port carries a word in its dearer direction, every cycle.
  double array_w = 0, vector_w = 0, memory_w = 0;
  double link_w = 0;     // every link carries what it can
  double leakage_w = 0;  // of the memories
  double bytes = 0;      // of the memories, registers included
  double lanes = 0;      // that multiply

  double area_mm2() const { return array_area_mm2 + vector_area_mm2 + memory_area_mm2; }
  double tdp_w() const { return array_w + vector_w + memory_w + link_w + leakage_w; }
};

struct ChipBudget {
  Budget total{};
  std::vector<Budget> cores{};  // by Hardware::cores; links are nobody's
  bool has_power = false;       // else there is no clock, and no figure of power but leakage
};

ChipBudget budget_of(const Hardware& hardware);

// Whether a core before this one has the same memory: one of the highest, of the same name and size, that they share.
bool is_counted_before(const Hardware& hardware, CoreId core, std::size_t memory);

// Of all memories of all cores, mW; what is shared once.
double leakage_mw(const Hardware& hardware);

}  // namespace monet::hardware
