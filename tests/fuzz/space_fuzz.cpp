#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "monet/base/diagnostic.h"
#include "monet/hardware/space.h"

// Any bytes are a space of chips or an InputError; and every point of a space is a chip or has a reason.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace monet;
  try {
    hardware::LoadedSpace loaded =
        hardware::parse_space(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz.yaml");
    // Only a chip of the library: what other files hold is no part of the input.
    if (loaded.space.chip.find_first_of("/.") != std::string::npos) return 0;
    const hardware::Family family(std::move(loaded));
    hardware::Point first(family.free().size(), 0), last;
    for (const std::uint16_t count : family.choices()) last.push_back(static_cast<std::uint16_t>(count - 1));
    for (const hardware::Point& point : {first, last}) {
      const hardware::Member member = family.member(point);
      if (member.hardware.has_value() == !member.reason.empty()) std::abort();
      if (member.broken > family.space().constraints.size()) std::abort();
    }
  } catch (const InputError& error) {
    if (error.diagnostics().empty()) std::abort();
  }
  return 0;
}
