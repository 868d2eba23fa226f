#include "monet/base/diagnostic.h"

#include <gtest/gtest.h>

#include "monet/base/assert.h"

namespace monet {
namespace {

TEST(Diagnostic, ReadsLikeACompilersMessage) {
  EXPECT_EQ(to_string(Diagnostic{.file = "hw.yaml", .line = 5, .column = 19, .message = "must be positive"}),
            "hw.yaml:5:19: error: must be positive");
  EXPECT_EQ(to_string(Diagnostic{.file = "m.onnx", .where = "node 12 'conv1' (Conv)", .message = "no", .hint = "do"}),
            "m.onnx: node 12 'conv1' (Conv): error: no (do)");
  EXPECT_EQ(to_string(Diagnostic{.message = "odd", .severity = Severity::Warning}), "warning: odd");
  EXPECT_EQ(to_string(Diagnostic{.where = "--seed", .message = "must be a number"}), "--seed: error: must be a number");
}

TEST(InputError, CarriesEveryFault) {
  const InputError error(
      std::vector{Diagnostic{.file = "a", .message = "one"}, Diagnostic{.file = "b", .message = "two"}});
  EXPECT_STREQ(error.what(), "a: error: one\nb: error: two");
  ASSERT_EQ(error.diagnostics().size(), 2u);
  EXPECT_EQ(error.diagnostics()[1].message, "two");
}

TEST(AssertDeathTest, SaysWhatBroke) {
  const int two = 2;
  MONET_ASSERT(two == 2, "no harm");
  EXPECT_DEATH(MONET_ASSERT(two == 3, "arithmetic is broken"), "internal error at .*arithmetic is broken .two == 3.");
}

}  // namespace
}  // namespace monet
