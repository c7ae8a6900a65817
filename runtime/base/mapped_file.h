// Read-only memory mapping of files.
#ifndef SPIRLOOM_RUNTIME_BASE_MAPPED_FILE_H_
#define SPIRLOOM_RUNTIME_BASE_MAPPED_FILE_H_

#include <cstddef>
#include <span>
#include <string>

#include "spirloom/status.h"

namespace spirloom {

// Owns a read-only mapping of a whole file, unmapped by the destructor. If another process
// truncates the file, reading the lost part raises SIGBUS.
class MappedFile {
 public:
  // Maps the regular file at `path`. Fails with kNotFound if it does not exist, kPermission if it
  // is not readable, kInvalidFile if it is not a regular file. An empty file has an empty span.
  static Result<MappedFile> Open(const std::string& path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_}; }

  // Releases the physical memory of a part of a mapped file (MADV_DONTNEED). Later accesses read
  // the file again.
  static void ReleasePages(std::span<const std::byte> part);
  // Releases the physical memory of pages of files in any memory, if they are mapped without write
  // access or shared. Other pages keep their contents. Does nothing where the system does not tell
  // pages of files from others.
  static void ReleaseFilePages(std::span<const std::byte> memory);

 private:
  MappedFile(const std::byte* data, size_t size) : data_(data), size_(size) {}

  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace spirloom

#endif  // SPIRLOOM_RUNTIME_BASE_MAPPED_FILE_H_
