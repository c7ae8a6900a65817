#include <cstdint>
#include <memory>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/base/mapped_file.h"
#include "runtime/base/windows_api.h"
#include "runtime/base/windows_handle.h"
#include "runtime/base/windows_text.h"

namespace spirloom {
namespace {

StatusCode CodeOf(DWORD error) {
  switch (error) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
    case ERROR_BAD_NETPATH:
    case ERROR_INVALID_DRIVE:
      return StatusCode::kNotFound;
    case ERROR_ACCESS_DENIED:
    case ERROR_SHARING_VIOLATION:
      return StatusCode::kPermission;
    case ERROR_NOT_ENOUGH_MEMORY:
    case ERROR_COMMITMENT_LIMIT:
      return StatusCode::kOutOfMemory;
    default:
      return StatusCode::kInvalidFile;
  }
}

Status ReadError(const std::string& path, DWORD error) {
  return Error(CodeOf(error), "File '{}' cannot be read: {}.", path, WindowsMessage(error));
}

}  // namespace

Result<MappedFile> MappedFile::Open(const std::string& path) {
  // No FILE_SHARE_WRITE: weights are read from the mapping again later. FILE_FLAG_BACKUP_SEMANTICS
  // opens directories too, for the message below.
  WindowsHandle file(CreateFileW(ToWindowsPath(path).c_str(), GENERIC_READ,
                                 FILE_SHARE_READ | FILE_SHARE_DELETE, nullptr, OPEN_EXISTING,
                                 FILE_FLAG_BACKUP_SEMANTICS, nullptr));
  if (!file) return ReadError(path, GetLastError());
  BY_HANDLE_FILE_INFORMATION info{};
  if (GetFileType(file.get()) != FILE_TYPE_DISK ||
      GetFileInformationByHandle(file.get(), &info) == 0 ||
      (info.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0) {
    return InvalidFile("'{}' is not a regular file.", path);
  }
  const uint64_t size = uint64_t{info.nFileSizeHigh} << 32 | info.nFileSizeLow;
  if (size == 0) return MappedFile(nullptr, 0, path, {});  // an empty file cannot be mapped
  if (!std::in_range<size_t>(size)) return ReadError(path, ERROR_NOT_ENOUGH_MEMORY);
  const WindowsHandle mapping(
      CreateFileMappingW(file.get(), nullptr, PAGE_READONLY, 0, 0, nullptr));
  if (!mapping) return ReadError(path, GetLastError());
  // The view keeps the mapping open, but only the handle keeps others from writing.
  const void* data = MapViewOfFile(mapping.get(), FILE_MAP_READ, 0, 0, 0);
  if (data == nullptr) return ReadError(path, GetLastError());
  return MappedFile(static_cast<const std::byte*>(data), static_cast<size_t>(size), path, {},
                    std::make_shared<WindowsHandle>(std::move(file)));
}

Status MappedFile::CheckUnchanged() const { return Status(); }

void MappedFile::ReleasePages(std::span<const std::byte> part) {
  SYSTEM_INFO system{};
  GetSystemInfo(&system);
  const uintptr_t page = system.dwPageSize;
  const auto start = reinterpret_cast<uintptr_t>(part.data());
  const uintptr_t first = (start + page - 1) / page * page;  // only pages entirely within the part
  const uintptr_t end = (start + part.size()) / page * page;
  // Unlocking pages that are not locked removes them from the working set, and reports an error.
  if (first < end) VirtualUnlock(reinterpret_cast<void*>(first), end - first);
}

// VirtualUnlock() would write pages of the process to the page file.
void MappedFile::ReleaseFilePages(std::span<const std::byte>) {}

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
  if (data_ != nullptr) UnmapViewOfFile(data_);
}

}  // namespace spirloom
