// ReplaceFile() on Windows: replacement, also while others read the file, and removal of temporary
// files of killed processes.
#include "runtime/base/file_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "runtime/base/mapped_file.h"
#include "runtime/base/path.h"
#include "runtime/base/windows_api.h"
#include "runtime/base/windows_handle.h"
#include "runtime/base/windows_text.h"

namespace spirloom {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::span<const std::byte> Bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

class FileWriterTest : public testing::Test {
 protected:
  FileWriterTest() {
    directory_ = ToPath(testing::TempDir()) /
                 ("spirloom_file_writer_" +
                  std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(directory_);
    fs::create_directories(directory_);
  }
  ~FileWriterTest() override {
    std::error_code ignored;
    fs::remove_all(directory_, ignored);
  }

  std::string Path(const std::string& name) const { return PathText(directory_ / ToPath(name)); }
  static std::string Read(const std::string& path) {
    std::ifstream file(ToPath(path), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  size_t Files() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(directory_), fs::directory_iterator()));
  }

  fs::path directory_;
};

// Starts this program with a variable that makes it write the file forever.
class WriterProcess {
 public:
  explicit WriterProcess(const std::string& path) {
    SetEnvironmentVariableW(L"SPIRLOOM_WRITE_FOREVER", ToUtf16(path).c_str());
    std::wstring command = GetCommandLineW();
    STARTUPINFOW startup{};
    startup.cb = sizeof(startup);
    EXPECT_NE(CreateProcessW(nullptr, command.data(), nullptr, nullptr, FALSE, 0, nullptr, nullptr,
                             &startup, &process_),
              0);
    SetEnvironmentVariableW(L"SPIRLOOM_WRITE_FOREVER", nullptr);
  }
  WriterProcess(const WriterProcess&) = delete;
  WriterProcess& operator=(const WriterProcess&) = delete;
  ~WriterProcess() {
    Kill();
    CloseHandle(process_.hThread);
    CloseHandle(process_.hProcess);
  }

  void Kill() {
    TerminateProcess(process_.hProcess, 1);
    WaitForSingleObject(process_.hProcess, INFINITE);
  }

 private:
  PROCESS_INFORMATION process_{};
};

// The body of that process, which runs before the tests.
// NOLINTNEXTLINE: starts before main()
const bool kWriter = [] {
  const std::string path = WindowsVariable(L"SPIRLOOM_WRITE_FOREVER");
  const std::string bytes(size_t{16} << 20, 'x');
  while (!path.empty()) (void)ReplaceFile(path, {Bytes(bytes)}, Durability::kFast);
  return false;
}();

TEST_F(FileWriterTest, WritesAllParts) {
  for (const Durability durability : {Durability::kFast, Durability::kSynced}) {
    const Status written =
        ReplaceFile(Path("file"), {Bytes("one"), Bytes(""), Bytes(", two")}, durability);
    ASSERT_TRUE(written.ok()) << written.message();
    EXPECT_EQ(Read(Path("file")), "one, two");
    ASSERT_TRUE(ReplaceFile(Path("file"), {Bytes("3")}, durability).ok());
    EXPECT_EQ(Read(Path("file")), "3");
  }
  EXPECT_EQ(Files(), 1U);
}

TEST_F(FileWriterTest, WritesToDevices) {
  EXPECT_TRUE(ReplaceFile("NUL", {Bytes("x")}, Durability::kSynced).ok());
}

TEST_F(FileWriterTest, ReportsTheReasonOfAFailure) {
  const Status absent = ReplaceFile(Path("no/file"), {Bytes("x")}, Durability::kFast);
  EXPECT_THAT(absent.message(), HasSubstr("file' cannot be written: No such file or directory."));
  const Status directory = ReplaceFile(Path(""), {Bytes("x")}, Durability::kFast);
  EXPECT_THAT(directory.message(), HasSubstr("Is a directory."));
  EXPECT_EQ(Files(), 0U);
}

// Another program reads the old file and does not share it for deletion, for 50 ms.
TEST_F(FileWriterTest, WaitsForReaders) {
  ASSERT_TRUE(ReplaceFile(Path("file"), {Bytes("old")}, Durability::kFast).ok());
  WindowsHandle reader(CreateFileW(ToWindowsPath(Path("file")).c_str(), GENERIC_READ,
                                   FILE_SHARE_READ, nullptr, OPEN_EXISTING, 0, nullptr));
  ASSERT_TRUE(reader);
  const std::jthread later([&reader] {
    Sleep(50);
    reader = WindowsHandle();
  });
  const Status status = ReplaceFile(Path("file"), {Bytes("new")}, Durability::kFast);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(Read(Path("file")), "new");
}

TEST_F(FileWriterTest, AFailureLeavesTheFileUnchanged) {
  ASSERT_TRUE(ReplaceFile(Path("file"), {Bytes("old")}, Durability::kFast).ok());
  const WindowsHandle reader(CreateFileW(ToWindowsPath(Path("file")).c_str(), GENERIC_READ,
                                         FILE_SHARE_READ, nullptr, OPEN_EXISTING, 0, nullptr));
  const Status status = ReplaceFile(Path("file"), {Bytes("new")}, Durability::kFast);
  EXPECT_THAT(status.message(), HasSubstr("file' cannot be written: "));
  EXPECT_EQ(Read(Path("file")), "old");
  EXPECT_EQ(Files(), 1U);
}

TEST_F(FileWriterTest, RemovesTemporaryFilesOfKilledWriters) {
  size_t orphans = 0;
  for (DWORD delay = 50; orphans == 0 && delay < 10000; delay += delay / 4) {
    WriterProcess writer(Path("file"));
    Sleep(delay);
    writer.Kill();
    orphans = Files() - (fs::exists(directory_ / "file") ? 1 : 0);
  }
  EXPECT_EQ(orphans, 1U);
  if (fs::exists(directory_ / "file")) {
    EXPECT_EQ(fs::file_size(directory_ / "file"), uintmax_t{16} << 20);
  }
  std::ofstream(directory_ / ".spirloom-notes.txt") << "another file";
  fs::remove(directory_ / "file");
  RemoveOrphans(PathText(directory_));
  EXPECT_EQ(Files(), 1U);
}

TEST_F(FileWriterTest, DoesNotRemoveFilesOfRunningWriters) {
  const WriterProcess writer(Path("file"));
  for (int wait = 0; Files() == 0 && wait < 1000; ++wait) Sleep(10);
  for (int i = 0; i < 200; ++i) RemoveOrphans(PathText(directory_));
  for (int wait = 0; !fs::exists(directory_ / "file") && wait < 1000; ++wait) Sleep(10);
  EXPECT_TRUE(fs::exists(directory_ / "file"));
}

}  // namespace
}  // namespace spirloom
