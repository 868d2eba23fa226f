#pragma once
#include <cstddef>
#include <functional>

namespace monet {

// Calls `work` for 0 … count - 1, on up to `threads` threads (0: as many as the machine has). Each index once, in no
// given order: what is computed must not hang on it. An exception ends the loop; of several, the one of the lowest
// index is thrown, as a plain loop would.
void parallel_for(std::size_t count, std::size_t threads, const std::function<void(std::size_t)>& work);

}  // namespace monet
