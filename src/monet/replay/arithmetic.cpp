#include "monet/replay/arithmetic.h"

#include <fmt/format.h>

#include <limits>

#include "monet/interpret/run.h"

namespace monet::replay {
namespace {

using schedule::Access;
using schedule::BlockId;
using schedule::BlockInfo;
using schedule::TileInfo;

Array<double> blank(const Region& region) {
  return {shape_of(region),
          std::vector<double>(static_cast<std::size_t>(elements(region)), std::numeric_limits<double>::quiet_NaN())};
}

// Calls f(flat position in the tensor, flat position in the box) for every element of a box.
template <class F>
void for_each_element(const Shape& shape, const Region& box, F&& f) {
  const auto count = static_cast<std::size_t>(elements(box));
  std::vector<std::int64_t> at;
  for (const Range& r : box.axes) at.push_back(r.begin);
  for (std::size_t i = 0; i < count; ++i) {
    std::int64_t flat = 0;
    for (std::size_t d = 0; d < shape.size(); ++d) flat = flat * shape[d] + at[d];
    f(static_cast<std::size_t>(flat), i);
    for (std::size_t d = shape.size(); d-- > 0;) {
      if (++at[d] < box.axes[d].end) break;
      at[d] = box.axes[d].begin;
    }
  }
}

std::string in_words(const Region& region) {
  std::string text = "[";
  for (const Range& r : region.axes) text += fmt::format("{}{}:{}", text.size() > 1 ? "," : "", r.begin, r.end);
  return text + "]";
}

}  // namespace

void Arithmetic::Canvas::clear(std::size_t size) {
  if (values.size() < size) {
    values.resize(size);
    marks.resize(size, 0);
  }
  ++now;
}

Arithmetic::Arithmetic(const Graph& graph, const Storage& storage, const Elements& elements,
                       const std::vector<plan::Facts>& facts, const schedule::Tiled& tiled, std::uint64_t step)
    : graph_(graph),
      storage_(storage),
      elements_(elements),
      facts_(facts),
      tiled_(tiled),
      step_(step),
      index_(tiled.blocks.size(), 0) {}

void Arithmetic::keep(TensorId tensor) { kept_.emplace(tensor, blank(whole(graph_[tensor].shape))); }

Region Arithmetic::box_of(BlockId block) const {
  const BlockInfo& info = tiled_.blocks[block.index()];
  if (!info.is_sum) return tiled_.grids[info.tensor.index()].cell(info.cell);
  const auto first = tiled_.ranges.begin() + info.first_range;
  return {{first, first + std::ssize(graph_[info.tensor].shape)}};
}

const Touched* Arithmetic::has(BlockId block) const {
  const std::uint32_t at = index_[block.index()];
  return at == 0 ? nullptr : &(*touched_)[at - 1];
}

std::string Arithmetic::run(std::uint32_t tile, std::vector<Touched>& touched) {
  touched_ = &touched;
  std::string why;
  for (std::uint32_t i = 0; i < touched.size(); ++i) {
    std::uint32_t& at = index_[touched[i].block.index()];
    // Had in two stores: any of them, if both have the same.
    if (at == 0)
      at = i + 1;
    else if (touched[at - 1].before.values != touched[i].before.values)
      why = fmt::format("two places have different values of '{}'",
                        graph_[tiled_.blocks[touched[i].block.index()].tensor].name);
  }
  const TileInfo& info = tiled_.tiles[tile];
  const std::span<const Range> box{tiled_.ranges.data() + info.first_range, facts_[info.node.index()].loops.size()};
  const Cut part = cut(graph_, graph_[info.node], box);
  Outputs out{.regions = part.outputs};
  if (why.empty()) why = info.is_combination ? put_together(tile, part, out) : compute(tile, part, out);
  if (why.empty() && !info.is_combination) why = go_on(tile, part, out);
  if (why.empty()) why = store(tile, out);
  for (const Touched& t : touched) {
    index_[t.block.index()] = 0;
    if (why.empty() && t.access != Access::Read && !t.after.is_there())
      why = fmt::format("nothing is written to block {} of '{}'", in_words(box_of(t.block)),
                        graph_[tiled_.blocks[t.block.index()].tensor].name);
  }
  return why;
}

std::string Arithmetic::compute(std::uint32_t tile, const Cut& part, Outputs& out) {
  const NodeId id = tiled_.tiles[tile].node;
  const Node& node = graph_[id];
  std::vector<std::shared_ptr<const Array<double>>> slices(node.inputs.size());
  std::vector<const Array<double>*> inputs;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] != kNoTensor && !part.inputs[i]) continue;
    if (node.inputs[i] != kNoTensor && !facts_[id.index()].inputs[i].is_read) {
      slices[i] = std::make_shared<Array<double>>(blank(*part.inputs[i]));  // gives its shape alone
    } else if (node.inputs[i] != kNoTensor) {
      if (std::string why = gather(node.inputs[i], *part.inputs[i], slices[i]); !why.empty()) return why;
    }
    inputs.push_back(slices[i].get());
  }
  std::vector<Tensor> tensors(node.outputs.size());
  std::vector<const Tensor*> outputs;
  std::vector<std::size_t> places;
  for (std::size_t o = 0; o < node.outputs.size(); ++o) {
    if (node.outputs[o] != kNoTensor && !part.outputs[o]) continue;
    places.push_back(o);
    outputs.push_back(node.outputs[o] == kNoTensor ? nullptr : &tensors[o]);
    if (node.outputs[o] == kNoTensor) continue;
    tensors[o].format = graph_[node.outputs[o]].format;
    tensors[o].shape = shape_of(*part.outputs[o]);
  }
  std::vector<Array<double>> found;
  try {
    found = evaluate<double>(part.op, inputs, outputs, step_);
  } catch (const ValueError& error) {
    return error.what();
  }
  out.made.values.resize(node.outputs.size());
  for (std::size_t i = 0; i < places.size(); ++i) out.made.values[places[i]] = std::move(found[i]);
  out.made.count = part.combine.count;
  return {};
}

// Takes what other tiles have summed up so far into the result.
std::string Arithmetic::go_on(std::uint32_t tile, const Cut& part, Outputs& out) {
  const TileInfo& info = tiled_.tiles[tile];
  const bool is_part = part.combine.kind != CombineKind::None;
  if (info.is_first) return {};
  if (!is_part) return "it goes on with a sum, but is no part of one";
  const Node& node = graph_[info.node];
  Partial<double> sum{.values = std::vector<Array<double>>(node.outputs.size())};
  for (std::size_t o = 0; o < node.outputs.size(); ++o) {
    if (!out.regions[o] || node.outputs[o] == kNoTensor) continue;
    std::shared_ptr<const Array<double>> values;
    std::int64_t count = 0;
    for (const Touched& t : *touched_) {
      const BlockInfo& block = tiled_.blocks[t.block.index()];
      if (!block.is_sum || block.tensor != node.outputs[o] || t.access == Access::Write) continue;
      values = t.before.values;
      count = t.before.count;
    }
    if (values == nullptr)
      if (std::string why = gather(node.outputs[o], *out.regions[o], values, &count); !why.empty()) return why;
    if (values->shape != shape_of(*out.regions[o])) return "the sum it goes on with is of other elements";
    if (count == 0 || (sum.count != 0 && sum.count != count)) return "the sum it goes on with is no sum";
    sum.count = count;
    sum.values[o] = *values;
  }
  combine(part.combine, out.made.values, sum);
  out.made = std::move(sum);
  return {};
}

// Sums that several cores have made, in the order in which the tile has them.
std::string Arithmetic::put_together(std::uint32_t tile, const Cut& part, Outputs& out) {
  const Node& node = graph_[tiled_.tiles[tile].node];
  std::vector<Partial<double>> parts;
  for (std::size_t o = 0; o < node.outputs.size(); ++o) {
    if (!out.regions[o] || node.outputs[o] == kNoTensor) continue;
    std::size_t next = 0;
    for (const Touched& t : *touched_) {
      const BlockInfo& block = tiled_.blocks[t.block.index()];
      if (!block.is_sum || block.tensor != node.outputs[o]) continue;
      if (box_of(t.block) != *out.regions[o]) return "one of the sums is of other elements";
      if (next == parts.size()) parts.push_back({.values = std::vector<Array<double>>(node.outputs.size())});
      Partial<double>& p = parts[next++];
      if (t.before.count == 0 || (p.count != 0 && p.count != t.before.count)) return "one of the sums is none";
      p.count = t.before.count;
      p.values[o] = *t.before.values;
    }
  }
  if (parts.empty() || part.combine.kind == CombineKind::None) return "there are no sums to put together";
  for (const Partial<double>& p : parts) combine({part.combine.kind, p.count}, p.values, out.made);
  return {};
}

std::string Arithmetic::store(std::uint32_t tile, Outputs& out) {
  const TileInfo& info = tiled_.tiles[tile];
  const Node& node = graph_[info.node];
  for (std::size_t o = 0; o < node.outputs.size(); ++o) {
    if (!out.regions[o] || node.outputs[o] == kNoTensor) continue;
    const TensorId tensor = node.outputs[o];
    Touched* sum = nullptr;
    for (Touched& t : *touched_) {
      const BlockInfo& block = tiled_.blocks[t.block.index()];
      if (block.is_sum && block.tensor == tensor && t.access != Access::Read) sum = &t;
    }
    if (sum != nullptr) {
      if (box_of(sum->block) != *out.regions[o]) return "the place of its sum is of other elements";
      sum->after = {.values = std::make_shared<Array<double>>(std::move(out.made.values[o])), .count = out.made.count};
      continue;
    }
    if (const auto kept = kept_.find(tensor); kept != kept_.end() && info.is_last)
      copy_shared(*out.regions[o], out.made.values[o].data.data(), whole(graph_[tensor].shape),
                  kept->second.data.data());
    if (std::string why = scatter(tensor, *out.regions[o], out.made.values[o], out.made.count); !why.empty())
      return why;
  }
  return {};
}

std::string Arithmetic::gather(TensorId tensor, const Region& region, std::shared_ptr<const Array<double>>& values,
                               std::int64_t* count) {
  if (elements_.is_direct(tensor)) return gather_direct(storage_.root(tensor), region, values, count);
  auto made = std::make_shared<Array<double>>(blank(region));
  std::string why = gather_through_views(tensor, region, *made);
  values = std::move(made);
  return why;
}

std::string Arithmetic::gather_direct(TensorId root, const Region& region, std::shared_ptr<const Array<double>>& values,
                                      std::int64_t* count) {
  std::string why;
  std::shared_ptr<Array<double>> made;
  const std::uint32_t first = tiled_.first_block[root.index()];
  tiled_.grids[root.index()].for_each(region.axes, [&](std::size_t cell) {
    if (!why.empty()) return;
    const BlockId block{first + static_cast<std::uint32_t>(cell)};
    const Region box = box_of(block);
    const Touched* touched = has(block);
    if (touched == nullptr || touched->access == Access::Write) {
      why = fmt::format("it needs {} of '{}', of which it does not have {}", in_words(region), graph_[root].name,
                        in_words(box));
      return;
    }
    if (count != nullptr && *count != 0 && *count != touched->before.count)
      why = "parts of a sum are of unequal length";
    if (count != nullptr) *count = touched->before.count;
    if (box == region) {
      values = touched->before.values;
      return;
    }
    if (made == nullptr) made = std::make_shared<Array<double>>(blank(region));
    copy_shared(box, touched->before.values->data.data(), region, made->data.data());
  });
  if (made != nullptr) values = std::move(made);
  return why;
}

std::string Arithmetic::gather_through_views(TensorId tensor, const Region& region, Array<double>& values) {
  const TensorId root = storage_.root(tensor);
  const Shape& shape = graph_[root].shape;
  canvas_.clear(static_cast<std::size_t>(elements(shape)));
  for (const Touched& t : *touched_) {
    const BlockInfo& block = tiled_.blocks[t.block.index()];
    if (block.is_sum || block.tensor != root || t.access == Access::Write) continue;
    for_each_element(shape, box_of(t.block),
                     [&](std::size_t at, std::size_t from) { canvas_.put(at, t.before.values->data[from]); });
  }
  const std::vector<std::int64_t> positions = elements_.positions(tensor, region, true);
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const auto at = static_cast<std::size_t>(positions[i]);
    if (!canvas_.has(at))
      return fmt::format("it needs {} of '{}', and does not have element {} of '{}' where that lies", in_words(region),
                         graph_[tensor].name, at, graph_[root].name);
    values.data[i] = canvas_.values[at];
  }
  return {};
}

// The blocks of the root in which the region lies, and of which the tile writes every element.
std::string Arithmetic::scatter(TensorId tensor, const Region& region, const Array<double>& values,
                                std::int64_t count) {
  const TensorId root = storage_.root(tensor);
  const Shape& shape = graph_[root].shape;
  std::int64_t written = 0;
  const bool is_direct = elements_.is_direct(tensor);
  if (!is_direct) {
    canvas_.clear(static_cast<std::size_t>(elements(shape)));
    const std::vector<std::int64_t> positions = elements_.positions(tensor, region, true);
    for (std::size_t i = 0; i < positions.size(); ++i)
      canvas_.put(static_cast<std::size_t>(positions[i]), values.data[i]);
  }
  for (Touched& t : *touched_) {
    const BlockInfo& block = tiled_.blocks[t.block.index()];
    if (block.is_sum || block.tensor != root || t.access == Access::Read) continue;
    const Region box = box_of(t.block);
    auto made = std::make_shared<Array<double>>(blank(box));
    std::int64_t covered = 0;
    if (is_direct) {
      covered = elements(intersection(box, region));
      copy_shared(region, values.data.data(), box, made->data.data());
    } else {
      for_each_element(shape, box, [&](std::size_t at, std::size_t to) {
        if (!canvas_.has(at)) return;
        made->data[to] = canvas_.values[at];
        ++covered;
      });
    }
    if (covered == 0) continue;
    if (covered < elements(box))
      return fmt::format("it writes only a part of block {} of '{}'", in_words(box), graph_[root].name);
    t.after = {.values = std::move(made), .count = count};
    written += covered;
  }
  if (written != elements(region))
    return fmt::format("it makes {} of '{}', but has places for {} elements of it", in_words(region),
                       graph_[tensor].name, written);
  return {};
}

}  // namespace monet::replay
