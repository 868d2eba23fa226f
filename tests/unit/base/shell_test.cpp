#include "monet/base/shell.h"

#include <gtest/gtest.h>

namespace monet {
namespace {

TEST(ShellWord, IsThatWordToAShell) {
  EXPECT_EQ(shell_word("resnet18:image=32,classes=10"), "resnet18:image=32,classes=10");
  EXPECT_EQ(shell_word("../models/a-b_c.onnx"), "../models/a-b_c.onnx");
  EXPECT_EQ(shell_word("two words"), "'two words'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word("$HOME*"), "'$HOME*'");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("~"), "'~'");
}

}  // namespace
}  // namespace monet
