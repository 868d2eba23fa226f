#pragma once
#include <cstddef>
#include <string>

#include "monet/graph/graph.h"
#include "monet/plan/machine.h"
#include "monet/schedule/evaluation.h"

namespace monet {

// An evaluation as trace events (the JSON form that Perfetto and chrome://tracing read): a track for every unit and
// every channel, a counter for every store. Events stand in the order of time; the same evaluation gives the same
// bytes. Where more passes over a channel at once than one track can show, further tracks "… #2" are beside it.

struct TraceOptions {
  // At most so many events, but at least one for every track: beyond it neighbours on a track become one event, those
  // of one node or tensor first, and of a store's bytes the largest in each stretch of time remain.
  std::size_t most_events = 200'000;
};

struct Trace {
  std::string json{};
  std::size_t events = 0;
  std::string merged{};  // what was, in words; empty: nothing
};

Trace trace_json(const Graph& graph, const plan::Chip& chip, const schedule::Evaluation& evaluation,
                 const TraceOptions& options = {});

}  // namespace monet
