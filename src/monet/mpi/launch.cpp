#include "monet/mpi/launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "monet/base/diagnostic.h"

namespace monet::mpi {
namespace {

struct Names {
  const char *rank, *ranks;
};
// Open MPI's mpirun; PMI (MPICH, Intel MPI, Slurm's pmi2); PMIx, which tells the rank alone, under Slurm's srun.
constexpr std::array kLaunchers{Names{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, Names{"PMI_RANK", "PMI_SIZE"},
                                Names{"PMIX_RANK", "SLURM_STEP_NUM_TASKS"}};

std::optional<std::size_t> count_in(const char* text) {
  if (text == nullptr) return std::nullopt;
  const std::string_view word = text;
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  return value;
}

}  // namespace

Launch launch_of(const std::function<const char*(const char*)>& variable) {
  for (const Names& names : kLaunchers)
    if (const std::optional<std::size_t> rank = count_in(variable(names.rank)))
      return {*rank, std::max(*rank + 1, count_in(variable(names.ranks)).value_or(1))};
  return {};
}

Launch launched() {
  return launch_of([](const char* name) { return std::getenv(name); });
}

void refuse_ranks(const Launch& launch, const std::string& verb) {
  if (launch.ranks == 1) return;
  throw InputError(Diagnostic{
      .where = "monet " + verb,
      .message = fmt::format("a launcher of MPI started {} ranks, which would all do the same work", launch.ranks),
      .hint = "start it without mpirun; explore is the verb that ranks share"});
}

}  // namespace monet::mpi
