#include "runtime/base/mapped_file.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <utility>

namespace spirloom {
namespace {

std::string WriteTemporary(const std::string& name, const std::string& text) {
  const std::string path = testing::TempDir() + name;
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

TEST(MappedFile, MapsTheBytes) {
  Result<MappedFile> file = MappedFile::Open(WriteTemporary("mapped_file_abc", "abc"));
  ASSERT_TRUE(file.ok());
  ASSERT_EQ(file->bytes().size(), 3u);
  EXPECT_EQ(file->bytes()[2], std::byte{'c'});
}

TEST(MappedFile, MovePreservesTheMapping) {
  Result<MappedFile> file = MappedFile::Open(WriteTemporary("mapped_file_move", "xyz"));
  ASSERT_TRUE(file.ok());
  MappedFile moved = std::move(*file);
  EXPECT_EQ(file->bytes().size(), 0u);
  EXPECT_EQ(moved.bytes()[0], std::byte{'x'});
}

TEST(MappedFile, ReleasedPagesAreReadAgain) {
  std::string text(100000, 'a');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>('a' + i % 26);
  Result<MappedFile> file = MappedFile::Open(WriteTemporary("mapped_file_pages", text));
  ASSERT_TRUE(file.ok());
  MappedFile::ReleasePages(file->bytes().subspan(1, 50000));
  MappedFile::ReleasePages(file->bytes().subspan(60000, 10));
  MappedFile::ReleasePages(file->bytes().subspan(99999));
  const auto* bytes = reinterpret_cast<const char*>(file->bytes().data());
  EXPECT_EQ(std::string(bytes, file->bytes().size()), text);
}

TEST(MappedFile, AnEmptyFileIsAnEmptySpan) {
  Result<MappedFile> file = MappedFile::Open(WriteTemporary("mapped_file_empty", ""));
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(file->bytes().empty());
}

TEST(MappedFile, ReportsAMissingFile) {
  Result<MappedFile> file = MappedFile::Open("/nowhere/at/all.slg");
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.status().code(), StatusCode::kNotFound);
  EXPECT_EQ(file.status().message(),
            "File '/nowhere/at/all.slg' cannot be read: No such file or directory.");
}

TEST(MappedFile, RejectsADirectory) {
  Result<MappedFile> file = MappedFile::Open(testing::TempDir());
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.status().code(), StatusCode::kInvalidFile);
}

}  // namespace
}  // namespace spirloom
