#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "monet/graph/cut.h"

// How each operator family is cut. Private to the cut*.cpp files.

namespace monet::cutting {

// A loop's name: a word and perhaps a number, put together only when somebody asks.
struct Name {
  const char* word;
  std::int64_t number = -1;
  std::string text() const { return number < 0 ? std::string(word) : word + std::to_string(number); }
};

// What a rule works on. A rule names its loops in order and is told the range of each in the box; from these it says
// the operator and the regions. With all ranges whole the same rule lists the loops.
class Cutter {
 public:
  Cutter(const Graph& graph, const Node& node, std::span<const Range> box, std::vector<Loop>* list);

  Range parallel(Name name, std::int64_t size) { return next(LoopKind::Parallel, name, size, nullptr, "", ""); }
  Range reduction(Name name, std::int64_t size) { return next(LoopKind::Reduction, name, size, nullptr, "", ""); }
  Range fixed(Name name, std::int64_t size, const char* why) {
    return next(LoopKind::Fixed, name, size, nullptr, "", why);
  }
  // A loop that may be cut only where the box holds one step of `outer`.
  Range inside(LoopKind kind, Name name, std::int64_t size, const Range& outer, const char* outer_name) {
    return next(kind, name, size, &outer, outer_name, "");
  }
  // Parallel loops <word>0, … for every axis.
  Region parallel(const char* word, const Shape& shape);

  // Results are combined in this way if a reduction is cut. To be said after the loops.
  void combine(CombineKind kind);
  // Whether the box is the one to which an addend of a sum belongs: the first step of every reduction.
  bool is_first() const { return first_; }
  bool cuts_reduction() const { return reduces_; }
  bool is_whole() const { return whole_; }  // the box holds every step of every loop so far

  const Shape* input(std::size_t i) const;  // shape, null if absent
  const Shape& in(std::size_t i) const;
  const Shape* output(std::size_t i) const;
  const Shape& out() const;  // that of the first output there is
  const Tensor& first_output() const;
  std::size_t inputs() const { return node_.inputs.size(); }
  std::size_t outputs() const { return node_.outputs.size(); }

  // Regions of operands; those the node lacks are passed over.
  void read(std::size_t i, Region region);
  void write(std::size_t i, Region region);
  void write_all(const Region& region);
  void become(Op op) { result_.op = std::move(op); }

  Cut finish();

 private:
  Range next(LoopKind kind, Name name, std::int64_t size, const Range* outer, const char* outer_name, const char* why);

  const Graph& graph_;
  const Node& node_;
  std::span<const Range> box_;
  std::vector<Loop>* list_;
  std::size_t at_ = 0;
  bool first_ = true, reduces_ = false, whole_ = true;
  Cut result_;
};

// A window along one axis: output o reads position stride·o + dilation·f - pad for each kernel point f.
struct WindowAxis {
  std::int64_t stride = 1, dilation = 1, pad = 0;
  std::int64_t extent = 1, outputs = 1, kernel = 1;
};
// The smallest range of positions inside the extent that kernel points `f` of outputs `o` read; one if they read none.
Range positions_read(const WindowAxis& axis, Range o, Range f);
// The smallest range of outputs that read any of the positions `i` with kernel points `f`; one if none do.
Range outputs_reading(const WindowAxis& axis, Range i, Range f);
// Pads of the window over these parts of positions, outputs and kernel points.
struct Pads {
  std::int64_t begin = 0, end = 0;
};
Pads pads_of(const WindowAxis& axis, Range positions, Range o, Range f);
// Whether the pads of parts stay within what infer() allows.
bool can_shift(const WindowAxis& axis);
inline constexpr const char* kWindowTooLarge = "the window reaches too far for the pads of a part to be stated";

// OZ, OY, OX by axis for a number of spatial axes.
Name spatial_name(char kind, std::size_t axis, std::size_t rank);

// cut_contraction.cpp
void rule(const MatMul& op, Cutter& c);
void rule(const Conv& op, Cutter& c);
// cut_elementwise.cpp
void rule(const Unary& op, Cutter& c);
void rule(const UnaryGradient& op, Cutter& c);
void rule(const Binary& op, Cutter& c);
void rule(const Sum& op, Cutter& c);
void rule(const Select& op, Cutter& c);
void rule(const Cast& op, Cutter& c);
void rule(const Dropout& op, Cutter& c);
void rule(const DropoutGradient& op, Cutter& c);
void rule(const Steps& op, Cutter& c);
void rule(const NegativeLogLikelihood& op, Cutter& c);
void rule(const CrossEntropyGradient& op, Cutter& c);
void rule(const NegativeLogLikelihoodGradient& op, Cutter& c);
// cut_norm.cpp
void rule(const Reduce& op, Cutter& c);
void rule(const NormPart& op, Cutter& c);
// cut_window.cpp
void rule(const Pool& op, Cutter& c);
void rule(const PoolGradient& op, Cutter& c);
void rule(const Unfold& op, Cutter& c);
void rule(const Lrn& op, Cutter& c);
void rule(const LrnGradient& op, Cutter& c);
void rule(const Pad& op, Cutter& c);
void rule(const PadGradient& op, Cutter& c);
// cut_movement.cpp
void rule(const View& op, Cutter& c);
void rule(const Transpose& op, Cutter& c);
void rule(const Expand& op, Cutter& c);
void rule(const Concat& op, Cutter& c);
void rule(const Split& op, Cutter& c);
void rule(const Slice& op, Cutter& c);
void rule(const Place& op, Cutter& c);
void rule(const Gather& op, Cutter& c);
void rule(const ScatterAdd& op, Cutter& c);
void rule(const Trilu& op, Cutter& c);
void rule(const Fill& op, Cutter& c);
void rule(const Iota& op, Cutter& c);
// cut.cpp: an operator that cannot be cut, and those that decompose breaks up
void leave_whole(const Op& op, Cutter& c, const char* why);
void rule(const Fallback& op, Cutter& c);
void rule(const Norm& op, Cutter& c);
void rule(const NormGradient& op, Cutter& c);
void rule(const Softmax& op, Cutter& c);
void rule(const SoftmaxGradient& op, Cutter& c);
void rule(const Attention& op, Cutter& c);
void rule(const AttentionGradient& op, Cutter& c);
void rule(const CrossEntropy& op, Cutter& c);

}  // namespace monet::cutting
