#pragma once
#include <string>
#include <utility>
#include <vector>

#include "monet/base/config.h"
#include "monet/hardware/hardware.h"
#include "monet/hardware/reading.h"

namespace monet::hardware {

// MONET's own form of a chip (docs/hardware.md).

bool looks_like_monet(const config::Value& root);

// `root` is of a tree whose includes and parameters are resolved (config_resolve.h).
// `places`, if any, gets the place of every part and figure.
Hardware read_monet(const config::Value& root, config::Findings& findings, Places* places = nullptr);

// The chip as a file: every figure with its provenance and source, units in the keys. read_monet gives it back.
std::string print(const Hardware& hardware);

}  // namespace monet::hardware
