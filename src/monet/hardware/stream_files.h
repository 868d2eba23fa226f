#pragma once
#include <optional>
#include <string>
#include <vector>

#include "monet/base/config.h"
#include "monet/hardware/hardware.h"
#include "monet/hardware/reading.h"

namespace monet::hardware {

// Accelerator files of ZigZag and Stream, read as they are: ZigZag 2 and 3 (`multipliers` or `operational_array`, ports
// by allocation or by operand), Stream of 2024 (`graph`), of 2025 (`offchip_core`, connectivity as strings) and of 2026
// (`offchip_core_id`, typed links, core types, AIE tiles). Unknown keys and what contradicts itself are located errors;
// what those tools accept and we do not use is a warning.

bool looks_like_zigzag(const config::Value& root);  // one core: memories and an array
bool looks_like_stream(const config::Value& root);  // cores and links

// A ZigZag accelerator, or a core file of Stream: a chip with one core. Also the accelerators of golden JSON files.
// Here and below `places`, if any, gets the place of every part and figure.
Hardware read_zigzag(const config::Value& root, config::Findings& findings, Places* places = nullptr);

// A Stream accelerator; its core files are looked for as Stream does, from the folder of the file.
Hardware read_stream(const config::Value& root, Sources& sources, config::Findings& findings, Places* places = nullptr);

// ---- One core, for both ----

struct StreamCore {
  Core core{};
  std::string kind = "compute";  // compute, memory, shim, offchip
};
StreamCore read_stream_core(const config::Value& value, std::size_t index, Places& places, config::Findings& findings);

// The loops of "D1: [K, 32]"-like lists: "K, 32" each. Faults are reported.
std::vector<Unrolling> read_loops(const config::Value& list, std::string_view what, config::Findings& findings);

// I1, I2, O.
std::optional<Slot> zigzag_slot(std::string_view name);

}  // namespace monet::hardware
