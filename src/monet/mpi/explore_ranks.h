#pragma once
#include <string>

#include "monet/mpi/crew.h"
#include "monet/mpi/ranks.h"
#include "monet/verbs/explore.h"

namespace monet::mpi {

// `explore` by all ranks of a job: each of them makes the problem from the same command line; the first one alone
// searches, stores and prints.

// Threads of a rank: as asked for; else one where other ranks are on its host, and all cores of a host of its own.
std::size_t threads_of(const Ranks& ranks, std::size_t asked);

// All but the first rank, until it lets them go.
void serve_explore(Ranks& ranks, const ExploreRequest& request);

// The first rank; `crew` must be dismissed before the result is gone. Throws InputError, as `explore` does.
ExploreRun explore_by(Crew& crew, ExploreRequest request);
// Dismisses, and adds to the file of --cache what the others found.
void end_explore(Crew& crew, const ExploreRequest& request, ExploreRun& run);

}  // namespace monet::mpi
