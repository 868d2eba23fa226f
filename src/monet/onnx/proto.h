#pragma once
// The protobuf classes of ONNX, for the .cpp files and private headers of this room only: import.h and export.h know
// nothing of them.
#include <onnx/onnx_pb.h>

namespace monet {
namespace pb = ::onnx;
}
