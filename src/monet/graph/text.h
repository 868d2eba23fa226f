#pragma once
#include <string>
#include <string_view>

#include "monet/graph/graph.h"

// A graph as text that can be read, compared and edited by hand: one line a source tensor, one line a node.
//
//   graph "mlp"
//   # a comment
//   input x : f32[2,4]
//   weight fc.weight : f32[8,4]
//   constant const.2 : f32[] = splat(2)
//
//   forward fc = matmul{trans_b=true}(x, fc.weight, _) -> fc : f32[2,8]
//   backward fc.relu.grad = relu_gradient{from=mask}(dy, m) -> dx : f32[2,8] holds(fc) barrier
//   update sgd = sub(fc.weight, step) -> fc.weight.new : f32[8,4] weight overwrites(fc.weight)
//
//   output fc, fc.weight.new
//
// Source tensors (no node makes them), by their category:
//   <category> <name> : <format><shape> [layout(0,2,1)] [overwrites(<tensor>)] [= <initial value>]
//   initial value: splat(v) | dense(v, v, …) | triangle(k=0, below=0, above=-inf) | rotary(cos|sin, base=10000)
//                | copy_of(<tensor>)
// Nodes, by their phase:
//   <phase> <name> = <operator>{<field>=<value>, …}(<input>, …) -> <output>, … [holds(<tensor>, …)] [barrier]
//   output: <name> : <format><shape> [<category>] [layout(…)] [overwrites(<tensor>)]
//   `_` stands for an absent operand. Fields at their default are left out: see op.h for both. So is the category that
//   the phase implies (see category_of). Where the type is left out too, both are inferred.
// Names of letters, digits and _ . / : @ - stand bare; others stand in quotes with JSON's escapes.
// Every tensor is declared before it is read. Columns are counted in bytes.

namespace monet {

// Asks of the graph what graph.h promises (unique names, runnable order, types as inferred).
std::string print(const Graph& graph);

// Throws InputError with every faulty line, at most one fault a line. `file` is the name used in messages.
Graph parse_graph(std::string_view text, const std::string& file);

// The same graph with tensors numbered as they are printed: sources first in their order, then outputs in node order.
// parse_graph(print(g), …) == normalised(g), as long as no value is NaN, which equals nothing.
Graph normalised(const Graph& graph);

}  // namespace monet
