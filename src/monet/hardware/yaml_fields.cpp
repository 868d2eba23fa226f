#include "monet/hardware/yaml_fields.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace monet::hardware {
namespace {

using config::Amount;
using config::Quantity;
using config::Section;
using config::Unit;
using config::Value;

constexpr double kKi = 1024, kMi = kKi * 1024, kGi = kMi * 1024, kTi = kGi * 1024;

constexpr std::array kSizeUnits{Unit{"B", 8, "_bytes"},
                                Unit{"kB", 8e3},
                                Unit{"KB", 8e3},
                                Unit{"MB", 8e6},
                                Unit{"GB", 8e9},
                                Unit{"TB", 8e12},
                                Unit{"KiB", 8 * kKi, "_kib"},
                                Unit{"MiB", 8 * kMi, "_mib"},
                                Unit{"GiB", 8 * kGi},
                                Unit{"TiB", 8 * kTi},
                                Unit{"bit", 1, "_bits"},
                                Unit{"bits", 1},
                                Unit{"kbit", 1e3},
                                Unit{"Mbit", 1e6},
                                Unit{"Gbit", 1e9},
                                Unit{"Tbit", 1e12},
                                Unit{"Kibit", kKi},
                                Unit{"Mibit", kMi},
                                Unit{"Gibit", kGi},
                                Unit{"Tibit", kTi}};

#define MONET_BANDWIDTH_UNITS(bits_key, bytes_key)                                                   \
  {                                                                                                  \
    Unit{"bit/cycle", 1, bits_key}, Unit{"B/cycle", 8, bytes_key}, Unit{"Mbit/s", 1e6, "", true},    \
        Unit{"Gbit/s", 1e9, "", true}, Unit{"Tbit/s", 1e12, "", true}, Unit{"MB/s", 8e6, "", true},  \
        Unit{"GB/s", 8e9, "", true}, Unit{"TB/s", 8e12, "", true}, Unit{"MiB/s", 8 * kMi, "", true}, \
        Unit{"GiB/s", 8 * kGi, "", true}, Unit {                                                     \
      "TiB/s", 8 * kTi, "", true                                                                     \
    }                                                                                                \
  }
constexpr std::array kBandwidthUnits MONET_BANDWIDTH_UNITS("bits_per_cycle", "bytes_per_cycle");
constexpr std::array kMinBandwidthUnits MONET_BANDWIDTH_UNITS("min_bits_per_cycle", "min_bytes_per_cycle");
#undef MONET_BANDWIDTH_UNITS

constexpr std::array kEnergyUnits{Unit{"pJ", 1, "_pj"}, Unit{"aJ", 1e-6}, Unit{"fJ", 1e-3, "_fj"}, Unit{"nJ", 1e3}};
constexpr std::array kLinkEnergyUnits{Unit{"pJ/bit", 1, "_pj_per_bit"}, Unit{"fJ/bit", 1e-3}, Unit{"pJ/B", 1.0 / 8}};
constexpr std::array kPowerUnits{Unit{"mW", 1, "_mw"}, Unit{"nW", 1e-6}, Unit{"uW", 1e-3, "_uw"}, Unit{"W", 1e3}};
constexpr std::array kAreaUnits{Unit{"mm2", 1, "_mm2"}, Unit{"um2", 1e-6, "_um2"}};
constexpr std::array kCyclesUnits{Unit{"cycles", 1, "_cycles"}, Unit{"cycle", 1}};
constexpr std::array kFrequencyUnits{Unit{"MHz", 1e6, "_mhz"}, Unit{"Hz", 1, "_hz"}, Unit{"kHz", 1e3},
                                     Unit{"GHz", 1e9, "_ghz"}};
constexpr std::array kLengthUnits{Unit{"nm", 1, "_nm"}};
constexpr std::array kVoltageUnits{Unit{"V", 1, "_v"}, Unit{"mV", 1e-3}};
constexpr std::array kFractionUnits{Unit{"%", 0.01}, Unit{"", 1}};

}  // namespace

const Quantity kSize{"a size", kSizeUnits};
const Quantity kBandwidth{"a bandwidth", kBandwidthUnits};
const Quantity kMinBandwidth{"a bandwidth", kMinBandwidthUnits};
const Quantity kEnergy{"an energy", kEnergyUnits};
const Quantity kLinkEnergy{"an energy of a link", kLinkEnergyUnits};
const Quantity kPower{"a power", kPowerUnits};
const Quantity kArea{"an area", kAreaUnits};
const Quantity kCycles{"a number of cycles", kCyclesUnits};
const Quantity kFrequency{"a frequency", kFrequencyUnits};
const Quantity kLength{"a length", kLengthUnits};
const Quantity kVoltage{"a voltage", kVoltageUnits};
const Quantity kFraction{"a part of one", kFractionUnits};

Block block_of(Section& section, const Block& outer) {
  Block block = outer;
  if (std::optional<std::string> source = section.text("source")) {
    block.source = std::move(*source);
    block.assumed = false;  // a source of its own ends what was assumed around it
  }
  if (const std::optional<bool> assumed = section.boolean("assumed")) {
    block.assumed = *assumed;
    // What is assumed does not come from where the figures around it do.
    if (*assumed && !section.has("source")) block.source.clear();
  }
  return block;
}

namespace {

struct Candidate {
  std::string key;
  const Unit* unit = nullptr;  // in the key; none: in the value
};

std::vector<Candidate> candidates(std::string_view key, const Quantity& quantity) {
  std::vector<Candidate> list{{std::string(key)}};
  for (const Unit& unit : quantity.units)
    if (!unit.key.empty())
      list.push_back({unit.key.starts_with('_') ? fmt::format("{}{}", key, unit.key) : std::string(unit.key), &unit});
  return list;
}

std::optional<double> read_value(const Value& at, const Candidate& candidate, const Quantity& quantity,
                                 Section& section) {
  std::optional<double> value;
  if (candidate.unit == nullptr) {
    const std::optional<Amount> amount =
        config::read_amount(at, candidate.key, quantity, section.dialect(), section.findings());
    if (amount) value = amount->number.value;
  } else if (const std::optional<config::Number> number =
                 config::read_number(at, candidate.key, section.dialect(), section.findings())) {
    value = number->value * candidate.unit->scale;
  }
  if (value && (*value < 0 || *value > kMostFigure)) {
    section.findings().error(at, *value < 0 ? fmt::format("'{}' must not be negative", candidate.key)
                                            : fmt::format("'{}' is larger than anything can be", candidate.key));
    return std::nullopt;
  }
  return value;
}

}  // namespace

std::optional<Figure> read_figure(Section& section, std::string_view key, const Quantity& quantity,
                                  const Block& block) {
  std::optional<Figure> result;
  std::string by;
  for (const Candidate& candidate : candidates(key, quantity)) {
    const std::optional<Value> at = section.find(candidate.key);
    if (!at) continue;
    if (!by.empty())
      section.findings().error(*at, fmt::format("{} has both '{}' and '{}'", section.what(), by, candidate.key),
                               "keep one of them");
    by = candidate.key;
    if (at->is_scalar() && at->text() == "modelled") continue;
    Figure figure{.provenance = block.assumed ? Provenance::Assumed : Provenance::Given, .source = block.source};
    std::optional<double> value;
    if (at->is_map()) {
      Section s(*at, fmt::format("'{}'", candidate.key), section.dialect(), section.findings());
      if (const std::optional<Value> inner = s.require("value"))
        value = read_value(*inner, candidate, quantity, section);
      std::optional<std::string> source = s.text("source");
      if (source) figure.provenance = Provenance::Given;
      if (const std::optional<bool> assumed = s.boolean("assumed")) {
        figure.provenance = *assumed ? Provenance::Assumed : Provenance::Given;
        if (*assumed) figure.source.clear();
      }
      if (source) figure.source = std::move(*source);
      if (s.boolean("modelled").value_or(false)) figure.provenance = Provenance::Modelled;
      s.finish();
    } else {
      value = read_value(*at, candidate, quantity, section);
    }
    figure.value = value.value_or(0);
    result = std::move(figure);
  }
  return result;
}

std::optional<std::int64_t> read_bits(Section& section, std::string_view key) {
  const std::optional<Section::Measured> read = section.amount(key, kSize);
  if (!read) return std::nullopt;
  const config::Number& number = read->amount.number;
  if (number.whole && *number.whole >= 0 && *number.whole <= kMostBits) return number.whole;
  section.findings().error(read->where, number.value < 0 ? fmt::format("'{}' must not be negative", key)
                                        : number.value > static_cast<double>(kMostBits)
                                            ? fmt::format("'{}' must be at most {} bits", key, kMostBits)
                                            : fmt::format("'{}' must be a whole number of bits", key));
  return std::nullopt;
}

std::optional<std::int64_t> read_bandwidth(Section& section, std::string_view key, const Quantity& quantity,
                                           double clock_hz) {
  const std::optional<Section::Measured> read = section.amount(key, quantity);
  if (!read) return std::nullopt;
  double bits = read->amount.number.value;
  if (read->amount.per_second) {
    if (clock_hz <= 0) {
      section.findings().error(read->where, "a bandwidth per second needs the chip's 'clock'",
                               "or write it per cycle, as in '64 B/cycle'");
      return std::nullopt;
    }
    bits /= clock_hz;
  }
  if (!(bits >= 1) || bits > static_cast<double>(kMostBitsPerCycle)) {
    section.findings().error(read->where, fmt::format("'{}' comes to {} bits a cycle; it must be 1 to {}", key,
                                                      config::shortest(bits), kMostBitsPerCycle));
    return std::nullopt;
  }
  const double whole = std::floor(bits);
  if (bits - whole > 0.01 * bits)
    section.findings().warning(
        read->where, fmt::format("'{}' comes to {} bits a cycle, taken as {}", key, config::shortest(bits), whole));
  return static_cast<std::int64_t>(whole);
}

}  // namespace monet::hardware
