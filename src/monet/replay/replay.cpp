#include "monet/replay/replay.h"
