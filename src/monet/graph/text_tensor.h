#pragma once
#include <string>
#include <string_view>

#include "monet/graph/graph.h"
#include "monet/graph/text_token.h"

// A tensor's own properties in the text form of a graph. The readers throw Fault.

namespace monet {

std::string type_text(const Tensor& tensor);       // "x : f32[2,4]"
void read_type(LineReader& line, Tensor& tensor);  // "f32[2,4]"

void read_layout(LineReader& line, Tensor& tensor);  // "(0,2,1)", a permutation of the tensor's dimensions

// "splat(2)"; "" if there is none. `copied` is the name to write in copy_of(…).
std::string initial_text(const Initial& initial, std::string_view copied);

struct StatedInitial {
  Initial value;
  std::string copied = {};  // of CopyOf: the name whose id is to be filled in
  std::size_t copied_offset = 0;
};
StatedInitial read_initial(LineReader& line, const Tensor& tensor);

}  // namespace monet
