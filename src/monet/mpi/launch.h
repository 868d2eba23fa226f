#pragma once
#include <cstddef>
#include <functional>
#include <string>

namespace monet::mpi {

// What the launcher of a parallel job (mpirun, srun) has told this process, read before MPI is started: whoever was not
// launched by one must not pay for it.
struct Launch {
  std::size_t rank = 0, ranks = 1;
  bool operator==(const Launch&) const = default;
};

// `variable`: the value of an environment variable, or null. Where a launcher says the rank but not how many there are,
// there are at least as many as this one needs.
Launch launch_of(const std::function<const char*(const char*)>& variable);
Launch launched();  // this process

// Throws InputError if there are several ranks of what they cannot share.
void refuse_ranks(const Launch& launch, const std::string& verb);

}  // namespace monet::mpi
