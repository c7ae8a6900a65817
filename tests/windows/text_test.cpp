// Text and paths for Windows' functions.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "runtime/base/file_writer.h"
#include "runtime/base/mapped_file.h"
#include "runtime/base/path.h"
#include "runtime/base/windows_api.h"
#include "runtime/base/windows_text.h"

namespace spirloom {
namespace {

constexpr std::string_view kName =
    "Größe 大きさ 🧵";  // also beyond the code pages and 16 bits

TEST(WindowsText, ConvertsInBothDirections) {
  EXPECT_EQ(ToUtf16("a\u00e4\u5927\U0001f9f5"), L"a\u00e4\u5927\U0001f9f5");
  EXPECT_EQ(ToUtf8(ToUtf16(kName)), kName);
  EXPECT_EQ(ToUtf16(""), L"");
  EXPECT_EQ(ToUtf8(std::wstring_view()), "");
}

TEST(WindowsText, ReplacesMalformedText) {
  EXPECT_EQ(ToUtf16("a\xff"), L"a\ufffd");
  const wchar_t surrogate[] = {0xd83e, 0};
  EXPECT_EQ(ToUtf8(surrogate), "\ufffd");
}

TEST(WindowsText, PathsHaveBackslashesAndNoLimit) {
  EXPECT_EQ(ToWindowsPath("a/b\\c"), L"a\\b\\c");
  const std::string name(200, 'x');
  const std::wstring path = ToWindowsPath("C:/" + name + "/" + name);
  EXPECT_EQ(path, L"\\\\?\\C:\\" + ToUtf16(name) + L"\\" + ToUtf16(name));
  EXPECT_EQ(ToWindowsPath(ToUtf8(path)), path);
  EXPECT_TRUE(ToWindowsPath("//server/" + name + "/" + name).starts_with(L"\\\\?\\UNC\\server\\"));
}

TEST(WindowsText, MessagesAreThoseOfPosix) {
  EXPECT_EQ(WindowsMessage(ERROR_PATH_NOT_FOUND), "No such file or directory");
  EXPECT_EQ(WindowsMessage(ERROR_ACCESS_DENIED), "Permission denied");
  EXPECT_FALSE(WindowsMessage(ERROR_SHARING_VIOLATION).ends_with("."));
  EXPECT_EQ(WindowsMessage(0x2fffffff), "error 805306367");
}

TEST(WindowsText, ReadsVariables) {
  SetEnvironmentVariableW(L"SPIRLOOM_TEST", ToUtf16(kName).c_str());
  EXPECT_EQ(WindowsVariable(L"SPIRLOOM_TEST"), kName);
  EXPECT_EQ(WindowsVariable(L"SPIRLOOM_NOT_SET"), "");
}

TEST(WindowsText, FilesHaveNamesInUtf8) {
  const std::filesystem::path directory = ToPath(testing::TempDir()) / ToPath(kName);
  std::filesystem::remove_all(directory);
  std::filesystem::create_directories(directory);
  const std::string path = PathText(directory / "file");
  ASSERT_TRUE(ReplaceFile(path, {std::as_bytes(std::span("text", 4))}, Durability::kSynced).ok());
  EXPECT_EQ(std::filesystem::file_size(directory / "file"), 4U);
  const Result<MappedFile> mapped = MappedFile::Open(path);
  ASSERT_TRUE(mapped.ok()) << mapped.status().message();
  EXPECT_EQ(mapped->bytes().size(), 4U);
}

TEST(WindowsText, FilesMayHaveLongPaths) {
  const std::string name(120, 'n');
  const std::string directory = testing::TempDir() + name;
  CreateDirectoryW(ToWindowsPath(directory).c_str(), nullptr);
  CreateDirectoryW(ToWindowsPath(directory + "/" + name).c_str(), nullptr);
  const std::string path = directory + "/" + name + "/" + name;
  ASSERT_GT(path.size(), size_t{MAX_PATH});
  const Status status = ReplaceFile(path, {std::as_bytes(std::span("x", 1))}, Durability::kFast);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(MappedFile::Open(path).ok());
  DeleteFileW(ToWindowsPath(path).c_str());
}

}  // namespace
}  // namespace spirloom
