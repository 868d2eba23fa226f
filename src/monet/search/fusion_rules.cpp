#include "monet/search/fusion_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "monet/base/config_section.h"
#include "monet/base/nearest.h"
#include "monet/graph/lower.h"
#include "monet/hardware/hardware.h"

namespace monet::search {
namespace {

using config::Findings;
using config::Section;
using config::Value;

// What a node can be called by: its operator, or its class of work. Views are no nodes of a group, and operators of
// several passes are broken up before.
std::vector<std::string> known_kinds() {
  std::vector<std::string> names;
  for (int i = 0; i <= static_cast<int>(hardware::WorkClass::Movement); ++i)
    names.emplace_back(hardware::name(static_cast<hardware::WorkClass>(i)));
  for (const Op& op : operator_prototypes())
    if (!std::holds_alternative<View>(op) && is_single_work(op)) names.emplace_back(operator_name(op));
  return names;
}

std::vector<std::string> kinds_in(Section& section, std::string_view key) {
  std::vector<std::string> out;
  const std::vector<std::string> known = known_kinds();
  for (const Value& value : section.list(key)) {
    std::optional<std::string> text = config::read_text(value, key, section.findings());
    if (!text) continue;
    if (std::find(known.begin(), known.end(), *text) == known.end())
      section.findings().error(value, fmt::format("'{}' is no kind of node", text->substr(0, 60)),
                               did_you_mean(*text, known,
                                            "an operator of `monet graph MODEL --text --decompose`, or contraction, "
                                            "depthwise_contraction, pooling, elementwise, reduction, movement"));
    out.push_back(std::move(*text));
  }
  return out;
}

KindLimit read_limit(const Value& value, Findings& findings) {
  Section s(value, "a limit of kinds", config::Dialect::Strict, findings);
  KindLimit limit{.of = kinds_in(s, "of"), .with = kinds_in(s, "with")};
  limit.most = static_cast<std::uint32_t>(s.require_integer("most", {.least = 0, .most = 1'000}).value_or(1));
  if (limit.of.empty()) findings.error(value, "'of' names no kind of node");
  s.finish();
  return limit;
}

}  // namespace

FusionRules monet_rules() {
  return {.name = "monet",
          .kinds = {{.of = {"conv"}, .most = 3},
                    {.of = {"matmul"}, .most = 1},
                    {.of = {"conv", "conv_data_gradient"}, .most = 1, .with = {"matmul"}}}};
}

FusionRules default_rules() {
  return {.name = "default",
          .kinds = {{.of = {"contraction", "depthwise_contraction"}, .most = 2}},
          .rows_divide = false,
          .boundary_fits = true,
          .most_outputs = 0,
          .statistics_are_barriers = true,
          .movement_is_free = false,
          .updates_are_one = true};
}

FusionRules parse_rules(const std::string& text, const std::string& file) {
  const config::Tree tree = config::parse_yaml(text, file);
  Findings findings;
  Section s(tree.root(), "the rules", config::Dialect::Strict, findings);
  FusionRules rules{.name = file};
  if (const auto form = s.require_text("monet"); form && *form != "fusion_rules")
    findings.error(*s.find("monet"), "this is no file of rules", "one begins with 'monet: fusion_rules'");
  const auto flag = [&](std::string_view key, bool& value) { value = s.boolean(key).value_or(value); };
  const auto count = [&](std::string_view key, std::uint32_t& value, std::int64_t least) {
    value = static_cast<std::uint32_t>(s.integer(key, {.least = least, .most = 1'000'000}).value_or(value));
  };
  count("limit", rules.limit, 1);
  for (const Value& limit : s.list("kinds")) rules.kinds.push_back(read_limit(limit, findings));
  flag("rows_divide", rules.rows_divide);
  flag("weights_fit", rules.weights_fit);
  flag("boundary_fits", rules.boundary_fits);
  count("most_outputs", rules.most_outputs, 0);
  count("most_producers", rules.most_producers, 0);
  flag("statistics_are_barriers", rules.statistics_are_barriers);
  flag("movement_is_free", rules.movement_is_free);
  flag("updates_are_one", rules.updates_are_one);
  s.finish();
  findings.throw_if_failed();
  return rules;
}

bool looks_like_rules(const Value& root) {
  const std::optional<Value> form = root.is_map() ? root.find("monet") : std::nullopt;
  return form && form->is_scalar() && form->text() == "fusion_rules";
}

}  // namespace monet::search
