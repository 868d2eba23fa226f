#include "monet/mpi/mappings.h"

#include "monet/mpi/bytes.h"

namespace monet::mpi {

template <>
constexpr std::tuple kMembers<cost::SpatialLoop>{&cost::SpatialLoop::dimension, &cost::SpatialLoop::factor,
                                                 &cost::SpatialLoop::turn};
template <>
constexpr std::tuple kMembers<cost::TemporalLoop>{&cost::TemporalLoop::dimension, &cost::TemporalLoop::factor};
template <>
constexpr std::tuple kMembers<cost::Room>{&cost::Room::held, &cost::Room::refused};
template <>
constexpr std::tuple kMembers<cost::Costs>{&cost::Costs::energy_pj, &cost::Costs::latency};

namespace {

// A member more, and this does not compile until it goes, too. Who learns a mapping says whether it trusts it.
template <class Mapping>
auto members_of(Mapping& mapping) {
  auto& [reason, is_stopped, spatial, order, cuts, doubled, spatials, spatials_left, evaluated, orderings, is_proven,
         bound, costs, rooms, is_own] = mapping;
  static_cast<void>(is_own);
  return std::tie(reason, is_stopped, spatial, order, cuts, doubled, spatials, spatials_left, evaluated, orderings,
                  is_proven, bound, costs, rooms);
}

}  // namespace

std::string pack_mappings(const std::vector<cost::KeyedMapping>& mappings) {
  Packer out;
  for (const cost::KeyedMapping& each : mappings) {
    out.put(each.key);
    std::apply([&](const auto&... member) { (out.put(member), ...); }, members_of(each.mapping));
  }
  return std::move(out.bytes);
}

std::vector<cost::KeyedMapping> unpack_mappings(std::string_view bytes) {
  Unpacker in(bytes);
  std::vector<cost::KeyedMapping> out;
  while (!in.is_empty()) {
    cost::KeyedMapping& each = out.emplace_back();
    in.get(each.key);
    std::apply([&](auto&... member) { (in.get(member), ...); }, members_of(each.mapping));
  }
  return out;
}

}  // namespace monet::mpi
