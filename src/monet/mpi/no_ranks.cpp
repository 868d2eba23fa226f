// In the place of ranks.cpp where there is no MPI to build with.
#include <fmt/format.h>

#include "monet/base/diagnostic.h"
#include "monet/mpi/ranks.h"

namespace monet::mpi {

struct Ranks::State {};

Ranks::Ranks(const Launch& launch) {
  throw InputError(
      Diagnostic{.where = "monet",
                 .message = fmt::format("the launcher started {} ranks, but this was built without MPI", launch.ranks),
                 .hint = "start it without mpirun; or install libopenmpi-dev and openmpi-bin, then configure and build "
                         "it again: cmake --preset release -DMONET_MPI=ON && cmake --build --preset release"});
}
Ranks::~Ranks() = default;

std::size_t Ranks::on_this_host() const { return 1; }
Link Ranks::link() { return {}; }

}  // namespace monet::mpi
