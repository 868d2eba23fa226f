#include "monet/onnx/operators.h"

#include <unordered_map>

namespace monet {

const OperatorRule* find_rule(std::string_view type) {
  static const std::unordered_map<std::string_view, const OperatorRule*> kRules = [] {
    std::unordered_map<std::string_view, const OperatorRule*> rules;
    for (const auto table : {elementwise_rules(), contraction_rules(), pooling_rules(), normalisation_rules(),
                             reduction_rules(), movement_rules(), constant_rules(), training_rules(), known_rules()})
      for (const OperatorRule& rule : table) rules.emplace(rule.type, &rule);
    return rules;
  }();
  const auto it = kRules.find(type);
  return it == kRules.end() ? nullptr : it->second;
}

}  // namespace monet
