#include "runtime/base/mapped_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#ifdef __linux__
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/base/file_descriptor.h"
#endif

#include <algorithm>
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

// A private mapping of a file of 4 MiB; `access` as for mmap().
class PrivateMapping {
 public:
  PrivateMapping(const std::string& name, int access) {
    const FileDescriptor file(open(WriteTemporary(name, text()).c_str(), O_RDONLY | O_CLOEXEC));
    data_ = mmap(nullptr, text().size(), access, MAP_PRIVATE, file.get(), 0);
  }
  ~PrivateMapping() { munmap(data_, text().size()); }
  PrivateMapping(const PrivateMapping&) = delete;
  PrivateMapping& operator=(const PrivateMapping&) = delete;

  bool ok() const { return data_ != MAP_FAILED; }
  std::span<char> bytes() const { return {static_cast<char*>(data_), text().size()}; }
  static const std::string& text() {
    static const std::string kText(size_t{4} << 20, 'a');
    return kText;
  }

 private:
  void* data_;
};

TEST(MappedFile, ReleasesPagesOfFilesInAnyMemory) {
  const PrivateMapping mapping("mapped_file_any", PROT_READ);
  ASSERT_TRUE(mapping.ok());
  const std::span<char> bytes = mapping.bytes();
  EXPECT_TRUE(std::ranges::equal(bytes, PrivateMapping::text()));
  const size_t before = ResidentFileBytes();
  MappedFile::ReleaseFilePages(std::as_bytes(bytes));
  EXPECT_LT(ResidentFileBytes() + bytes.size() / 2, before);
  EXPECT_TRUE(std::ranges::equal(bytes, PrivateMapping::text()));
}

TEST(MappedFile, ModifiedPagesKeepTheirContents) {
  const PrivateMapping mapping("mapped_file_modified", PROT_READ | PROT_WRITE);
  ASSERT_TRUE(mapping.ok());
  std::string expected = PrivateMapping::text();
  expected[100000] = mapping.bytes()[100000] = 'b';
  MappedFile::ReleaseFilePages(std::as_bytes(mapping.bytes()));
  EXPECT_TRUE(std::ranges::equal(mapping.bytes(), expected));
}

TEST(MappedFile, MemoryOfTheProcessIsNotReleased) {
  const std::vector<std::byte> bytes(size_t{4} << 20, std::byte{7});
  MappedFile::ReleaseFilePages(bytes);
  EXPECT_EQ(bytes, std::vector<std::byte>(bytes.size(), std::byte{7}));
}
#endif

#ifdef _WIN32
TEST(MappedFile, AFileInUseIsNotWritten) {
  const std::string path = WriteTemporary("mapped_file_in_use", "weights");
  {
    const Result<MappedFile> file = MappedFile::Open(path);
    ASSERT_TRUE(file.ok());
    EXPECT_FALSE(std::ofstream(path, std::ios::in | std::ios::binary).is_open());
    EXPECT_TRUE(MappedFile::Open(path).ok());
  }
  EXPECT_TRUE(std::ofstream(path, std::ios::in | std::ios::binary).is_open());
}

TEST(MappedFile, AFileThatIsBeingWrittenIsNotMapped) {
  const std::string path = WriteTemporary("mapped_file_writer", "weights");
  const std::ofstream writer(path, std::ios::in | std::ios::binary);
  const Result<MappedFile> file = MappedFile::Open(path);
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.status().code(), StatusCode::kPermission);
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
  EXPECT_THAT(file.status().message(),
              ::testing::StartsWith("File '/nowhere/at/all.slg' cannot be read: "));
}

TEST(MappedFile, RejectsADirectory) {
  Result<MappedFile> file = MappedFile::Open(testing::TempDir());
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.status().code(), StatusCode::kInvalidFile);
}

}  // namespace
}  // namespace spirloom
