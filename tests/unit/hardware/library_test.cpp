#include "monet/hardware/library.h"

#include <gtest/gtest.h>

#include "monet/hardware/yaml.h"

namespace monet::hardware {
namespace {

TEST(Library, EveryChipLoadsAndPrintsBack) {
  ASSERT_FALSE(library_names().empty());
  for (const std::string& name : library_names()) {
    const Loaded loaded = find_hardware(name);
    EXPECT_EQ(loaded.hardware.name, name);
    EXPECT_NE(loaded.hardware.description, "") << name;
    EXPECT_NE(loaded.hardware.source, "") << name;
    EXPECT_EQ(parse_hardware(print(loaded.hardware), name + ".yaml").hardware, loaded.hardware) << name;
  }
}

TEST(Library, NamesTheNearestChip) {
  const std::string name = library_names().front();
  try {
    find_hardware(name + "x");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.what()), name + "x: error: no such chip (did you mean '" + name + "'?)");
  }
  EXPECT_THROW(find_hardware("no/such/file.yaml"), InputError);
  EXPECT_THROW(find_hardware(""), InputError);
}

}  // namespace
}  // namespace monet::hardware
