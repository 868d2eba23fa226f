#include "monet/hardware/reading.h"

#include <algorithm>
#include <filesystem>

#include "monet/base/file.h"
#include "monet/base/sha256.h"
#include "monet/hardware/plausible.h"
#include "monet/hardware/technology.h"

namespace monet::hardware {

Sources::Sources(ReadText read, const Sources* known)
    : on_disk_(!read), read_(read ? std::move(read) : ReadText(read_file)), known_(known) {}

bool Sources::exists(const std::string& path) const {
  if (on_disk_) {
    std::error_code error;
    return std::filesystem::is_regular_file(path, error);
  }
  try {
    read_(path);
    return true;
  } catch (const InputError&) {
    return false;
  }
}

const config::Tree& Sources::add(std::string_view text, const std::string& path) {
  trees_.push_back(config::parse(text, path));
  by_path_[path] = &trees_.back();
  files_.push_back({path, sha256_hex(text)});
  return trees_.back();
}

const config::Tree& Sources::open(const std::string& path) {
  if (known_ != nullptr)
    if (const auto found = known_->by_path_.find(path); found != known_->by_path_.end()) return *found->second;
  const auto found = by_path_.find(path);
  return found != by_path_.end() ? *found->second : add(read_(path), path);
}

const config::Tree& Sources::adopt(config::Tree tree) {
  trees_.push_back(std::move(tree));
  return trees_.back();
}

config::Value Places::of(std::string path, const config::Value& otherwise) const {
  for (;;) {
    const auto found = places_.find(path);
    if (found != places_.end()) return found->second;
    const std::size_t dot = path.rfind('.');
    if (dot == std::string::npos) return otherwise;
    path.resize(dot);
  }
}

void Places::note_fields(const std::string& path, const config::Value& map,
                         std::initializer_list<std::pair<std::string_view, std::string_view>> fields) {
  if (!map.is_map()) return;
  for (std::size_t i = 0; i < map.size(); ++i) {
    if (map[i].is_null()) continue;
    const std::string_view key = map.key(i).text();
    for (const auto& [member, stem] : fields)
      if (key.starts_with(stem) && (key.size() == stem.size() || key[stem.size()] == '_'))
        note(path.empty() ? std::string(member) : path + "." + std::string(member), map[i]);
  }
}

Origins Places::origins() const {
  Origins out;
  for (const auto& [path, value] : places_) out.places[path] = {value.file(), value.at().line};
  out.copies = copies_;
  return out;
}

std::optional<Origin> Origins::find(std::string path) const {
  const std::size_t core = std::min(path.find('.'), path.size());
  if (const auto copy = copies.find(path.substr(0, core)); copy != copies.end()) path.replace(0, core, copy->second);
  const auto found = places.find(path);
  return found == places.end() ? std::nullopt : std::optional(found->second);
}

void report(const Hardware& hardware, const Places& places, const config::Value& root, config::Findings& findings) {
  std::vector<Fault> faults = examine(hardware);
  // Doubts are only worth having of what can be at all.
  if (std::none_of(faults.begin(), faults.end(), [](const Fault& f) { return f.severity == Severity::Error; })) {
    const std::vector<Fault> more = doubts(hardware);
    faults.insert(faults.end(), more.begin(), more.end());
  }
  for (const Fault& fault : faults) {
    const config::Value at = places.of(fault.path, root);
    if (fault.severity == Severity::Error)
      findings.error(at, fault.message, fault.hint);
    else
      findings.warning(at, fault.message, fault.hint);
  }
}

void complete(Memory& memory, const Missing& missing, double node_nm, std::string_view dram_type) {
  std::int64_t word = 1;
  for (const Port& port : memory.ports) word = std::max(word, port.max_bits_per_cycle);
  const int ports = static_cast<int>(std::min<std::size_t>(memory.ports.size(), 64));
  const auto set = [](bool wanted, Figure& figure, const Figure& value) {
    if (wanted) figure = value;
  };
  switch (memory.kind) {
    case MemoryKind::Register:
      set(missing.read, memory.read_energy_pj, register_read_energy_pj(memory.size_bits, word, node_nm));
      set(missing.write, memory.write_energy_pj, register_write_energy_pj(memory.size_bits, word, node_nm));
      set(missing.leakage, memory.leakage_mw, register_leakage_mw(memory.size_bits, node_nm));
      set(missing.area, memory.area_mm2, register_area_mm2(memory.size_bits, ports, node_nm));
      return;
    case MemoryKind::Sram:
      set(missing.read, memory.read_energy_pj, sram_read_energy_pj(memory.size_bits, word, ports, node_nm));
      set(missing.write, memory.write_energy_pj, sram_write_energy_pj(memory.size_bits, word, ports, node_nm));
      set(missing.leakage, memory.leakage_mw, sram_leakage_mw(memory.size_bits, word, ports, node_nm));
      set(missing.area, memory.area_mm2, sram_area_mm2(memory.size_bits, word, ports, node_nm));
      return;
    case MemoryKind::Dram: {
      const std::optional<DramKind> kind = dram_kind_named(dram_type);
      Figure energy = dram_energy_pj_per_bit(kind.value_or(DramKind::Ddr4));
      energy.value *= static_cast<double>(word);
      if (!kind) {
        energy.provenance = Provenance::Assumed;
        energy.source = "taken for ddr4, as no type of DRAM is stated: " + energy.source;
      }
      set(missing.read, memory.read_energy_pj, energy);
      set(missing.write, memory.write_energy_pj, energy);
      // Neither its leakage nor its area is on the chip.
      const Figure none{.value = 0, .provenance = Provenance::Assumed, .source = "off the chip: not counted"};
      set(missing.leakage, memory.leakage_mw, none);
      set(missing.area, memory.area_mm2, none);
      return;
    }
  }
}

std::optional<std::pair<std::string, std::string>> split_pair(std::string_view text) {
  const std::size_t comma = text.find(',');
  if (comma == std::string_view::npos || text.find(',', comma + 1) != std::string_view::npos) return std::nullopt;
  const auto trimmed = [](std::string_view part) {
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    return std::string(part);
  };
  std::pair<std::string, std::string> parts{trimmed(text.substr(0, comma)), trimmed(text.substr(comma + 1))};
  if (parts.first.empty() || parts.second.empty()) return std::nullopt;
  return parts;
}

}  // namespace monet::hardware
