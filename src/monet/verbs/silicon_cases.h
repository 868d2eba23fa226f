#pragma once
#include <string>
#include <vector>

#include "monet/base/config.h"
#include "monet/verbs/validate.h"

namespace monet {

// Chips that somebody measured, evaluated in default mode: cycles of inference of a few layers whose tiles and cores
// are given, and training rates of whole devices (training_cases.h). Rules in docs/validation.md.

inline constexpr double kChipTolerance = 0.05, kRateTolerance = 0.25;

bool is_silicon_file(const config::Value& root);

// Appends a suite of the chips and one of the training rates that a file has. Throws InputError if it is not sound.
void run_silicon_file(const std::string& name, const config::Value& root, std::vector<ValidationSuite>& suites);

std::string measured_text(const ValidateResult& result);

}  // namespace monet
