#include "monet/hardware/hardware.h"

#include <algorithm>

namespace monet::hardware {

std::string_view name(Provenance provenance) {
  switch (provenance) {
    case Provenance::Given: return "given";
    case Provenance::Modelled: return "modelled";
    case Provenance::Assumed: return "assumed";
  }
  return "";
}

std::string_view name(Slot slot) {
  switch (slot) {
    case Slot::Input: return "input";
    case Slot::Weight: return "weight";
    case Slot::Output: return "output";
  }
  return "";
}

std::string_view name(Direction direction) {
  switch (direction) {
    case Direction::WriteFromHigh: return "write_from_high";
    case Direction::ReadToLow: return "read_to_low";
    case Direction::WriteFromLow: return "write_from_low";
    case Direction::ReadToHigh: return "read_to_high";
  }
  return "";
}

std::string_view name(PortKind kind) {
  switch (kind) {
    case PortKind::Read: return "read";
    case PortKind::Write: return "write";
    case PortKind::ReadWrite: return "read_write";
  }
  return "";
}

std::string_view name(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::Register: return "register";
    case MemoryKind::Sram: return "sram";
    case MemoryKind::Dram: return "dram";
  }
  return "";
}

std::string_view name(Buffering buffering) { return buffering == Buffering::Auto ? "auto" : "double"; }

std::string_view name(TransposedRead read) {
  switch (read) {
    case TransposedRead::Free: return "free";
    case TransposedRead::Conflicts: return "conflicts";
    case TransposedRead::Pass: return "pass";
  }
  return "";
}

std::string_view name(Dataflow dataflow) { return dataflow == Dataflow::Reconfigurable ? "reconfigurable" : "fixed"; }

std::string_view name(WorkClass work_class) {
  switch (work_class) {
    case WorkClass::Contraction: return "contraction";
    case WorkClass::DepthwiseContraction: return "depthwise_contraction";
    case WorkClass::Pooling: return "pooling";
    case WorkClass::Elementwise: return "elementwise";
    case WorkClass::Reduction: return "reduction";
    case WorkClass::Movement: return "movement";
  }
  return "";
}

bool holds(const Memory& memory, Slot slot) {
  return std::find(memory.slots.begin(), memory.slots.end(), slot) != memory.slots.end();
}

std::int64_t instances(const Memory& memory, const Core& core) {
  std::int64_t count = 1;
  for (std::size_t d = 0; core.array && d < core.array->dimensions.size(); ++d)
    if (std::find(memory.served_dimensions.begin(), memory.served_dimensions.end(), d) ==
        memory.served_dimensions.end())
      count *= core.array->dimensions[d].size;
  return count;
}

std::vector<std::string> levels(const Core& core, Slot slot) {
  std::vector<std::string> names;
  for (const Memory& memory : core.memories)
    if (std::find(memory.slots.begin(), memory.slots.end(), slot) != memory.slots.end()) names.push_back(memory.name);
  return names;
}

double leakage_mw(const Core& core) {
  double sum = 0;
  for (const Memory& memory : core.memories)
    sum += static_cast<double>(instances(memory, core)) * memory.leakage_mw.value;
  return sum;
}

}  // namespace monet::hardware
