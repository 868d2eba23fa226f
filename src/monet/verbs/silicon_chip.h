#pragma once
#include <cstdint>
#include <map>

#include "monet/base/config_section.h"
#include "monet/hardware/hardware.h"

namespace monet {

// A chip as the files of measured chips describe it: cores with `array`, `dataflows` and `memories` (a width and a
// number of ports each, and per operand the port of each direction), `links` each with the medium it runs over, and
// `offchip_core`.

constexpr config::IntegerRange kSiliconIds{.least = 0, .most = 1'000'000};

struct SiliconChip {
  hardware::Hardware hardware{};
  std::map<std::int64_t, std::uint32_t> cores{};  // of Hardware::cores, by the file's id
};
SiliconChip read_silicon_chip(const config::Value& value, config::Findings& findings);

}  // namespace monet
