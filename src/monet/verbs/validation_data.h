#pragma once
#include <string_view>

namespace monet {

// data/validation/zigzag.json, in the binary itself; made at build time.
std::string_view zigzag_validation_data();

// Two schedules of Stream (70eb6751, July 2025), gzip, of ResNet-18 on its TPU-like quad core: layer by layer, its
// convolutions split by channels over four cores; and fused in rows, on one core.
std::string_view stream_layer_by_layer_data();
std::string_view stream_fused_data();

// Chips that were measured, and training rates of devices: data/validation/silicon_*.json.
std::string_view silicon_chips_data();
std::string_view silicon_training_data();

// data/validation/fusemax.json.
std::string_view fusemax_validation_data();

// data/validation/bands.json.
std::string_view error_bands_data();

}  // namespace monet
