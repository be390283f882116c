#include "cache/disk_store.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fcntl.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace tilewright::cache {
namespace {

namespace fs = std::filesystem;

class DiskStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "tilewright-cache-XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
    options_.folder = root_ + "/cache";
  }
  void TearDown() override { fs::remove_all(root_); }

  static Entry entry(const std::string& binary) {
    return {.binary = binary,
            .source = "source of " + binary,
            .kernel_name = "cpu/test",
            .toolchain = "none",
            .entry_points = "full\nmasked\n"};
  }
  std::string file(const Digest& key, const char* name) const {
    return options_.folder + "/" + hex(key) + "/" + name;
  }

  std::string root_;
  DiskOptions options_;
  const Digest key_{1, 2};
};

TEST_F(DiskStoreTest, MakesOnceAndFindsAgainInAnotherStore) {
  DiskStore store(options_);
  ASSERT_EQ(store.why_memory_only(), "");
  const auto [made, from_disk] = store.get(key_, [] { return entry("abc"); });
  EXPECT_FALSE(from_disk);
  DiskStore other(options_);
  const auto [found, hit] =
      other.get(key_, []() -> Entry { throw std::logic_error("made twice"); });
  EXPECT_TRUE(hit);
  EXPECT_EQ(found.binary, "abc");
  EXPECT_EQ(found.entry_points, "full\nmasked\n");
  struct stat status{};
  ASSERT_EQ(::stat(options_.folder.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700U);
}

TEST_F(DiskStoreTest, DamagedEntriesAreRemovedAndMadeAgain) {
  for (const char* name : {"kernel.bin", "source.txt", "meta.txt"}) {
    DiskStore store(options_);
    store.get(key_, [] { return entry("abc"); });
    fs::resize_file(file(key_, name), 1);
    EXPECT_FALSE(store.find(key_)) << name;
    EXPECT_FALSE(fs::exists(options_.folder + "/" + hex(key_))) << name;
    store.get(key_, [] { return entry("abc"); });
    fs::remove(file(key_, name));
    EXPECT_EQ(store.get(key_, [] { return entry("new"); }).first.binary, "new") << name;
    fs::remove_all(options_.folder);
  }
}

TEST_F(DiskStoreTest, FlippedByteFailsTheChecksum) {
  DiskStore store(options_);
  store.get(key_, [] { return entry("abc"); });
  std::ofstream(file(key_, "kernel.bin"), std::ios::binary) << "abd";
  EXPECT_FALSE(store.find(key_));
}

TEST_F(DiskStoreTest, AFolderThatOthersMayWriteIsNotUsed) {
  fs::create_directory(options_.folder);
  ::chmod(options_.folder.c_str(), 0777);
  DiskStore store(options_);
  EXPECT_NE(store.why_memory_only().find("others may write"), std::string::npos);
  EXPECT_EQ(store.get(key_, [] { return entry("x"); }).first.binary, "x");
  EXPECT_TRUE(fs::is_empty(options_.folder));
}

TEST_F(DiskStoreTest, AFileInTheWayMeansMemoryOnly) {
  std::ofstream(options_.folder) << "not a folder";
  EXPECT_NE(DiskStore(options_).why_memory_only(), "");
}

TEST_F(DiskStoreTest, ReadOnlyLayersComeFirstAndAreNeverWritten) {
  DiskOptions baked = options_;
  baked.folder = root_ + "/baked";
  DiskStore(baked).get(key_, [] { return entry("baked"); });
  options_.read_only = {baked.folder};
  EXPECT_EQ(DiskStore(options_).find(key_)->binary, "baked");
}

TEST_F(DiskStoreTest, RacingProcessesMakeAnEntryOnce) {
  const std::string tally = root_ + "/tally";
  for (int i = 0; i < 8; ++i) {
    if (::fork() != 0) continue;
    DiskStore store(options_);
    store.get(key_, [&] {
      std::ofstream(tally, std::ios::app) << "made\n";
      ::usleep(50000);
      return entry("abc");
    });
    ::_exit(0);
  }
  for (int i = 0; i < 8; ++i) ::wait(nullptr);
  EXPECT_EQ(fs::file_size(tally), 5U);
}

TEST_F(DiskStoreTest, AKilledWriterLeavesNoEntryAndNoLock) {
  const pid_t child = ::fork();
  if (child == 0) {
    DiskStore store(options_);
    store.get(key_, []() -> Entry {
      ::kill(::getpid(), SIGKILL);
      return {};
    });
  }
  ::waitpid(child, nullptr, 0);
  DiskStore store(options_);
  EXPECT_FALSE(store.find(key_));
  EXPECT_EQ(store.get(key_, [] { return entry("after"); }).first.binary, "after");
}

/// A child whose files may not grow stands for a full disk.
TEST_F(DiskStoreTest, AFullDiskGivesTheEntryAndKeepsNothing) {
  const pid_t child = ::fork();
  if (child == 0) {
    DiskStore store(options_);
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_FSIZE, &none);
    const bool gives = store.get(key_, [] { return entry("made"); }).first.binary == "made";
    ::_exit(gives && !store.find(key_) ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  DiskStore store(options_);
  EXPECT_TRUE(store.list().empty());
  EXPECT_TRUE(fs::is_empty(options_.folder + "/tmp"));
}

/// A user who may only read the folder finds what is there and is given what is not.
TEST_F(DiskStoreTest, AFolderThatCannotBeWrittenServesWhatItHolds) {
  DiskStore(options_).get(key_, [] { return entry("there"); });
  const pid_t child = ::fork();
  if (child == 0) {
    // Root writes whatever the mode says, so the child becomes somebody who owns the folder.
    constexpr uid_t kNobody = 65534;
    const bool is_root = ::geteuid() == 0;
    for (const auto& file : fs::recursive_directory_iterator(options_.folder))
      if (is_root && ::chown(file.path().c_str(), kNobody, kNobody) != 0) ::_exit(2);
    ::chmod(options_.folder.c_str(), 0500);
    ::chmod((options_.folder + "/tmp").c_str(), 0500);
    if (is_root && (::chown(options_.folder.c_str(), kNobody, kNobody) != 0 ||
                    ::chmod(root_.c_str(), 0755) != 0 || ::setuid(kNobody) != 0))
      ::_exit(3);
    DiskStore store(options_);
    const bool found = store.get(key_, [] { return entry("again"); }).first.binary == "there";
    const bool made = store.get({7, 7}, [] { return entry("made"); }).first.binary == "made";
    ::_exit(!found ? 4 : !made ? 5 : store.find({7, 7}) ? 6 : 0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ::chmod(options_.folder.c_str(), 0700);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(DiskStoreTest, SweepDropsTheLeastRecentlyUsed) {
  options_.limit_bytes = 3000;
  DiskStore store(options_);
  for (std::uint64_t i = 0; i < 3; ++i) {
    store.get({9, i}, [] { return entry(std::string(900, 'x')); });
    const timespec old[2] = {{static_cast<time_t>(1000 + i), 0},
                             {static_cast<time_t>(1000 + i), 0}};
    ::utimensat(AT_FDCWD, file({9, i}, "meta.txt").c_str(), old, 0);
  }
  store.sweep();
  EXPECT_FALSE(store.find({9, 0}));
  EXPECT_TRUE(store.find({9, 2}));
}

TEST_F(DiskStoreTest, ClearRemovesEntriesAndNothingElse) {
  DiskStore store(options_);
  store.get(key_, [] { return entry("abc"); });
  std::ofstream(options_.folder + "/precious.txt") << "mine";
  EXPECT_EQ(store.clear(), 1);
  EXPECT_TRUE(fs::exists(options_.folder + "/precious.txt"));
}

TEST(UserCache, FollowsTheEnvironmentAndSaysWhyThereIsNone) {
  EXPECT_EQ(user_cache("", "/x", "/home/me").folder, "/x/tilewright");
  EXPECT_EQ(user_cache("", "", "/home/me").folder, "/home/me/.cache/tilewright");
  EXPECT_EQ(user_cache("/mine", "/x", "/home/me").folder, "/mine");
  EXPECT_NE(user_cache("none", "/x", "/home/me").why_none, "");
  EXPECT_NE(user_cache("", "", "").why_none, "");
}

}  // namespace
}  // namespace tilewright::cache
