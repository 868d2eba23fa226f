#pragma once
#include "monet/verbs/map.h"

namespace monet {

// The mapping of every layer of `run`, whose `asked` are set. Identical layers are searched once, those of the file
// `request.cache` not at all; the file gets what was found in full. Under a time limit each layer has its share of what
// is left. Throws InputError, also where more orderings are asked for than a user will wait for.
void search_layers(const MapRequest& request, const MapObserver& observer, MapRun& run);

}  // namespace monet
