// ReplaceFile: atomic replacement, and removal of temporary files.
#include "runtime/base/file_writer.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>  // NOLINT: POSIX functions
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

namespace spirloom {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::span<const std::byte> Bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

class FileWriterTest : public testing::Test {
 protected:
  FileWriterTest() {
    directory_ = fs::path(testing::TempDir()) /
                 ("spirloom_file_writer_" +
                  std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(directory_);
    fs::create_directories(directory_);
  }
  ~FileWriterTest() override { fs::remove_all(directory_); }

  static std::string Read(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  size_t Files() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(directory_), fs::directory_iterator()));
  }
  // Runs the function in a child process, which may have limits or be killed.
  template <typename Function>
  static int ExitStatusOf(const Function& function) {
    std::fflush(nullptr);  // ThreadSanitizer writes buffered output again when the child exits
    const pid_t child = fork();
    if (child == 0) _exit(function());
    int status = 0;
    waitpid(child, &status, 0);
    return status;
  }

  fs::path directory_;
};

TEST_F(FileWriterTest, WritesAllParts) {
  for (const Durability durability : {Durability::kFast, Durability::kSynced}) {
    const fs::path path = directory_ / "file";
    ASSERT_TRUE(ReplaceFile(path, {Bytes("one"), Bytes(""), Bytes(", two")}, durability).ok());
    EXPECT_EQ(Read(path), "one, two");
    ASSERT_TRUE(ReplaceFile(path, {Bytes("3")}, durability).ok());
    EXPECT_EQ(Read(path), "3");
  }
  EXPECT_EQ(Files(), 1U);
}

TEST_F(FileWriterTest, KeepsPermissionsAndLinks) {
  std::ofstream(directory_ / "real") << "old";
  fs::permissions(directory_ / "real", fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("real", directory_ / "link");
  ASSERT_TRUE(ReplaceFile(directory_ / "link", {Bytes("new")}, Durability::kFast).ok());
  EXPECT_EQ(Read(directory_ / "real"), "new");
  EXPECT_TRUE(fs::is_symlink(directory_ / "link"));
  EXPECT_EQ(fs::status(directory_ / "real").permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(FileWriterTest, WritesToPipesAndDevices) {
  const fs::path pipe = directory_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_TRUE(ReplaceFile(pipe, {Bytes("through")}, Durability::kSynced).ok());
  char read_back[16] = {};
  EXPECT_EQ(read(reader, read_back, sizeof(read_back)), 7);
  EXPECT_STREQ(read_back, "through");
  close(reader);
  EXPECT_TRUE(fs::is_fifo(pipe));
  const Status full = ReplaceFile("/dev/full", {Bytes("x")}, Durability::kFast);
  EXPECT_THAT(full.message(), HasSubstr("'/dev/full' cannot be written: No space left on device."));
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

TEST_F(FileWriterTest, ReportsTheReasonOfAFailure) {
  const Status absent = ReplaceFile(directory_ / "no/file", {Bytes("x")}, Durability::kFast);
  EXPECT_THAT(absent.message(), HasSubstr("no/file' cannot be written: No such file"));
  const Status directory = ReplaceFile(directory_, {Bytes("x")}, Durability::kFast);
  EXPECT_THAT(directory.message(), HasSubstr("Is a directory."));
}

// By default, the limit terminates the process with a signal.
TEST_F(FileWriterTest, ExceedingTheFileSizeLimitIsAnError) {
  const fs::path path = directory_ / "file";
  std::ofstream(path) << "old";
  const int status = ExitStatusOf([&] {
    const rlimit limit{.rlim_cur = 1000, .rlim_max = 1000};
    setrlimit(RLIMIT_FSIZE, &limit);
    const Status result = ReplaceFile(path, {Bytes(std::string(5000, 'x'))}, Durability::kSynced);
    return result.message().ends_with("File too large.") ? 0 : 1;
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(Read(path), "old");
  EXPECT_EQ(Files(), 1U);
}

TEST_F(FileWriterTest, RemovesTemporaryFilesOfKilledWriters) {
  const std::string bytes(size_t{64} << 20, 'x');
  int orphans = 0;
  for (useconds_t delay = 500; orphans == 0 && delay < 200000; delay *= 2) {
    const pid_t child = fork();
    if (child == 0) {
      while (true) (void)ReplaceFile(directory_ / "file", {Bytes(bytes)}, Durability::kFast);
    }
    usleep(delay);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    orphans = static_cast<int>(Files()) - (fs::exists(directory_ / "file") ? 1 : 0);
  }
  EXPECT_EQ(orphans, 1);
  std::error_code absent;
  const uintmax_t size = fs::file_size(directory_ / "file", absent);
  EXPECT_TRUE(absent || size == bytes.size()) << size;
  std::ofstream(directory_ / ".spirloom-notes.txt") << "another file";
  fs::remove(directory_ / "file");
  RemoveOrphans(directory_);
  EXPECT_EQ(Files(), 1U);
}

TEST_F(FileWriterTest, DoesNotRemoveFilesOfRunningWriters) {
  int started[2];
  ASSERT_EQ(pipe(started), 0);
  const fs::path file = directory_ / "file";
  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 200; ++i) {
      if (!ReplaceFile(file, {Bytes(std::string(100000, 'x'))}, Durability::kFast).ok()) _exit(1);
      if (i == 0 && write(started[1], "", 1) != 1) _exit(2);
    }
    _exit(0);
  }
  char byte = 0;
  ASSERT_EQ(read(started[0], &byte, 1), 1);
  int status = -1;
  while (waitpid(child, &status, WNOHANG) == 0) RemoveOrphans(directory_);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(Files(), 1U);
}

}  // namespace
}  // namespace spirloom
