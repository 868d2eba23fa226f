#include "unit/interpret/arrays.h"

namespace monet {
namespace {

// (x, y, ½) -> x·½ and, where x < y, that as a whole number, else y; the whole number between them is no output.
const Steps kProgram{.program = {{Binary{BinaryKind::Mul}, {0, 2, kNoValue}, Format{}},
                                 {Cast{Element::I32}, {3, kNoValue, kNoValue}, Format{Element::I32}},
                                 {Binary{BinaryKind::Less}, {0, 1, kNoValue}, Format{Element::Bool}},
                                 {Select{}, {5, 4, 1}, Format{}}},
                     .outputs = {3, 6}};

TEST(StepsValues, AreThoseOfTheSteps) {
  const Array<double> x = row({1, 5, -7, 9}), y = row({2, 6, 0, -1}), half{{}, {0.5}};
  Tensor type;
  type.shape = {4};
  const std::vector<const Array<double>*> inputs{&x, &y, &half};
  const std::vector<const Tensor*> all{&type, &type}, last{nullptr, &type};
  const std::vector<Array<double>> made = evaluate<double>(kProgram, inputs, all);
  EXPECT_EQ(made[0], row({0.5, 2.5, -3.5, 4.5}));
  EXPECT_EQ(made[1], row({0, 2, -3, -1}));
  EXPECT_EQ(evaluate<double>(kProgram, inputs, last)[1], made[1]);
}

TEST(StepsValues, SayWhatDoesNotFit) {
  const Array<double> x = row({1, 5}), y = row({2, 6, 0}), half{{}, {0.5}};
  Tensor type;
  type.shape = {2};
  const std::vector<const Tensor*> outputs{&type, &type};
  EXPECT_THROW(evaluate<double>(kProgram, std::vector<const Array<double>*>{&x, &y, &half}, outputs), ValueError);
  EXPECT_THROW(evaluate<double>(kProgram, std::vector<const Array<double>*>{&x, nullptr, &half}, outputs), ValueError);
}

}  // namespace
}  // namespace monet
