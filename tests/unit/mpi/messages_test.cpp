#include "monet/mpi/messages.h"

#include <gtest/gtest.h>

#include <limits>
#include <new>
#include <stdexcept>

namespace monet::mpi {
namespace {

const Diagnostic kFault{.file = "space.yaml",
                        .line = 3,
                        .column = 7,
                        .where = "x",
                        .message = "is \"negative\"",
                        .hint = "",
                        .severity = Severity::Warning};

TEST(Messages, ArriveAsTheyWere) {
  search::ChipFigures figures{.latency_cycles = 0.1, .energy_pj = std::numeric_limits<double>::infinity()};
  search::ChipFigures none{.reason = std::string("no\0room", 7), .area_mm2 = 4};
  const Failure failure{.kind = Failure::Kind::Input, .diagnostics = {kFault, {}}};
  const std::vector<Message> all{
      Assignment{.id = 1ull << 40, .task = {{0, 65535, 3}, {0, 31}, {"pe.buffer.read", 0.7}}},
      Assignment{},
      Halt{},
      Leave{},
      Hello{"node7", 8, {"abc", {{"space.yaml", "0f"}, {"m.onnx", ""}}}, std::nullopt},
      Hello{"node7", 1, {}, failure},
      Done{.id = 7, .result = {figures, none}},
      Done{.id = 8, .failure = Failure{.text = "why"}},
      Done{.id = 9, .busy_s = 0.25},
      News{std::string(100'000, 'x')},
      Bye{}};
  for (const Message& message : all) EXPECT_EQ(unpack(pack(message)), message);
}

TEST(Messages, CarryExceptionsToAnotherRank) {
  const auto carried = [](const auto& error) {
    raise(std::get<Done>(unpack(pack(Done{.failure = failure_of(std::make_exception_ptr(error))}))).failure.value());
  };
  EXPECT_THROW(carried(std::bad_alloc()), std::bad_alloc);
  try {
    carried(InputError(kFault));
  } catch (const InputError& error) {
    EXPECT_EQ(error.diagnostics(), std::vector{kFault});
  }
  try {
    carried(std::out_of_range("beyond"));
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "beyond");
  }
}

}  // namespace
}  // namespace monet::mpi
