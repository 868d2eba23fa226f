#pragma once
#include <cstdint>
#include <string>

#include "monet/graph/graph.h"
#include "monet/interpret/array.h"

namespace monet {

struct ExportOptions {
  std::int64_t opset = 17;        // 17 to 21
  bool weights = false;           // store the values of weights and state in the file
  std::string version = "graph";  // what the metadata entry "monet" says
};

// The whole iteration as a serialised ModelProto of standard-domain operators only: it runs in onnxruntime and opens in
// Netron. One node becomes one ONNX node of the same name, or several: `<node>` writes the first output, the others are
// `<node>/<part>`. Values carry the tensors' names. doc_strings keep what ONNX has no field for:
//   node        "monet phase=<phase>"
//   value_info  "monet category=<category> [format=<format>] [overwrites=<tensor>]"
//               format only where the ONNX type does not tell it (f8, 4-bit and block formats, packed bits, indices)
//
// Graph inputs are the sources. Constants with a stated value become initialisers (large splats ConstantOfShape nodes).
// With `weights`, weights, optimizer and model state and everything else with a stated value become initialisers that
// are graph inputs too: onnxruntime takes the stored value unless the caller feeds another, so the updated state of one
// iteration can be fed into the next. Their numbers come from `values` by name, else from the graph; if neither knows
// them, InputError. Without `weights` they are inputs without a value, so that the file stays small.
//
// Element types: f8 and block formats are carried in FLOAT, 4-bit integers in 8 bits, bits as BOOL. bf16 and narrow
// integers are cast to types onnxruntime's CPU kernels know for arithmetic and back; f64 is written as it is though
// onnxruntime has no f64 kernel for some operators (Conv, Erf).
//
// Max-pool indices are ONNX's: positions in the whole flattened input, as INT64, whichever encoding the graph uses.
// Dropout draws from onnxruntime's generator, not from ours. Every Dropout node owns a generator that starts from its
// seed and advances once a run, so a gradient without a mask is a second Dropout of the same seed and draws the same
// mask in every run (measured on onnxruntime 1.31, CPU).
//
// A batch whose labels are all ignored has loss 0 in a graph but, as 0/0, NaN in ONNX.
//
// Throws InputError for operators ONNX cannot say (Fallback, a maximum over padding alone, pool indices read by
// anything but a pool gradient), an opset out of range, and models beyond protobuf's 2 GB.
std::string export_onnx(const Graph& graph, const ExportOptions& options = {}, const Values<double>* values = nullptr);

}  // namespace monet
