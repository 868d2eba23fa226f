#pragma once
#include <vector>

#include "monet/base/config.h"
#include "monet/cost/cache.h"
#include "monet/verbs/validate.h"

namespace monet {

// Measured training rates of one device, beside one iteration of the model as the row states it, with the default plan.
// Rows whose device or model MONET does not have are skipped with the reason.
void run_training_rates(const config::Value& rows, cost::Cache& cache, ValidationSuite& suite);

}  // namespace monet
