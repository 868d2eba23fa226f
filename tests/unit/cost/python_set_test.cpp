#include "monet/cost/python_set.h"

#include <gtest/gtest.h>

namespace monet::cost {
namespace {

std::string in_order(PythonClass kind, const std::vector<std::string>& names) {
  std::string text;
  for (const std::size_t i : python_set_order(kind, names)) text += names[i] + " ";
  return text;
}

// Figures of this file: Python 3.11 with zigzag-dse 3.8.5, hash(LayerDim(name)) and set iteration.
TEST(PythonSet, HashesAreThoseOfPython) {
  EXPECT_EQ(python_hash(PythonClass::LayerDim, "B"), 2274680621932004355u);
  EXPECT_EQ(python_hash(PythonClass::LayerDim, "K"), 808955158820251385u);
  EXPECT_EQ(python_hash(PythonClass::LayerDim, "C"), 1154411953581605750u);
  EXPECT_EQ(python_hash(PythonClass::LayerDim, "G"), 1958728070581703856u);
  EXPECT_EQ(python_hash(PythonClass::LayerDim, "OX"), 1754239838488883382u);
  EXPECT_EQ(python_hash(PythonClass::LayerDim, "FY"), 1607686027741749687u);
}

TEST(PythonSet, NamesOfEveryLengthAreHashed) {
  // Around the end of a block of SHA-512 and of a short pickled string.
  EXPECT_EQ(python_hash(PythonClass::LayerDim, std::string(1, 'X')), 1804928216200141864u);
  EXPECT_EQ(python_hash(PythonClass::LayerDim, std::string(90, 'X')), 1154618528477760285u);
  EXPECT_EQ(python_hash(PythonClass::LayerDim, std::string(98, 'X')), 1429523186659999875u);
  EXPECT_EQ(python_hash(PythonClass::LayerDim, std::string(99, 'X')), 2173011538232292861u);
  EXPECT_EQ(python_hash(PythonClass::LayerDim, std::string(100, 'X')), 1945642325031674373u);
  EXPECT_EQ(python_hash(PythonClass::LayerDim, std::string(101, 'X')), 1846300039122838077u);
  EXPECT_EQ(python_hash(PythonClass::LayerDim, std::string(110, 'X')), 1037976590296462647u);
  EXPECT_EQ(python_hash(PythonClass::LayerDim, std::string(114, 'X')), 665774876850843079u);
  EXPECT_EQ(python_hash(PythonClass::LayerDim, std::string(255, 'X')), 406473468925456868u);
  EXPECT_EQ(python_hash(PythonClass::LayerDim, std::string(256, 'X')), 1119263778537331128u);
  EXPECT_EQ(python_hash(PythonClass::LayerDim, std::string(300, 'X')), 1956160169000225168u);
  EXPECT_EQ(python_hash(PythonClass::OADimension, "D1"), 2048910558639910025u);
  EXPECT_EQ(python_hash(PythonClass::OADimension, "D2"), 386846459442819546u);
  EXPECT_EQ(python_hash(PythonClass::OADimension, "D3"), 286093410687053097u);
  EXPECT_EQ(python_hash(PythonClass::OADimension, "D4"), 1190809941726157689u);
}

TEST(PythonSet, ClassesHashDifferently) {
  EXPECT_NE(python_hash(PythonClass::LayerDim, "D1"), python_hash(PythonClass::OADimension, "D1"));
}

TEST(PythonSet, IteratesInTheOrderOfTheTable) {
  EXPECT_EQ(in_order(PythonClass::LayerDim, {"B", "K", "C", "OY", "OX", "FY", "FX"}), "FY FX B OX C K OY ");
  EXPECT_EQ(in_order(PythonClass::LayerDim, {"C", "FX", "FY"}), "FX C FY ");
  EXPECT_EQ(in_order(PythonClass::LayerDim, {"R", "IX", "H", "U"}), "U R H IX ");
  EXPECT_EQ(in_order(PythonClass::LayerDim, {"S", "D2", "B", "D0", "FY"}), "B D0 S D2 FY ");
  EXPECT_EQ(in_order(PythonClass::LayerDim, {"S", "G", "OY", "C", "H", "D1"}), "H S D1 G C OY ");
  EXPECT_EQ(in_order(PythonClass::LayerDim, {"FY", "M", "P", "C", "Q", "U", "B", "FX", "D1", "OX", "K", "D0"}),
            "FX B M U D0 D1 P C FY OX K Q ");
  EXPECT_EQ(in_order(PythonClass::LayerDim, {"OY", "K", "OX", "R", "D0", "S", "P", "B",  "N",  "D1",
                                             "C",  "M", "T",  "D", "D2", "U", "G", "IX", "FX", "FY"}),
            "B M S IX D2 R D0 D1 G D OX FY FX U N P OY T C K ");
  EXPECT_EQ(in_order(PythonClass::LayerDim, {"U",  "FX", "M", "IY", "B",  "H",  "N",  "OY", "D0", "K", "OX", "G",
                                             "D1", "S",  "Q", "D",  "IX", "D2", "FY", "R",  "P",  "C", "T"}),
            "B M S IX D2 R D0 D1 G D OX FY FX U IY N P OY Q H T C K ");
  EXPECT_EQ(in_order(PythonClass::OADimension, {"D1", "D2", "D3", "D4"}), "D1 D2 D4 D3 ");
  EXPECT_EQ(in_order(PythonClass::OADimension, {"D4", "D3", "D2", "D1"}), "D4 D2 D1 D3 ");
  EXPECT_EQ(in_order(PythonClass::OADimension, {"D2", "D4"}), "D4 D2 ");
}

TEST(PythonSet, SameNameTwiceIsOnce) {
  EXPECT_EQ(python_set_order(PythonClass::LayerDim, {"K", "K", "C", "K"}).size(), 2u);
  EXPECT_TRUE(python_set_order(PythonClass::LayerDim, {}).empty());
}

}  // namespace
}  // namespace monet::cost
