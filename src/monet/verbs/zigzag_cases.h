#pragma once
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "monet/base/config.h"
#include "monet/cost/map.h"
#include "monet/hardware/hardware.h"
#include "monet/verbs/comparison.h"
#include "monet/verbs/validate.h"

namespace monet {

// Cases computed by ZigZag: a layer, an accelerator, what was asked of the mapping, and every figure that came out.

// Accelerators by name: those of JSON files ({"accelerators": {name: …}}) and single files in any form we read.
class Accelerators {
 public:
  void add_json(const config::Value& accelerators);
  void add_file(const std::string& path);
  bool has(const std::string& name) const { return values_.contains(name) || cores_.contains(name); }
  std::vector<std::string> names() const;
  // Reads it if it was not yet. Throws InputError if it is not sound.
  const hardware::Core& core(const std::string& name);

 private:
  std::map<std::string, config::Value> values_;
  std::map<std::string, hardware::Core> cores_;
};

// ZigZag takes no dataflow from the accelerator's file.
hardware::Core without_dataflow(hardware::Core core);

enum class CaseKind { Fixed, Searched, Infeasible };
std::string_view name(CaseKind kind);

struct ZigzagCase {
  CaseKind kind = CaseKind::Fixed;
  std::string id{}, accelerator{};
  config::Value value;
};

// The cases of a file; what is missing in them is reported.
std::vector<ZigzagCase> read_cases(const config::Value& cases, config::Findings& findings);

// Runs one and compares it. What the model refuses is a row, not an exception.
ValidationRow run_case(const ZigzagCase& c, Accelerators& accelerators);

}  // namespace monet
