#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace monet::hardware {

// Where the parts and figures of a chip stand in its files, by path: those of verify.h, followed by the member of
// hardware.h ("cores[0].memories[2].read_energy_pj"). Beside the chip and not in it: two files that say the same give
// equal chips.

struct Origin {
  std::string file{};
  std::uint32_t line = 0;  // from 1
  bool operator==(const Origin&) const = default;
};

struct Origins {
  std::map<std::string, Origin> places{};
  std::map<std::string, std::string> copies{};  // cores[7]: cores[4], whose lines it was made of

  // Nothing if no file states it: it is modelled, assumed or a default.
  std::optional<Origin> find(std::string path) const;
  bool operator==(const Origins&) const = default;
};

}  // namespace monet::hardware
