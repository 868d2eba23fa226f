#include "monet/mpi/launch.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "monet/base/diagnostic.h"

namespace monet::mpi {
namespace {

Launch launch(const std::map<std::string, std::string>& environment) {
  return launch_of([&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

TEST(Launch, IsOneRankWithoutALauncher) {
  EXPECT_EQ(launch({}), Launch{});
  EXPECT_EQ(launch({{"SLURM_STEP_NUM_TASKS", "4"}}), Launch{});  // a shell in an allocation
  EXPECT_EQ(launch({{"OMPI_COMM_WORLD_RANK", "one"}, {"OMPI_COMM_WORLD_SIZE", "2"}}), Launch{});
}

TEST(Launch, KnowsTheLaunchers) {
  EXPECT_EQ(launch({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "4"}}), (Launch{1, 4}));
  EXPECT_EQ(launch({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}}), (Launch{0, 2}));
  EXPECT_EQ(launch({{"PMIX_RANK", "2"}, {"SLURM_STEP_NUM_TASKS", "8"}}), (Launch{2, 8}));
  EXPECT_EQ(launch({{"PMIX_RANK", "2"}}), (Launch{2, 3}));  // there are three at the least
}

TEST(Launch, IsRefusedWhereRanksWouldAllDoTheSame) {
  refuse_ranks({0, 1}, "evaluate");
  try {
    refuse_ranks({3, 4}, "evaluate");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("monet evaluate: error: a launcher of MPI started 4 ranks"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace monet::mpi
