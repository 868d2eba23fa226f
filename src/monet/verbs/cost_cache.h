#pragma once
#include <string>
#include <vector>

#include "monet/base/diagnostic.h"
#include "monet/cost/cache.h"

namespace monet {

// The file of --cache. What is wrong with it is a warning: results are worth more than the file.
void read_cache(const std::string& path, cost::Cache& cache, std::vector<Diagnostic>& warnings);
void write_cache(const std::string& path, cost::Cache& cache, std::vector<Diagnostic>& warnings);

}  // namespace monet
