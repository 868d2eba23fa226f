// Assigns storage formats: sources are set, everything else follows by inference. Limits: one format for the whole
// model.
#include "monet/rewrite/precision.h"

#include <fmt/format.h>

#include <vector>

#include "monet/base/diagnostic.h"
#include "monet/base/nearest.h"
#include "monet/graph/infer.h"

namespace monet {

Element parse_precision(std::string_view name) {
  if (name == "fp16" || name == "mixed") return Element::F16;
  if (name == "bf16") return Element::BF16;
  if (name == "fp32") return Element::F32;
  if (name == "fp64") return Element::F64;
  const std::vector<std::string> names{"fp16", "bf16", "fp32", "fp64", "mixed"};
  throw InputError(Diagnostic{.where = "--precision",
                              .message = fmt::format("unknown precision '{}'", name),
                              .hint = did_you_mean(name, names, "known: fp16, bf16, fp32, fp64")});
}

Graph set_precision(Graph g, Element storage) {
  const Uses u = uses(g);
  for (std::size_t t = 0; t < g.tensors.size(); ++t) {
    Tensor& tensor = g.tensors[t];
    if (u.producer[t] != kNoNode || !is_float(tensor.format.element)) continue;
    const bool state = tensor.category == Category::ModelState || tensor.category == Category::OptimizerState;
    if (state || (tensor.category == Category::Constant && tensor.shape.empty())) continue;
    tensor.format = Format{storage};
  }
  for (Node& node : g.nodes) {
    if (CrossEntropyGradient* op = std::get_if<CrossEntropyGradient>(&node.op)) op->to = storage;
    if (Cast* op = std::get_if<Cast>(&node.op); op && is_float(op->to)) op->to = storage;
    if (Fill* op = std::get_if<Fill>(&node.op); op && is_float(op->element)) op->element = storage;
    std::vector<const Tensor*> operands;
    for (const TensorId t : node.inputs) operands.push_back(t == kNoTensor ? nullptr : &g[t]);
    std::vector<OutputType> types;
    if (!std::holds_alternative<Fallback>(node.op)) types = infer(node.op, operands);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] == kNoTensor) continue;
      Tensor& out = g[node.outputs[i]];
      if (!is_float(out.format.element)) continue;
      if (out.overwrites != kNoTensor)
        out.format = g[out.overwrites].format;
      else
        out.format = types.empty() ? Format{storage} : types[i].format;
    }
  }
  return g;
}

}  // namespace monet
