#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "monet/base/diagnostic.h"
#include "monet/schedule/stream_file.h"

// Any bytes are a schedule problem or an InputError; a problem has a schedule or a reason why not, and ends.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace monet;
  try {
    const config::Tree tree =
        config::parse_json(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz.json");
    config::Findings findings;
    const schedule::StreamCase c = schedule::read_stream_case(tree.root(), findings);
    findings.throw_if_failed();
    const schedule::StreamResult result = schedule::run_stream(c.problem);
    if (result.failure.empty() && result.end.size() != c.problem.tiles.size()) std::abort();
  } catch (const InputError& error) {
    if (error.diagnostics().empty()) std::abort();
  }
  return 0;
}
