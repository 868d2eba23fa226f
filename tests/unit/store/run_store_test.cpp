#include "monet/store/run_store.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "monet/base/diagnostic.h"

namespace monet::store {
namespace {

namespace fs = std::filesystem;

class RunStoreTest : public testing::Test {
 protected:
  RunStoreTest() {
    std::string name = (fs::temp_directory_path() / "monet_store_XXXXXX").string();
    folder_ = mkdtemp(name.data());
    path_ = folder_ / "points.sqlite";
  }
  ~RunStoreTest() override { fs::remove_all(folder_); }

  std::string refusal(const std::string& question = "q", const std::vector<std::string>& columns = {"a", "b"}) const {
    try {
      const RunStore store(path_.string(), question, columns);
    } catch (const InputError& e) {
      return e.what();
    }
    return "";
  }

  fs::path folder_, path_;
};

TEST_F(RunStoreTest, GivesBackWhatWasSavedToTheBit) {
  const RunStore::Row possible{.key = "0110", .values = {0.1, 1e300}},
      not_possible{.key = "1", .reason = "no \"room\""};
  {
    RunStore store(path_.string(), "q", {"a", "b"});
    EXPECT_EQ(store.size(), 0u);
    store.add(possible);
    store.add(not_possible);
    EXPECT_EQ(store.find("0110"), possible);
  }
  RunStore store(path_.string(), "q", {"a", "b"});
  EXPECT_EQ(store.size(), 2u);
  EXPECT_EQ(store.find("0110"), possible);
  EXPECT_EQ(store.find("1"), not_possible);
  EXPECT_EQ(store.find("2"), std::nullopt);
  store.add({.key = "1", .values = {1, 2}});  // is there already
  EXPECT_EQ(store.find("1"), not_possible);
  EXPECT_EQ(store.size(), 2u);
}

TEST_F(RunStoreTest, RefusesWhatIsNotItsOwn) {
  { const RunStore store(path_.string(), "another", {"a", "b"}); }  // without any row it is nobody's
  {
    RunStore store(path_.string(), "q", {"a", "b"});
    store.add({.key = "one", .values = {1, 2}});
  }
  EXPECT_NE(refusal("another").find("results of another question"), std::string::npos);
  EXPECT_EQ(refusal(), "");
  EXPECT_NE(refusal("q", {"a", "c"}).find("another version"), std::string::npos);
  std::ofstream(path_) << "this is a text of more than sixteen letters";
  EXPECT_NE(refusal().find("no run store"), std::string::npos);
  path_ = folder_ / "no" / "folder.sqlite";
  EXPECT_NE(refusal().find("is the folder there"), std::string::npos);
}

TEST_F(RunStoreTest, IsHeldByOneProcessAtATime) {
  const RunStore store(path_.string(), "q", {"a", "b"});
  EXPECT_NE(refusal().find("another run has it open"), std::string::npos);
}

TEST_F(RunStoreTest, KeepsWhatWasSavedWhenItsProcessIsKilled) {
  { const RunStore store(path_.string(), "q", {"a", "b"}); }
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    RunStore store(path_.string(), "q", {"a", "b"});
    store.add({.key = "saved", .values = {1, 2}});
    store.save();
    store.add({.key = "not saved", .values = {3, 4}});
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  RunStore store(path_.string(), "q", {"a", "b"});
  EXPECT_EQ(store.size(), 1u);
  EXPECT_TRUE(store.find("saved"));
}

TEST_F(RunStoreTest, TakesInWhatOthersFound) {
  const fs::path other = folder_ / "other.sqlite", stranger = folder_ / "stranger.sqlite", text = folder_ / "text";
  {
    RunStore a(other.string(), "q", {"a", "b"});
    a.add({.key = "1", .values = {1, 2}});
    a.add({.key = "2", .reason = "too large"});
    RunStore b(stranger.string(), "another question", {"a", "b"});
    b.add({.key = "9", .values = {1, 2}});
  }
  std::ofstream(text) << "no database at all, but long enough to be taken for one if nobody looks";
  RunStore store(path_.string(), "q", {"a", "b"});
  store.add({.key = "1", .values = {1, 2}});
  EXPECT_EQ(store.merge(other.string()), 1u);
  EXPECT_EQ(store.size(), 2u);
  EXPECT_EQ(store.find("2")->reason, "too large");
  EXPECT_EQ(store.merge(other.string()), 0u);
  const auto refusal_of = [&](const fs::path& path) -> std::string {
    try {
      store.merge(path.string());
    } catch (const InputError& e) {
      return e.what();
    }
    return "";
  };
  for (const RunStore::Row& row : {RunStore::Row{.key = "2", .values = {1, 2}}, {.key = "1", .values = {1, 3}}}) {
    const fs::path contrary = folder_ / ("contrary" + row.key);
    RunStore(contrary.string(), "q", {"a", "b"}).add(row);
    EXPECT_NE(refusal_of(contrary).find("its point " + row.key + " has other figures"), std::string::npos);
  }
  EXPECT_EQ(store.find("1")->values, (std::vector<double>{1, 2})) << "what is there stays";
  EXPECT_NE(refusal_of(stranger).find("another question"), std::string::npos);
  EXPECT_NE(refusal_of(text).find("no run store"), std::string::npos) << refusal_of(text);
  EXPECT_NE(refusal_of(folder_ / "nothing").find("no such file"), std::string::npos);
  store.add({.key = "3", .values = {1, 1}});
  EXPECT_EQ(store.size(), 3u) << "a refused file leaves the store as it was";
}

TEST_F(RunStoreTest, IsReadWithoutItsQuestion) {
  const auto read = [&] {
    const StoreReader reader(path_.string());
    std::vector<RunStore::Row> rows;
    reader.for_each([&](const RunStore::Row& row) { rows.push_back(row); });
    return std::pair{reader.about(), rows};
  };
  const auto refused = [&] {
    try {
      read();
    } catch (const InputError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_NE(refused().find("there is no such file"), std::string::npos);
  EXPECT_FALSE(fs::exists(path_)) << "reading makes nothing";
  { const std::ofstream empty(path_); }  // as a kill at once leaves it
  EXPECT_NE(refused().find("there are no points in it yet"), std::string::npos);
  const RunStore::Row one{.key = "1.0/1", .values = {0.1, 1e300}}, other{.key = "1.0/0", .reason = "no"};
  {
    RunStore store(path_.string(), "q", {"a", "b"}, "what keys are");
    store.add(one);
    store.add(other);
    store.save();
    EXPECT_NE(refused().find("another run has it open"), std::string::npos);
  }
  EXPECT_EQ(read(), (std::pair{std::string("what keys are"), std::vector{other, one}}));
  EXPECT_EQ(StoreReader(path_.string()).columns(), (std::vector<std::string>{"a", "b"}));
  std::ofstream(path_) << "not a database, however long it may be, and however much it says";
  EXPECT_NE(refused().find("this is no run store"), std::string::npos);
}

TEST_F(RunStoreTest, IsReadAfterAKill) {
  if (const pid_t child = fork(); child == 0) {
    RunStore store(path_.string(), "q", {"a", "b"}, "about");
    store.add({.key = "saved", .values = {1, 2}});
    store.save();
    store.add({.key = "not saved", .values = {1, 2}});
    raise(SIGKILL);
  } else {
    waitpid(child, nullptr, 0);
  }
  std::vector<std::string> keys;
  StoreReader(path_.string()).for_each([&](const RunStore::Row& row) { keys.push_back(row.key); });
  EXPECT_EQ(keys, std::vector<std::string>{"saved"});
}

}  // namespace
}  // namespace monet::store
