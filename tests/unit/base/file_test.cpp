#include "monet/base/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "monet/base/diagnostic.h"

namespace monet {
namespace {

namespace fs = std::filesystem;

class File : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / ("monet_file_test_" + std::to_string(::getpid()) + "_" +
                                              testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override {
    fs::permissions(folder_, fs::perms::owner_all);
    fs::remove_all(folder_);
  }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  static Diagnostic fault(const std::function<void()>& action) {
    try {
      action();
    } catch (const InputError& error) {
      return error.diagnostics().at(0);
    }
    ADD_FAILURE() << "no InputError";
    return {};
  }

  fs::path folder_;
};

TEST_F(File, ReadsBackWhatIsWritten) {
  const std::string bytes("\0\r\n\xFF end", 8);
  write_file(path("a"), bytes);
  EXPECT_EQ(read_file(path("a")), bytes);
  const std::string large(1000003, 'x');
  write_file(path("a"), large);
  EXPECT_EQ(read_file(path("a")), large);
  write_file(path("a"), "");
  EXPECT_EQ(read_file(path("a")), "");
  EXPECT_EQ(files(), 1u);  // no temporary stays behind
}

TEST_F(File, NamesTheNearestFileWhenOneIsMissing) {
  write_file(path("model.onnx"), "");
  const Diagnostic d = fault([&] { read_file(path("modle.onnx")); });
  EXPECT_EQ(d.file, path("modle.onnx"));
  EXPECT_EQ(d.message, "no such file");
  EXPECT_EQ(d.hint, "did you mean 'model.onnx'?");
  EXPECT_EQ(fault([&] { read_file(path("quite_different")); }).hint, "check the spelling and the current folder");
  EXPECT_EQ(fault([&] { read_file(path("no/file")); }).hint, "there is no folder '" + path("no") + "'");
}

TEST_F(File, RemovesNumberedFilesAlone) {
  for (const char* name : {"12.yaml", "0.training.plan.yaml", "mine.yaml", "7b.yaml", ".yaml", "12.txt", "12yaml"})
    write_file(path(name), "");
  remove_numbered(folder_.string(), ".yaml");
  EXPECT_EQ(files(), 5u);
  for (const char* name : {"mine.yaml", "7b.yaml", ".yaml", "12.txt", "12yaml"}) EXPECT_EQ(read_file(path(name)), "");
  remove_numbered(path("no_folder"), ".yaml");
}

TEST_F(File, RefusesFolders) {
  EXPECT_EQ(fault([&] { read_file(folder_.string()); }).message, "is a folder, not a file");
  EXPECT_EQ(fault([&] { write_file(folder_.string(), "x"); }).message, "is a folder, not a file");
}

TEST_F(File, RefusesPathsThroughFiles) {
  write_file(path("a"), "");
  EXPECT_EQ(fault([&] { read_file(path("a/b")); }).message, "no such file");
  EXPECT_EQ(fault([&] { write_file(path("a/b"), ""); }).message,
            "there is no folder '" + path("a") + "' to write it to");
}

TEST_F(File, SaysWhatToDoWhenAFolderIsMissing) {
  const Diagnostic d = fault([&] { write_file(path("no/file"), "x"); });
  EXPECT_EQ(d.message, "there is no folder '" + path("no") + "' to write it to");
  EXPECT_EQ(d.hint, "make the folder first");
}

TEST_F(File, KeepsLinksAndPermissions) {
  write_file(path("target"), "old");
  ASSERT_EQ(::chmod(path("target").c_str(), 0640), 0);
  fs::create_symlink("target", path("link"));
  write_file(path("link"), "new");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(read_file(path("target")), "new");
  EXPECT_EQ(fs::status(path("target")).permissions(), fs::perms(0640));
}

TEST_F(File, WritesToDevicesWithoutReplacingThem) {
  write_file("/dev/null", "x");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_EQ(read_file("/dev/null"), "");
  EXPECT_EQ(fault([] { write_file("/dev/full", "x"); }).message, "cannot be written: No space left on device");
}

TEST_F(File, RespectsPermissions) {
  if (::geteuid() == 0) GTEST_SKIP() << "nothing is forbidden to root";
  write_file(path("a"), "old");
  ASSERT_EQ(::chmod(path("a").c_str(), 0), 0);
  EXPECT_EQ(fault([&] { read_file(path("a")); }).message, "cannot be read: Permission denied");
  EXPECT_EQ(fault([&] { write_file(path("a"), "new"); }).message, "cannot be written: Permission denied");
  ASSERT_EQ(::chmod(path("a").c_str(), 0644), 0);
  EXPECT_EQ(read_file(path("a")), "old");
  ASSERT_EQ(::chmod(folder_.c_str(), 0555), 0);
  EXPECT_EQ(fault([&] { write_file(path("b"), "x"); }).message, "cannot be written: Permission denied");
}

}  // namespace
}  // namespace monet
