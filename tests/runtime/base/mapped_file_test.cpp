#include "runtime/base/mapped_file.h"

#include <gtest/gtest.h>

#ifdef __linux__
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/base/file_descriptor.h"
#endif

#include <fstream>
#include <span>
#include <string>
#include <utility>
#include <vector>

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

#ifdef __linux__
// Bytes of files in the process's memory.
size_t ResidentFileBytes() {
  size_t all = 0, resident = 0, of_files = 0;
  std::ifstream("/proc/self/statm") >> all >> resident >> of_files;
  return of_files * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

TEST(MappedFile, ReleasesPagesOfFilesInAnyMemory) {
  const std::string text(size_t{16} << 20, 'a');
  const std::string path = WriteTemporary("mapped_file_any", text);
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  void* mapped = mmap(nullptr, text.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE, file.get(), 0);
  ASSERT_NE(mapped, MAP_FAILED);
  const std::span<char> bytes(static_cast<char*>(mapped), text.size());
  bytes[100000] = 'b';
  std::string expected = text;
  expected[100000] = 'b';
  EXPECT_EQ(std::string(bytes.begin(), bytes.end()), expected);
  const size_t before = ResidentFileBytes();
  MappedFile::ReleaseFilePages(std::as_bytes(bytes));
  EXPECT_LT(ResidentFileBytes() + (text.size() - (64 << 10)), before);
  EXPECT_EQ(std::string(bytes.begin(), bytes.end()), expected);  // also the modified page
  munmap(mapped, text.size());
}

TEST(MappedFile, MemoryOfTheProcessIsNotReleased) {
  const std::vector<std::byte> bytes(size_t{4} << 20, std::byte{7});
  MappedFile::ReleaseFilePages(bytes);
  EXPECT_EQ(bytes, std::vector<std::byte>(bytes.size(), std::byte{7}));
}
#endif

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
