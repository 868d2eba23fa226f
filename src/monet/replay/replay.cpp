#include "monet/replay/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <tuple>
#include <unordered_map>

#include "monet/interpret/initial.h"
#include "monet/replay/arithmetic.h"
#include "monet/replay/elements.h"
#include "monet/replay/memory.h"

namespace monet::replay {
namespace {

using namespace schedule;

constexpr std::uint32_t kNone = 0xffffffff;

// What happens at one moment, in this order. Something that takes no time does so between what ends and what begins,
// in the order in which it was decided.
enum class Step { End, AtOnce, Leave, Take, Begin };

struct Event {
  double time = 0;
  Step step = Step::Begin;
  enum class Kind { Tile, Transfer, Stay } kind = Kind::Tile;
  std::uint32_t index = 0;
  std::uint64_t decided = 0;
};

class Walk {
 public:
  Walk(const Graph& graph, const Storage& storage, const std::vector<plan::Facts>& facts, const Tiled& tiled,
       const Timeline& timeline, const ReplayOptions& options)
      : graph_(graph),
        storage_(storage),
        tiled_(tiled),
        p_(tiled.problem),
        t_(timeline),
        options_(options),
        is_view_(views(graph, storage)),
        elements_(graph, is_view_),
        arithmetic_(graph, storage, elements_, facts, tiled, options.step),
        memory_(p_, timeline),
        carried_(timeline.transfers.size()),
        was_taken_(timeline.stays.size(), false) {}

  Replayed run(const Values<double>& sources) {
    put_sources_home(sources);
    for (const TensorId t : options_.keep)
      if (const TensorId shown = elements_.shown(t); is_made(shown)) arithmetic_.keep(shown);
    for (const Event& event : events()) {
      if (out_.faults.size() >= options_.most_faults) break;
      now_ = event.time;
      switch (event.step) {
        case Step::Leave: memory_.leave(event.index); break;
        case Step::Take: take(event.index); break;
        case Step::Begin: begin(event); break;
        case Step::End: end(event); break;
        case Step::AtOnce:
          begin(event);
          end(event);
          break;
      }
    }
    now_ = t_.cycles;
    if (out_.faults.size() < options_.most_faults) collect();
    collect_kept(sources);
    return std::move(out_);
  }

 private:
  static std::vector<bool> views(const Graph& graph, const Storage& storage) {
    std::vector<bool> is_view;
    for (std::uint32_t n = 0; n < graph.nodes.size(); ++n) is_view.push_back(storage.is_view(NodeId{n}));
    return is_view;
  }

  bool is_made(TensorId t) const {
    return std::any_of(graph_.nodes.begin(), graph_.nodes.end(), [&](const Node& n) {
      return std::find(n.outputs.begin(), n.outputs.end(), t) != n.outputs.end();
    });
  }

  // ---- Order ----

  std::vector<Event> events() const {
    std::vector<Event> all;
    all.reserve(2 * (t_.tiles.size() + t_.transfers.size() + t_.stays.size()));
    const auto add = [&](Event::Kind kind, std::uint32_t index, double start, double end, std::uint64_t decided) {
      if (end > start) {
        all.push_back({start, Step::Begin, kind, index, decided});
        all.push_back({end, Step::End, kind, index, decided});
      } else {
        all.push_back({start, Step::AtOnce, kind, index, decided});
      }
    };
    for (std::uint32_t i = 0; i < t_.tiles.size(); ++i)
      add(Event::Kind::Tile, i, t_.tiles[i].start, t_.tiles[i].end, 3 * std::uint64_t{i} + 1);
    for (std::uint32_t i = 0; i < t_.transfers.size(); ++i) {
      const Transfer& x = t_.transfers[i];
      add(Event::Kind::Transfer, i, x.start, x.end,
          3 * std::uint64_t{x.tile.value} + (x.purpose == Purpose::Return ? 2 : 0));
    }
    for (std::uint32_t i = 0; i < t_.stays.size(); ++i) {
      const Stay& s = t_.stays[i];
      if (s.to > s.from) all.push_back({s.from, Step::Take, Event::Kind::Stay, i, 0});
      // What is there at the end is what has come home.
      if (s.to < t_.cycles) all.push_back({s.to, Step::Leave, Event::Kind::Stay, i, 0});
    }
    std::stable_sort(all.begin(), all.end(), [](const Event& a, const Event& b) {
      return std::tie(a.time, a.step, a.decided) < std::tie(b.time, b.step, b.decided);
    });
    return all;
  }

  void begin(const Event& e) { e.kind == Event::Kind::Tile ? begin_tile(e.index) : begin_transfer(e.index); }
  void end(const Event& e) { e.kind == Event::Kind::Tile ? end_tile(e.index) : end_transfer(e.index); }

  // ---- Words ----

  void fault(const std::string& who, const std::string& why) {
    if (out_.faults.size() < options_.most_faults) out_.faults.push_back({now_, who + ": " + why});
  }
  std::string words(BlockId b) const {
    const BlockInfo& info = tiled_.blocks[b.index()];
    std::string text = fmt::format("{}'{}'[", info.is_sum ? "a sum of " : "", graph_[info.tensor].name);
    bool is_first = true;
    for (const Range& r : arithmetic_.box_of(b).axes) {
      text += fmt::format("{}{}:{}", is_first ? "" : ",", r.begin, r.end);
      is_first = false;
    }
    return text + "]";
  }
  std::string words(const Wanted& w) const {
    return fmt::format("{} in {} from {} to {}", words(w.block), p_.machine.stores[w.store.index()].name, w.from, w.to);
  }
  std::string tile_words(std::uint32_t i) const {
    return fmt::format("tile {} of '{}'", i, graph_[tiled_.tiles[i].node].name);
  }
  std::string transfer_words(std::uint32_t i) const {
    const Transfer& x = t_.transfers[i];
    return fmt::format("transfer {} of {} from {} to {}", i, words(x.block), p_.machine.stores[x.from.index()].name,
                       p_.machine.stores[x.to.index()].name);
  }

  // ---- Places ----

  void take(std::uint32_t stay) {
    if (was_taken_[stay]) return;  // at the beginning, or by something that takes no time
    was_taken_[stay] = true;
    if (const std::string why = memory_.take(stay); !why.empty())
      fault(fmt::format("place {} of {}", stay, words(t_.stays[stay].block)), why);
  }

  // Sources lie where they are before anything happens.
  void put_sources_home(const Values<double>& sources) {
    std::vector<bool> is_at_home(p_.blocks.size(), false);
    for (std::uint32_t i = 0; i < t_.stays.size(); ++i) {
      const Stay& s = t_.stays[i];
      if (s.store != p_.machine.home || s.from > 0 || !p_.blocks[s.block.index()].starts_at_home) continue;
      if (is_at_home[s.block.index()]) continue;
      is_at_home[s.block.index()] = true;
      take(i);
      const Array<double>& whole_value = source(tiled_.blocks[s.block.index()].tensor, sources);
      const Region box = arithmetic_.box_of(s.block);
      auto part = std::make_shared<Array<double>>();
      part->shape = shape_of(box);
      part->data.resize(static_cast<std::size_t>(elements(box)));
      copy_shared(whole(whole_value.shape), whole_value.data.data(), box, part->data.data());
      if (memory_.begin_write({i, s.block, s.store, s.from, s.to}).empty())
        memory_.end_write(i, {.values = std::move(part)});
    }
  }

  const Array<double>& source(TensorId tensor, const Values<double>& sources) const {
    const Array<double>* given = given_value(graph_[tensor], sources);
    if (given == nullptr) throw ValueError(fmt::format("source '{}' has no value", graph_[tensor].name));
    return *given;
  }

  // ---- Transfers ----

  struct Carried {
    Held held{};
    std::uint32_t version = 0;
    bool has_place = false;
  };

  void begin_transfer(std::uint32_t i) {
    const Transfer& x = t_.transfers[i];
    Carried& carried = carried_[i];
    ++out_.transfers;
    out_.bytes_moved += static_cast<double>(p_.blocks[x.block.index()].bytes);
    const std::string from =
        memory_.read({x.from_stay, x.block, x.from, x.start, x.end}, carried.held, carried.version);
    if (!from.empty()) {
      fault(transfer_words(i), from);
      carried.held = {.is_spoiled = true};
    }
    if (x.end <= x.start) place_late(x.to_stay);
    const std::string to = memory_.begin_write({x.to_stay, x.block, x.to, x.start, x.end});
    if (!to.empty()) fault(transfer_words(i), to);
    carried.has_place = to.empty();
  }

  // A place that is taken at this very moment by something that takes no time.
  void place_late(std::uint32_t stay) {
    if (stay < t_.stays.size() && t_.stays[stay].from == now_) take(stay);
  }

  void end_transfer(std::uint32_t i) {
    const Transfer& x = t_.transfers[i];
    Carried carried = std::move(carried_[i]);
    carried_[i] = {};
    if (!carried.held.is_spoiled && !memory_.is_still(x.from_stay, carried.version)) {
      fault(transfer_words(i), "what it carries was overwritten meanwhile");
      carried.held = {.is_spoiled = true};
    }
    if (!carried.has_place) return;
    if (const std::string why = memory_.end_write(x.to_stay, std::move(carried.held)); !why.empty())
      fault(transfer_words(i), why);
  }

  // ---- Tiles ----

  struct Running {
    std::vector<Touched> touched{};
    std::vector<Wanted> places{};
    std::vector<std::uint32_t> versions{};  // of what it reads
    std::vector<bool> is_sound{};           // it was read, or has a place
    bool is_spoiled = false;
  };

  void begin_tile(std::uint32_t i) {
    const Tile& tile = p_.tiles[i];
    const TileTime& time = t_.tiles[i];
    Running run;
    ++out_.tiles;
    const auto add = [&](BlockId block, StoreId store, Access access, std::uint32_t stay) {
      run.touched.push_back({.block = block, .access = access});
      run.places.push_back({stay, block, store, time.start, time.end});
    };
    for (std::uint32_t k = tile.first_use; k < tile.first_use + tile.uses; ++k)
      add(p_.uses[k].block, p_.uses[k].store, p_.uses[k].access, t_.use_stays[k]);
    for (std::uint32_t k = tile.first_flow; k < tile.first_flow + tile.flows; ++k)
      add(p_.flows[k].block, p_.machine.home, p_.flows[k].access, t_.flow_stays[k]);
    run.versions.resize(run.touched.size());
    run.is_sound.assign(run.touched.size(), false);
    for (std::size_t k = 0; k < run.touched.size(); ++k) {
      if (run.touched[k].access == Access::Write) continue;
      const std::string why = memory_.read(run.places[k], run.touched[k].before, run.versions[k]);
      if (!why.empty()) fault(tile_words(i), fmt::format("{}: {}", words(run.places[k]), why));
      run.is_sound[k] = why.empty();
      run.is_spoiled = run.is_spoiled || !why.empty() || run.touched[k].before.is_spoiled;
    }
    for (std::size_t k = 0; k < run.touched.size(); ++k) {
      if (run.touched[k].access == Access::Read) continue;
      if (time.end <= time.start) place_late(run.places[k].stay);
      const std::string why = memory_.begin_write(run.places[k]);
      if (!why.empty()) fault(tile_words(i), fmt::format("{}: {}", words(run.places[k]), why));
      run.is_sound[k] = why.empty();
    }
    if (!run.is_spoiled)
      if (const std::string why = arithmetic_.run(i, run.touched); !why.empty()) {
        fault(tile_words(i), why);
        run.is_spoiled = true;
      }
    running_.emplace(i, std::move(run));
  }

  void end_tile(std::uint32_t i) {
    const auto at = running_.find(i);
    Running run = std::move(at->second);
    running_.erase(at);
    for (std::size_t k = 0; k < run.touched.size(); ++k)
      if (run.touched[k].access == Access::Read && run.is_sound[k] &&
          !memory_.is_still(run.places[k].stay, run.versions[k])) {
        fault(tile_words(i), fmt::format("{}: it was overwritten meanwhile", words(run.places[k])));
        run.is_spoiled = true;
      }
    for (std::size_t k = 0; k < run.touched.size(); ++k) {
      if (run.touched[k].access == Access::Read || !run.is_sound[k]) continue;
      const std::string why =
          memory_.end_write(run.places[k].stay, run.is_spoiled ? Held{.is_spoiled = true} : run.touched[k].after);
      if (!why.empty()) fault(tile_words(i), fmt::format("{}: {}", words(run.places[k]), why));
    }
  }

  // ---- What has come home ----

  void collect() {
    std::vector<std::uint32_t> last(p_.blocks.size(), kNone);
    for (std::uint32_t i = 0; i < t_.stays.size(); ++i) {
      const Stay& s = t_.stays[i];
      if (s.store == p_.machine.home && s.to >= t_.cycles && memory_.is_taken(i)) last[s.block.index()] = i;
    }
    for (std::uint32_t t = 0; t < graph_.tensors.size(); ++t) {
      const TensorId root{t};
      if (storage_.root(root) != root || tiled_.first_block[t] == kNone) continue;
      if (!p_.blocks[tiled_.first_block[t]].ends_at_home) continue;
      Array<double> at_home{graph_[root].shape,
                            std::vector<double>(static_cast<std::size_t>(elements(graph_[root].shape)))};
      if (collect_blocks(root, last, at_home)) show(root, at_home);
    }
  }

  bool collect_blocks(TensorId root, const std::vector<std::uint32_t>& last, Array<double>& at_home) {
    bool is_whole = true;
    const Region all = whole(at_home.shape);
    for (std::uint32_t c = 0; c < tiled_.grids[root.index()].cells(); ++c) {
      const BlockId block{tiled_.first_block[root.index()] + c};
      const std::uint32_t stay = last[block.index()];
      const Held held = stay == kNone ? Held{} : memory_.held(stay);
      if (!held.is_there()) fault(words(block), "its last value is not at home");
      is_whole = is_whole && held.values != nullptr;
      if (held.values != nullptr)
        copy_shared(arithmetic_.box_of(block), held.values->data.data(), all, at_home.data.data());
    }
    return is_whole;
  }

  // Outputs of the graph that lie there, and the tensor that was the last to take the storage over.
  void show(TensorId root, const Array<double>& at_home) {
    std::vector<TensorId> shown;
    for (const TensorId t : graph_.outputs)
      if (storage_.root(t) == root) shown.push_back(t);
    std::vector<bool> is_overwritten(graph_.tensors.size(), false);
    for (const Tensor& t : graph_.tensors)
      if (t.overwrites != kNoTensor) is_overwritten[t.overwrites.index()] = true;
    for (std::uint32_t t = 0; t < graph_.tensors.size(); ++t)
      if (graph_.tensors[t].overwrites != kNoTensor && storage_.root(TensorId{t}) == root && !is_overwritten[t])
        shown.push_back(TensorId{t});
    for (const TensorId t : shown) {
      const auto [at, is_new] = out_.values.emplace(graph_[t].name, Array<double>{graph_[t].shape, {}});
      if (!is_new) continue;
      for (const std::int64_t position : elements_.positions(t, whole(graph_[t].shape), true))
        at->second.data.push_back(at_home.data[static_cast<std::size_t>(position)]);
    }
  }

  void collect_kept(const Values<double>& sources) {
    for (const TensorId t : options_.keep) {
      const TensorId shown = elements_.shown(t);
      const auto kept = arithmetic_.kept().find(shown);
      const Array<double>& from = kept != arithmetic_.kept().end() ? kept->second : source(shown, sources);
      const auto [at, is_new] = out_.values.emplace(graph_[t].name, Array<double>{graph_[t].shape, {}});
      if (!is_new) continue;
      for (const std::int64_t position : elements_.positions(t, whole(graph_[t].shape), false))
        at->second.data.push_back(from.data[static_cast<std::size_t>(position)]);
    }
  }

  const Graph& graph_;
  const Storage& storage_;
  const Tiled& tiled_;
  const Problem& p_;
  const Timeline& t_;
  const ReplayOptions& options_;
  std::vector<bool> is_view_;
  Elements elements_;
  Arithmetic arithmetic_;
  Memory memory_;
  std::vector<Carried> carried_;                        // by transfer
  std::unordered_map<std::uint32_t, Running> running_;  // by tile
  std::vector<bool> was_taken_;                         // by stay
  double now_ = 0;
  Replayed out_;
};

}  // namespace

Replayed replay(const Graph& graph, const Storage& storage, const std::vector<plan::Facts>& facts, const Tiled& tiled,
                const Timeline& timeline, const Values<double>& sources, const ReplayOptions& options) {
  try {
    return Walk(graph, storage, facts, tiled, timeline, options).run(sources);
  } catch (const std::bad_alloc&) {
    throw ValueError("not enough memory to carry the schedule out");
  }
}

}  // namespace monet::replay
