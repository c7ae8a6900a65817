#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/base/file_descriptor.h"
#include "runtime/base/mapped_file.h"

namespace spirloom {
namespace {

Status SystemError(const std::string& path, int error) {
  StatusCode code = error == ENOENT || error == ENOTDIR ? StatusCode::kNotFound
                    : error == EACCES || error == EPERM ? StatusCode::kPermission
                    : error == ENOMEM || error == EFBIG || error == EOVERFLOW
                        ? StatusCode::kOutOfMemory
                        : StatusCode::kInvalidFile;
  return Error(code, "File '{}' cannot be read: {}.", path, std::generic_category().message(error));
}

// Addresses of pages.
struct PageRange {
  uintptr_t first;
  uintptr_t end;
};

// Returns the pages entirely within `part`.
PageRange PagesIn(std::span<const std::byte> part, uintptr_t page) {
  const auto start = reinterpret_cast<uintptr_t>(part.data());
  return {(start + page - 1) / page * page, (start + part.size()) / page * page};
}

void Release(uintptr_t first, uintptr_t end) {
  if (first < end) madvise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED);
}

// Returns the time of the last modification, in nanoseconds.
int64_t ModifiedAt(const struct stat& info) {
#ifdef __APPLE__
  const timespec& time = info.st_mtimespec;
#else
  const timespec& time = info.st_mtim;
#endif
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

uintptr_t PageSize() { return static_cast<uintptr_t>(sysconf(_SC_PAGESIZE)); }

#ifdef __linux__
// Returns the process's mappings of files that it cannot modify, or modifies in the file.
std::vector<PageRange> UnmodifiedMappings() {
  std::vector<PageRange> found;
  const std::unique_ptr<FILE, int (*)(FILE*)> maps(std::fopen("/proc/self/maps", "re"),
                                                   &std::fclose);
  std::array<char, 512> line;
  bool is_start = true;  // a long path continues in the next piece of the line
  while (maps != nullptr && std::fgets(line.data(), line.size(), maps.get()) != nullptr) {
    PageRange range{};
    std::array<char, 5> access{};
    uint64_t inode = 0;
    const bool is_mapping =
        is_start && std::sscanf(line.data(), "%" SCNxPTR "-%" SCNxPTR " %4s %*s %*s %" SCNu64,
                                &range.first, &range.end, access.data(), &inode) == 4;
    is_start = std::strchr(line.data(), '\n') != nullptr;
    const bool is_modified = access[1] == 'w' && access[3] == 'p';
    if (is_mapping && inode != 0 && !is_modified) found.push_back(range);
  }
  return found;
}

// Releases the pages of a mapping that belong to its file.
void ReleaseFilePagesOf(const FileDescriptor& pagemap, PageRange range, uintptr_t page) {
  // Bits of /proc/PID/pagemap (Documentation/admin-guide/mm/pagemap.rst): the page is present; it
  // belongs to a file or to shared memory, which keep its contents. A modified page of a private
  // mapping belongs to the process. Emulators of other CPUs report another process's addresses, so
  // these bits alone do not suffice.
  constexpr uint64_t kReleasable = uint64_t{1} << 63 | uint64_t{1} << 61;
  std::array<uint64_t, 256> entries;
  for (uintptr_t first = range.first; first < range.end;) {
    const size_t count = std::min<size_t>((range.end - first) / page, entries.size());
    const size_t bytes = count * sizeof(uint64_t);
    const auto offset = static_cast<off_t>(first / page * sizeof(uint64_t));
    if (pread(pagemap.get(), entries.data(), bytes, offset) != static_cast<ssize_t>(bytes)) return;
    for (size_t i = 0; i < count;) {
      const size_t begin = i;
      while (i < count && (entries[i] & kReleasable) == kReleasable) ++i;
      Release(first + begin * page, first + i * page);
      if (i == begin) ++i;
    }
    first += count * page;
  }
}
#endif

}  // namespace

Result<MappedFile> MappedFile::Open(const std::string& path) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return SystemError(path, errno);
  struct stat info = {};
  if (fstat(file.get(), &info) != 0) return SystemError(path, errno);
  if (!S_ISREG(info.st_mode)) {
    return InvalidFile("'{}' is not a regular file.", path);
  }
  const Identity identity = {info.st_dev, info.st_ino, ModifiedAt(info)};
  if (info.st_size == 0) return MappedFile(nullptr, 0, path, identity);
  if (!std::in_range<size_t>(info.st_size)) return SystemError(path, EFBIG);  // on a 32-bit host
  const auto size = static_cast<size_t>(info.st_size);
  void* data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (data == MAP_FAILED) return SystemError(path, errno);
  return MappedFile(static_cast<const std::byte*>(data), size, path, identity);
}

Status MappedFile::CheckUnchanged() const {
  struct stat info = {};
  if (stat(path_.c_str(), &info) != 0) return Status();  // removed; the mapping keeps the contents
  if (info.st_dev != identity_.device || info.st_ino != identity_.inode) return Status();
  if (std::cmp_equal(info.st_size, size_) && ModifiedAt(info) == identity_.modified) {
    return Status();
  }
  return InvalidFile(
      "'{}' was changed after it was opened: it had {} bytes and has {}. Load it again. To replace "
      "a file in use, write another and rename it.",
      path_, size_, info.st_size);
}

void MappedFile::ReleasePages(std::span<const std::byte> part) {
  const auto [first, end] = PagesIn(part, PageSize());
  Release(first, end);
}

#ifdef __linux__
void MappedFile::ReleaseFilePages(std::span<const std::byte> memory) {
  const uintptr_t page = PageSize();
  const auto [first, end] = PagesIn(memory, page);
  if (first >= end) return;
  const FileDescriptor pagemap(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
  if (pagemap.get() < 0) return;
  for (const PageRange& mapping : UnmodifiedMappings()) {
    ReleaseFilePagesOf(pagemap, {std::max(first, mapping.first), std::min(end, mapping.end)}, page);
  }
}
#else
void MappedFile::ReleaseFilePages(std::span<const std::byte>) {}
#endif

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      path_(std::move(other.path_)),
      identity_(other.identity_),
      handle_(std::move(other.handle_)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(path_, other.path_);
  std::swap(identity_, other.identity_);
  std::swap(handle_, other.handle_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace spirloom
