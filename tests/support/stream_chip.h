#pragma once
#include <string>
#include <vector>

#include "monet/cost/zigzag_files.h"
#include "monet/hardware/hardware.h"
#include "monet/schedule/stream_layers.h"

namespace monet::schedule {

// The chip, the networks and the mapping of the Stream runs whose totals tests carry (Stream 70eb6751 of July 2025 with
// ZigZag 3.8.2): the parameters of Stream's example tpu_like_quad_core, ResNet-18 at 224x224, FSRCNN at 540x960.

inline hardware::Port stream_port(const char* name, hardware::PortKind kind, std::int64_t least, std::int64_t most,
                                  std::vector<hardware::PortUse> uses) {
  return {.name = name, .kind = kind, .min_bits_per_cycle = least, .max_bits_per_cycle = most, .uses = std::move(uses)};
}

// What is read on the one, written on the other port of a memory for everything.
inline std::vector<hardware::PortUse> stream_reads() {
  using namespace hardware;
  return {{Slot::Input, Direction::ReadToLow},
          {Slot::Weight, Direction::ReadToLow},
          {Slot::Output, Direction::ReadToLow},
          {Slot::Output, Direction::ReadToHigh}};
}
inline std::vector<hardware::PortUse> stream_writes() {
  using namespace hardware;
  return {{Slot::Input, Direction::WriteFromHigh},
          {Slot::Weight, Direction::WriteFromHigh},
          {Slot::Output, Direction::WriteFromHigh},
          {Slot::Output, Direction::WriteFromLow}};
}

inline hardware::Memory stream_memory(const char* name, std::int64_t bits, double read_pj, double write_pj,
                                      std::vector<hardware::Slot> slots, std::vector<std::size_t> serves,
                                      std::vector<hardware::Port> ports) {
  return {.name = name,
          .size_bits = bits,
          .slots = std::move(slots),
          .served_dimensions = std::move(serves),
          .ports = std::move(ports),
          .read_energy_pj = {.value = read_pj},
          .write_energy_pj = {.value = write_pj}};
}

inline const std::vector<hardware::Slot> kStreamSlots{hardware::Slot::Input, hardware::Slot::Weight,
                                                      hardware::Slot::Output};

inline hardware::Core tpu_like_core(const std::string& name) {
  using namespace hardware;
  Core core{.name = name};
  core.array = Array{.dimensions = {{"D1", 32}, {"D2", 32}}, .mac_energy_pj = {.value = 0.04}};
  core.unrollings = {{{"K", 32}}, {{"C", 32}}};
  core.memories = {
      stream_memory("rf_128B", 1024, 0.095, 0.095, {Slot::Weight}, {},
                    {stream_port("r_port_1", PortKind::Read, 8, 8, {{Slot::Weight, Direction::ReadToLow}}),
                     stream_port("w_port_1", PortKind::Write, 8, 8, {{Slot::Weight, Direction::WriteFromHigh}})}),
      stream_memory("rf_2B", 16, 0.021, 0.021, {Slot::Output}, {1},
                    {stream_port("r_port_1", PortKind::Read, 16, 16, {{Slot::Output, Direction::ReadToLow}}),
                     stream_port("r_port_2", PortKind::Read, 16, 16, {{Slot::Output, Direction::ReadToHigh}}),
                     stream_port("w_port_1", PortKind::Write, 16, 16, {{Slot::Output, Direction::WriteFromHigh}}),
                     stream_port("w_port_2", PortKind::Write, 16, 16, {{Slot::Output, Direction::WriteFromLow}})}),
      stream_memory("sram_2MB", 16777216, 416.16, 378.4, kStreamSlots, {0, 1},
                    {stream_port("r_port_1", PortKind::Read, 64, 2048, stream_reads()),
                     stream_port("w_port_1", PortKind::Write, 64, 2048, stream_writes())})};
  return core;
}

inline hardware::Core stream_pooling_core() {
  using namespace hardware;
  Core core{.name = "pooling"};
  core.array = Array{.dimensions = {{"D1", 3}, {"D2", 3}, {"D3", 8}}, .mac_energy_pj = {.value = 0.1}};
  core.unrollings = {{{"FX", 3}}, {{"FY", 3}}, {{"K", 8}}};
  core.memories = {stream_memory("sram_128KB", 1048576, 60, 75, kStreamSlots, {0, 1, 2},
                                 {stream_port("r_port_1", PortKind::Read, 576, 576, stream_reads()),
                                  stream_port("w_port_1", PortKind::Write, 512, 512, stream_writes())})};
  return core;
}

inline hardware::Core stream_simd_core() {
  using namespace hardware;
  Core core{.name = "simd"};
  core.array = Array{.dimensions = {{"D1", 64}}, .mac_energy_pj = {.value = 0.1}};
  core.unrollings = {{{"K", 64}}};
  core.memories = {stream_memory("sram_128KB_2rw", 1048576, 60, 75, kStreamSlots, {0},
                                 {stream_port("rw_port_1", PortKind::ReadWrite, 512, 512, stream_writes()),
                                  stream_port("rw_port_2", PortKind::ReadWrite, 512, 512, stream_reads())})};
  return core;
}

inline hardware::Core stream_offchip_core() {
  using namespace hardware;
  Core core{.name = "offchip"};
  core.array = Array{.dimensions = {{"D1", 0}, {"D2", 0}}};
  std::vector<PortUse> uses;
  for (const Slot slot : kStreamSlots)
    for (const Direction d : kDirections)
      if (slot == Slot::Output || d == Direction::WriteFromHigh || d == Direction::ReadToLow) uses.push_back({slot, d});
  core.memories = {stream_memory("dram", 10'000'000'000, 1000, 1000, kStreamSlots, {0, 1},
                                 {stream_port("rw_port_1", PortKind::ReadWrite, 64, 64, uses)})};
  return core;
}

inline hardware::Hardware tpu_quad() {
  using namespace hardware;
  Hardware chip{.name = "tpu_quad"};
  for (int i = 0; i < 4; ++i) chip.cores.push_back(tpu_like_core("tpu_like_" + std::to_string(i)));
  chip.cores.push_back(stream_pooling_core());
  chip.cores.push_back(stream_simd_core());
  chip.cores.push_back(stream_offchip_core());
  chip.offchip = CoreId{6};
  const auto link = [&](std::uint32_t a, std::uint32_t b) {
    chip.links.push_back({.cores = {CoreId{a}, CoreId{b}}, .bits_per_cycle = 32});
  };
  for (const auto& [a, b] : std::vector<std::pair<std::uint32_t, std::uint32_t>>{{0, 1}, {1, 2}, {2, 3}, {3, 0}})
    link(a, b);
  for (const std::uint32_t helper : {4u, 5u})
    for (std::uint32_t c = 0; c < 4; ++c) link(c, helper);
  Link bus{.is_bus = true, .bits_per_cycle = 64};
  for (std::uint32_t c = 0; c < 7; ++c) bus.cores.push_back(CoreId{c});
  chip.links.push_back(bus);
  return chip;
}

// Convolutions and products cut into `parts` along K over as many cores; rows one by one.
inline cost::MappingFile quad_mapping(std::int64_t parts) {
  std::vector<std::int64_t> cores;
  for (std::int64_t c = 0; c < parts; ++c) cores.push_back(c);
  cost::MappingFile file;
  const auto add = [&](const char* name, std::vector<std::int64_t> on, const char* intra, const char* inter,
                       std::int64_t times) {
    file.requests.push_back({.name = name});
    file.allocations.push_back({.name = name,
                                .cores = {std::move(on)},
                                .inter_core = {{inter, times}},
                                .intra_core = {{intra, std::nullopt}}});
  };
  add("default", cores, "D", "K", parts);
  add("Conv", cores, "OY", "K", parts);
  add("Gemm", cores, "D", "K", parts);
  add("MaxPool", {4}, "OY", "K", 1);
  add("GlobalAveragePool", {4}, "OY", "K", 1);
  add("Add", {5}, "D", "H", 1);
  return file;
}

// ---- Networks ----

class StreamModelMaker {
 public:
  using Shape = std::vector<std::int64_t>;
  explicit StreamModelMaker(Shape input) { model_.shapes["x"] = std::move(input); }

  std::string conv(const std::string& x, std::int64_t channels, std::int64_t kernel, std::int64_t stride,
                   std::int64_t groups = 1) {
    const Shape in = model_.shapes.at(x);
    const std::int64_t pad = kernel / 2;
    const auto out = [&](std::int64_t extent) { return (extent + 2 * pad - kernel) / stride + 1; };
    StreamOperator op{.type = "Conv", .inputs = {x, "w" + std::to_string(model_.operators.size())}};
    op.attributes = {{"kernel_shape", {kernel, kernel}},
                     {"strides", {stride, stride}},
                     {"dilations", {1, 1}},
                     {"pads", {pad, pad, pad, pad}},
                     {"group", {groups}}};
    return add(std::move(op), {in[0], channels, out(in[2]), out(in[3])});
  }
  std::string same(const char* type, std::vector<std::string> inputs) {
    const Shape shape = model_.shapes.at(inputs[0]);
    return add({.type = type, .inputs = std::move(inputs)}, shape);
  }
  std::string add(StreamOperator op, Shape shape) {
    const std::string name = "t" + std::to_string(model_.operators.size());
    op.name = op.type + std::to_string(model_.operators.size());
    op.outputs = {name};
    model_.operators.push_back(std::move(op));
    model_.shapes[name] = std::move(shape);
    return name;
  }
  StreamModel& model() { return model_; }

 private:
  StreamModel model_;
};

inline StreamModel stream_resnet18() {
  StreamModelMaker m({1, 3, 224, 224});
  std::string x = m.same("Relu", {m.conv("x", 64, 7, 2)});
  x = m.add({.type = "MaxPool",
             .inputs = {x},
             .attributes = {{"kernel_shape", {3, 3}}, {"strides", {2, 2}}, {"pads", {1, 1, 1, 1}}}},
            {1, 64, 56, 56});
  for (const std::int64_t channels : {64, 128, 256, 512})
    for (int block = 0; block < 2; ++block) {
      const std::int64_t stride = channels > 64 && block == 0 ? 2 : 1;
      const std::string a = m.conv(m.same("Relu", {m.conv(x, channels, 3, stride)}), channels, 3, 1);
      const std::string b = stride == 2 ? m.conv(x, channels, 1, 2) : x;
      x = m.same("Relu", {m.same("Add", {a, b})});
    }
  x = m.add({.type = "GlobalAveragePool", .inputs = {x}}, {1, 512, 1, 1});
  x = m.add({.type = "Flatten", .inputs = {x}, .attributes = {{"axis", {1}}}}, {1, 512});
  m.add({.type = "Gemm", .inputs = {x, "fc"}}, {1, 1000});
  return m.model();
}

inline StreamModel stream_fsrcnn() {
  StreamModelMaker m({1, 1, 540, 960});
  std::string x = m.conv(m.conv("x", 56, 5, 1), 12, 1, 1);
  for (int i = 0; i < 4; ++i) x = m.conv(x, 12, 3, 1);
  m.conv(m.conv(x, 56, 1, 1), 16, 3, 1);
  return m.model();
}

}  // namespace monet::schedule
