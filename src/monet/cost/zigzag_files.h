#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "monet/base/config.h"
#include "monet/cost/layer.h"
#include "monet/cost/request.h"

namespace monet::cost {

// Mapping and workload files of ZigZag and Stream, read as they are, and the same parts of golden JSON files.

// ---- Mappings ----

struct Tiling {
  std::string dimension{};               // OY, K, D6, /conv1/Conv.D2
  std::optional<std::int64_t> factor{};  // none: all of it, or as many as there are cores
  bool operator==(const Tiling&) const = default;
};

// What Stream adds to an entry: on which cores, cut along what. One core model has no use for it; the planner will.
struct Allocation {
  std::string name{};
  std::vector<std::vector<std::int64_t>> cores{};
  bool is_fixed = false;
  std::vector<Tiling> inter_core{}, intra_core{};
  bool operator==(const Allocation&) const = default;
};

struct FusedGroup {
  std::string name{};
  std::vector<std::string> layers{};
  std::vector<Tiling> intra_core{};
  bool operator==(const FusedGroup&) const = default;
};

struct MappingFile {
  std::vector<MappingRequest> requests{};  // one per entry, in the order of the file
  std::vector<Allocation> allocations{};   // of the entries that have any
  std::vector<FusedGroup> groups{};
  bool operator==(const MappingFile&) const = default;
};

MappingFile read_mapping(const config::Value& root, config::Findings& findings);
bool looks_like_mapping(const config::Value& root);

// The entry for a layer: by its name, its operator type, or the default. Null if there is none.
const MappingRequest* find_request(const std::vector<MappingRequest>& requests, const Layer& layer);

// {D1: ["K, 32"]} and [[OX, 112], [K, "*"]].
Named<std::vector<hardware::Unrolling>> read_spatial_mapping(const config::Value& value, config::Findings& findings);
Named<std::vector<std::string>> read_spatial_hints(const config::Value& value, config::Findings& findings);
std::vector<LoopPattern> read_ordering(const config::Value& value, config::Findings& findings);
// {O: O, W: I2, I: I1}
Named<hardware::Slot> read_links(const config::Value& value, config::Findings& findings);

// ---- Workloads ----

std::vector<Layer> read_workload(const config::Value& root, config::Findings& findings);
bool looks_like_workload(const config::Value& root);

// One layer. Operands not in `links` go where ZigZag puts them: W through the weights' memories, I through the inputs'.
Layer read_zigzag_layer(const config::Value& value, const Named<hardware::Slot>& links, config::Findings& findings);

// ---- Whole files: parse, read, throw InputError with all that is wrong ----

struct WorkloadFile {
  std::vector<Layer> layers{};
  std::vector<Diagnostic> warnings{};
};
WorkloadFile parse_workload(std::string_view text, const std::string& path);

struct ParsedMapping {
  MappingFile file{};
  std::vector<Diagnostic> warnings{};
};
ParsedMapping parse_mapping(std::string_view text, const std::string& path);

}  // namespace monet::cost
