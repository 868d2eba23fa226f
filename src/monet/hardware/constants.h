#pragma once
#include <functional>
#include <string>
#include <vector>

#include "monet/hardware/hardware.h"

namespace monet::hardware {

// The figures of a chip that no file states, by name: those of cores that are copies of one description are one
// constant. What a conclusion is worth hangs on them.

enum class ConstantKind { Compute, Memory, Offchip, Link, Leakage, Area, Time };

struct Constant {
  std::string name{};  // "pe.buffer.leakage"
  ConstantKind kind = ConstantKind::Memory;
  Provenance provenance = Provenance::Assumed;
  bool operator==(const Constant&) const = default;
};

// Every figure, with the constant it is; those of a highest memory that is shared with an earlier core belong to that
// core's constant.
void for_each_constant(Hardware& hardware, const std::function<void(const Constant&, Figure&)>& visit);

// Modelled or assumed ones that are not zero, once each.
std::vector<Constant> uncertain_constants(const Hardware& hardware);

// All figures of a constant that no file states, times a factor.
void scale_constant(Hardware& hardware, const std::string& name, double factor);

// What a chip's area and power, and the leakage of it and of its off-chip memory, have of each of these constants, if
// they are areas or leakages.
struct ConstantPart {
  double area_mm2 = 0, tdp_w = 0, leakage_w = 0;
};
std::vector<ConstantPart> parts_of(const Hardware& hardware, const std::vector<Constant>& constants);

}  // namespace monet::hardware
