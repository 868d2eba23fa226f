#include "unit/interpret/arrays.h"

namespace monet {
namespace {

using V = std::vector<double>;
using A = Array<double>;

A counting(Shape shape) {
  A a{shape, {}};
  for (std::int64_t i = 0; i < elements(shape); ++i) a.data.push_back(static_cast<double>(i));
  return a;
}

TEST(Movement, ViewTransposeExpand) {
  const A x = counting({2, 3});
  EXPECT_EQ(evaluate_one<double>(View{{3, 2}}, {&x}), (A{{3, 2}, {0, 1, 2, 3, 4, 5}}));
  EXPECT_EQ(evaluate_one<double>(Transpose{{1, 0}}, {&x}), (A{{3, 2}, {0, 3, 1, 4, 2, 5}}));
  const A column{{2, 1}, {7, 8}};
  EXPECT_EQ(evaluate_one<double>(Expand{{2, 2, 2}}, {&column}), (A{{2, 2, 2}, {7, 7, 8, 8, 7, 7, 8, 8}}));
}

TEST(Movement, TransposeOfFourDimensionsEqualsIndexArithmetic) {
  const A x = counting({2, 3, 4, 5});
  const A y = evaluate_one<double>(Transpose{{2, 0, 3, 1}}, {&x});
  ASSERT_EQ(y.shape, (Shape{4, 2, 5, 3}));
  std::size_t flat = 0;
  for (int a = 0; a < 4; ++a)
    for (int b = 0; b < 2; ++b)
      for (int c = 0; c < 5; ++c)
        for (int d = 0; d < 3; ++d) ASSERT_EQ(y.data[flat++], ((b * 3 + d) * 4 + a) * 5 + c);
}

TEST(Movement, ConcatAndSplitAreInverse) {
  const A x = random_array({2, 6, 3}, 1);
  const auto parts = evaluate_all<double>(Split{1, {1, 3, 2}}, {&x});
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[1].shape, (Shape{2, 3, 3}));
  EXPECT_EQ(parts[1].data[0], x.data[3]);
  EXPECT_EQ(parts[1].data[9], x.data[18 + 3]);
  EXPECT_EQ(evaluate_one<double>(Concat{1}, {&parts[0], &parts[1], &parts[2]}), x);
}

TEST(Movement, SliceAndPlaceByHandAndAdjoint) {
  const A x = counting({4, 5});
  const Slice slice{{3, 0}, {2, 3}, {-2, 2}};
  EXPECT_EQ(evaluate_one<double>(slice, {&x}), (A{{2, 3}, {15, 17, 19, 5, 7, 9}}));
  const A y = random_array({2, 3}, 1);
  const A placed = evaluate_one<double>(Place{{3, 0}, {-2, 2}, {4, 5}}, {&y});
  EXPECT_EQ(placed.data, (V{0, 0, 0, 0, 0, y.data[3], 0, y.data[4], 0, y.data[5],  //
                            0, 0, 0, 0, 0, y.data[0], 0, y.data[1], 0, y.data[2]}));
  const Slice far{{1, 2}, {1, 1}, {std::numeric_limits<std::int64_t>::max(), -1000}};  // a single element: any step
  EXPECT_EQ(evaluate_one<double>(far, {&x}).data, (V{7}));
}

TEST(Movement, PadInEveryMode) {
  const A x{{3}, {1, 2, 3}};
  EXPECT_EQ(evaluate_one<double>(Pad{{2}, {1}, PadMode::Constant, 9}, {&x}).data, (V{9, 9, 1, 2, 3, 9}));
  EXPECT_EQ(evaluate_one<double>(Pad{{-1}, {2}, PadMode::Constant, 9}, {&x}).data, (V{2, 3, 9, 9}));
  EXPECT_EQ(evaluate_one<double>(Pad{{2}, {2}, PadMode::Reflect}, {&x}).data, (V{3, 2, 1, 2, 3, 2, 1}));
  EXPECT_EQ(evaluate_one<double>(Pad{{2}, {1}, PadMode::Edge}, {&x}).data, (V{1, 1, 1, 2, 3, 3}));
  const A square = counting({2, 2});
  EXPECT_EQ(evaluate_one<double>(Pad{{0, 1}, {1, 0}, PadMode::Constant, -1}, {&square}).data,
            (V{-1, 0, 1, -1, 2, 3, -1, -1, -1}));
}

TEST(Movement, PadGradientsEqualCentralDifferences) {
  const A x = random_array({2, 4, 3}, 1);
  for (const PadMode mode : {PadMode::Constant, PadMode::Reflect, PadMode::Edge}) {
    const Pad op{{0, 3, 1}, {1, 2, 2}, mode};
    const A y = evaluate_one<double>(op, {&x}), dy = random_array(y.shape, 2);
    expect_near(evaluate_one<double>(PadGradient{op.begin, op.end, mode}, {&dy}), numeric_gradient(op, {x}, 0, dy),
                1e-8);
  }
}

TEST(Movement, GatherAndScatterAddByHandAndAdjoint) {
  const A data = counting({2, 3, 2}), indices{{2, 2}, {2, 0, -1, 2}};
  const A y = evaluate_one<double>(Gather{1}, {&data, &indices});
  EXPECT_EQ(y, (A{{2, 2, 2, 2}, {4, 5, 0, 1, 4, 5, 4, 5, 10, 11, 6, 7, 10, 11, 10, 11}}));
  const A dy = random_array(y.shape, 1), x = random_array(data.shape, 2);
  const A back = evaluate_one<double>(ScatterAdd{1, 3}, {&dy, &indices});
  EXPECT_NEAR(dot(back, x), dot(dy, evaluate_one<double>(Gather{1}, {&x, &indices})), 1e-13);
  ScatterAdd part{1, 2};  // entries 1 and 2 alone
  part.part.whole = {3};
  part.part.origin = {1};
  const A some = evaluate_one<double>(part, {&dy, &indices});
  EXPECT_EQ(some.data, (V{back.data[2], back.data[3], back.data[4], back.data[5], back.data[8], back.data[9],
                          back.data[10], back.data[11]}));
  const A one{{}, {1}};
  EXPECT_EQ(evaluate_one<double>(Gather{0}, {&data, &one}).data, (V{6, 7, 8, 9, 10, 11}));
}

TEST(Movement, IndicesOutOfRangeAreRefusedByName) {
  const A data = counting({3, 2}), dy = counting({2, 2});
  for (const double index : {3.0, -4.0, 1e300, std::nan("")}) {
    const A indices{{2}, {0, index}};
    try {
      evaluate_one<double>(Gather{0}, {&data, &indices});
      FAIL() << index;
    } catch (const ValueError& error) {
      EXPECT_NE(std::string(error.what()).find("(number 1) is out of range for extent 3"), std::string::npos)
          << error.what();
    }
    EXPECT_THROW(evaluate_one<double>(ScatterAdd{0, 3}, {&dy, &indices}), ValueError);
  }
}

TEST(Movement, TriluKeepsATriangleOfEachMatrix) {
  const A x{{2, 2, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}};
  EXPECT_EQ(evaluate_one<double>(Trilu{true, 0}, {&x}).data, (V{1, 2, 3, 0, 5, 6, 7, 8, 9, 0, 11, 12}));
  EXPECT_EQ(evaluate_one<double>(Trilu{true, 1}, {&x}).data, (V{0, 2, 3, 0, 0, 6, 0, 8, 9, 0, 0, 12}));
  EXPECT_EQ(evaluate_one<double>(Trilu{false, -1}, {&x}).data, (V{0, 0, 0, 4, 0, 0, 0, 0, 0, 10, 0, 0}));
  EXPECT_EQ(evaluate_one<double>(Trilu{false, std::numeric_limits<std::int64_t>::max()}, {&x}), x);
}

TEST(Movement, FillAndIota) {
  EXPECT_EQ(evaluate_one<double>(Fill{{2, 2}, 1.5}, {}), (A{{2, 2}, {1.5, 1.5, 1.5, 1.5}}));
  EXPECT_EQ(evaluate_one<double>(Iota{3, -0.5, 4}, {}), (A{{4}, {3, 2.5, 2, 1.5}}));
}

}  // namespace
}  // namespace monet
