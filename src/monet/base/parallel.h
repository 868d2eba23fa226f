#pragma once
#include <cstddef>
#include <functional>

namespace monet {

// As many threads as are asked for; 0: as many as there are cores for this process.
std::size_t threads_for(std::size_t asked);

// Calls `work` for 0 … count - 1, on up to `threads_for(threads)` threads. Each index once, in no
// given order: what is computed must not hang on it. An exception ends the loop; of several, the one of the lowest
// index is thrown, as a plain loop would.
void parallel_for(std::size_t count, std::size_t threads, const std::function<void(std::size_t)>& work);

}  // namespace monet
