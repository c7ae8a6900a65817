#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>
#include <utility>

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

}  // namespace

Result<MappedFile> MappedFile::Open(const std::string& path) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return SystemError(path, errno);
  struct stat info = {};
  if (fstat(file.get(), &info) != 0) return SystemError(path, errno);
  if (!S_ISREG(info.st_mode)) {
    return InvalidFile("'{}' is not a regular file.", path);
  }
  if (info.st_size == 0) return MappedFile(nullptr, 0);
  if (!std::in_range<size_t>(info.st_size)) return SystemError(path, EFBIG);  // on a 32-bit host
  const auto size = static_cast<size_t>(info.st_size);
  void* data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (data == MAP_FAILED) return SystemError(path, errno);
  return MappedFile(static_cast<const std::byte*>(data), size);
}

void MappedFile::ReleasePages(std::span<const std::byte> part) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto start = reinterpret_cast<uintptr_t>(part.data());
  const uintptr_t first = (start + page - 1) / page * page;  // only pages entirely within the part
  const uintptr_t end = (start + part.size()) / page * page;
  if (first < end) madvise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace spirloom
