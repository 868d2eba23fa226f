#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "monet/report/page.h"
#include "monet/report/page_text.h"
#include "monet/report/trace_events.h"

// The sections of the page of an evaluation. Only page.cpp puts them together.

namespace monet {

// Drawings are so many units wide; the plots in them stand at the same place, so that times line up down the page.
inline constexpr double kDrawingWidth = 1200, kPlotLeft = 144, kPlotWidth = 996;

struct PageInput {
  const Graph& graph;
  const plan::Chip& chip;
  const schedule::Evaluation& e;
  const PageOptions& options;
  TimeScale time;
  Moves moves{};
  std::size_t coarseness = 1;  // drawings have so many times fewer parts

  double x_of(double cycles) const { return kPlotLeft + (e.latency > 0 ? kPlotWidth * cycles / e.latency : 0); }
  std::size_t phase_of(std::uint32_t tile) const {
    return static_cast<std::size_t>(graph[e.tiled.tiles[tile].node].phase);
  }
  const std::string& node_name(std::uint32_t tile) const { return graph[e.tiled.tiles[tile].node].name; }
  const std::string& store_name(plan::StoreId store) const { return chip.machine.stores[store.index()].name; }
};

// What the script is told: names once, and the rest by their index.
class ScriptData {
 public:
  std::size_t name(const std::string& text);
  void row(std::string json) { rows_.push_back(std::move(json)); }      // of the Gantt
  void store(std::string json) { stores_.push_back(std::move(json)); }  // of the memories
  std::string json(const PageInput& in) const;

 private:
  std::map<std::string, std::size_t> index_;
  std::vector<std::string> names_, rows_, stores_;
};

// What the path that decides the latency is made of.
struct PathPart {
  std::string name{};
  std::size_t phase = 0;
  bool is_move = false;
  MoveKind kind = MoveKind::Fetch;
  double cycles = 0;
  std::size_t steps = 0;
};
// One step of it: a node's tile or the move of a tensor.
PathPart path_part(const PageInput& in, const schedule::PathStep& step);

std::string figures_section(const PageInput& in);
std::string energy_section(const PageInput& in);
std::string gantt_section(const PageInput& in, ScriptData& data);
std::string memory_section(const PageInput& in, ScriptData& data);
std::string path_section(const PageInput& in);
std::string nodes_section(const PageInput& in);
std::string tensors_section(const PageInput& in);

// A tensor's bytes in the stores at one time.
struct Alive {
  TensorId tensor{};
  schedule::MemoryUse use = schedule::MemoryUse::Activations;
  double bytes = 0;
  std::vector<double> by_store{};
};
// By bytes, most first; of one store, or of all (kNoId).
std::vector<Alive> alive_at(const PageInput& in, double time, plan::StoreId store);

// Vertical lines at round times, with their figures below `bottom`.
std::string time_axis(const PageInput& in, double top, double bottom);

std::string_view page_style();
std::string_view page_script();

}  // namespace monet
