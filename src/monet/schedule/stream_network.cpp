#include "monet/schedule/stream_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace monet::schedule {
namespace {

using hardware::CoreId;
using hardware::Memory;
using hardware::Port;
using hardware::PortKind;

struct Directed {
  std::uint32_t to = 0, link = 0;
};

class NetworkMaker {
 public:
  NetworkMaker(const hardware::Hardware& hardware, StreamProblem& problem)
      : hw_(hardware), p_(problem), edges_(hardware.cores.size()) {}

  std::string run() {
    if (!hw_.offchip) return "the accelerator has no off-chip core";
    p_.offchip = static_cast<std::uint32_t>(hw_.offchip->index());
    for (const char* slot : {"I1", "I2", "O"})
      if (std::find(p_.slots.begin(), p_.slots.end(), slot) == p_.slots.end()) p_.slots.emplace_back(slot);
    memories();
    links();
    if (!offchip_links()) return "the off-chip core has no memory for O that is read and written";
    ways();
    return failure_;
  }

 private:
  std::uint32_t slot(hardware::Slot s) const {
    const char* name = s == hardware::Slot::Input ? "I1" : s == hardware::Slot::Weight ? "I2" : "O";
    return static_cast<std::uint32_t>(std::find(p_.slots.begin(), p_.slots.end(), name) - p_.slots.begin());
  }

  // (N1) The highest memory of each operand. Of cores that share, all stand for the first one's.
  void memories() {
    for (std::size_t c = 0; c < hw_.cores.size(); ++c) {
      StreamCore core{.id = static_cast<std::int64_t>(c)};
      if (const std::optional<std::size_t> other = shares_with(c)) {
        core.memories = p_.cores[*other].memories;
        p_.cores.push_back(std::move(core));
        continue;
      }
      for (const Memory& memory : hw_.cores[c].memories) {
        StreamMemory top{.name = memory.name, .size = memory.size_bits};
        for (const hardware::Slot s : memory.slots)
          if (is_top(hw_.cores[c], memory, s)) top.slots.push_back(slot(s));
        if (top.slots.empty()) continue;
        top.read_pj = memory.read_energy_pj.value;
        top.write_pj = memory.write_energy_pj.value;
        if (!memory.ports.empty()) {
          top.min_bits = static_cast<double>(memory.ports[0].min_bits_per_cycle);
          top.max_bits = static_cast<double>(memory.ports[0].max_bits_per_cycle);
        }
        core.memories.push_back(static_cast<std::uint32_t>(p_.memories.size()));
        p_.memories.push_back(std::move(top));
      }
      p_.cores.push_back(std::move(core));
    }
  }

  static bool is_top(const hardware::Core& core, const Memory& memory, hardware::Slot s) {
    for (std::size_t m = core.memories.size(); m-- > 0;)
      if (std::find(core.memories[m].slots.begin(), core.memories[m].slots.end(), s) != core.memories[m].slots.end())
        return &core.memories[m] == &memory;
    return false;
  }

  std::optional<std::size_t> shares_with(std::size_t core) const {
    for (const std::vector<CoreId>& group : hw_.shared_memories)
      if (std::find(group.begin(), group.end(), CoreId{static_cast<std::uint32_t>(core)}) != group.end() &&
          group[0].index() < core)
        return group[0].index();
    return std::nullopt;
  }

  std::uint32_t add_link(std::int64_t bits, const hardware::Link& like) {
    // Charged per cycle, whatever the part of the width that is used.
    p_.links.push_back({.bandwidth = static_cast<double>(bits),
                        .unit_pj = like.energy_pj_per_bit.value * static_cast<double>(like.bits_per_cycle)});
    return static_cast<std::uint32_t>(p_.links.size() - 1);
  }

  // A second connection of two cores takes the place of the first.
  void connect(CoreId from, CoreId to, std::uint32_t link) {
    std::vector<Directed>& list = edges_[from.index()];
    const auto at = std::find_if(list.begin(), list.end(), [&](const Directed& d) { return d.to == to.index(); });
    if (at != list.end())
      at->link = link;
    else
      list.push_back({static_cast<std::uint32_t>(to.index()), link});
  }

  // (N2) In the order of the file: pairs of directed links, or one bus for all.
  void links() {
    for (const hardware::Link& link : hw_.links) {
      if (std::find(link.cores.begin(), link.cores.end(), *hw_.offchip) != link.cores.end()) continue;
      const bool is_bus = link.is_bus || link.cores.size() > 2;
      const std::uint32_t bus = is_bus ? add_link(link.bits_per_cycle, link) : 0;
      for (std::size_t a = 0; a < link.cores.size(); ++a)
        for (std::size_t b = a + 1; b < link.cores.size(); ++b) {
          connect(link.cores[a], link.cores[b], is_bus ? bus : add_link(link.bits_per_cycle, link));
          connect(link.cores[b], link.cores[a], is_bus ? bus : add_link(link.bits_per_cycle, link));
        }
    }
  }

  // Every core reads and writes the off-chip memory over one link, or one each way if the memory has several ports.
  bool offchip_links() {
    const hardware::Core& core = hw_[*hw_.offchip];
    const Memory* memory = nullptr;
    for (const Memory& m : core.memories)
      if (std::find(m.slots.begin(), m.slots.end(), hardware::Slot::Output) != m.slots.end()) memory = &m;
    if (!memory) return false;
    const auto width = [&](PortKind kind) -> std::int64_t {
      for (const Port& port : memory->ports)
        if (port.kind == kind || port.kind == PortKind::ReadWrite) return port.max_bits_per_cycle;
      return 0;
    };
    if (width(PortKind::Read) == 0 || width(PortKind::Write) == 0) return false;
    hardware::Link like{.bits_per_cycle = 0};
    for (const hardware::Link& link : hw_.links)
      if (std::find(link.cores.begin(), link.cores.end(), *hw_.offchip) != link.cores.end()) like = link;
    const std::uint32_t to = add_link(width(PortKind::Write), like);
    const std::uint32_t from = memory->ports.size() == 1 ? to : add_link(width(PortKind::Read), like);
    for (std::uint32_t c = 0; c < hw_.cores.size(); ++c) {
      if (CoreId{c} == *hw_.offchip) continue;
      connect(CoreId{c}, *hw_.offchip, to);
      connect(*hw_.offchip, CoreId{c}, from);
    }
    return true;
  }

  // (N3) The first of the shortest ways: at every core back from the end the neighbour that was reached first.
  void ways() {
    const std::size_t count = hw_.cores.size();
    p_.paths.assign(count, std::vector<std::vector<std::uint32_t>>(count));
    for (std::uint32_t from = 0; from < count; ++from) {
      std::vector<std::optional<Directed>> back(count);  // Directed::to: where it came from
      std::vector<bool> seen(count, false);
      std::vector<std::uint32_t> level{from};
      seen[from] = true;
      while (!level.empty()) {
        std::vector<std::uint32_t> next;
        for (const std::uint32_t at : level)
          for (const Directed& edge : edges_[at]) {
            if (seen[edge.to]) continue;
            seen[edge.to] = true;
            back[edge.to] = Directed{at, edge.link};
            next.push_back(edge.to);
          }
        level = std::move(next);
      }
      for (std::uint32_t to = 0; to < count; ++to) {
        if (!seen[to]) failure_ = fmt::format("there is no way from core {} to core {}", from, to);
        std::vector<std::uint32_t>& path = p_.paths[from][to];
        for (std::uint32_t at = to; at != from && back[at]; at = back[at]->to) path.push_back(back[at]->link);
        std::reverse(path.begin(), path.end());
      }
    }
  }

  const hardware::Hardware& hw_;
  StreamProblem& p_;
  std::vector<std::vector<Directed>> edges_;
  std::string failure_;
};

}  // namespace

std::string add_stream_network(const hardware::Hardware& hardware, StreamProblem& problem) {
  return NetworkMaker(hardware, problem).run();
}

}  // namespace monet::schedule
