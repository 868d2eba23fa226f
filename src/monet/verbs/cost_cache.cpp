#include "monet/verbs/cost_cache.h"

#include <fmt/format.h>

#include <filesystem>

#include "monet/base/file.h"

namespace monet {

void read_cache(const std::string& path, cost::Cache& cache, std::vector<Diagnostic>& warnings) {
  if (!std::filesystem::exists(path)) return;
  if (const std::size_t others = cache.add(read_file(path), path); others > 0)
    warnings.push_back(
        {.file = path,
         .message = fmt::format("{} mappings were stored by another version of MONET and are not used", others),
         .severity = Severity::Warning});
}

// Another process may have written the file meanwhile: what it found is kept, too. The results are worth more than the
// file, so that one that cannot be written is a warning.
void write_cache(const std::string& path, cost::Cache& cache, std::vector<Diagnostic>& warnings) {
  try {
    std::vector<Diagnostic> seen;
    if (std::filesystem::exists(path)) read_cache(path, cache, seen);
  } catch (const InputError&) {  // it is replaced
  }
  try {
    write_file(path, cache.text());
  } catch (const InputError& error) {
    for (Diagnostic d : error.diagnostics()) {
      d.severity = Severity::Warning;
      warnings.push_back(std::move(d));
    }
  }
}

}  // namespace monet
