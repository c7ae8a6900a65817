// Read-only memory mapping of files.
#ifndef SPIRLOOM_RUNTIME_BASE_MAPPED_FILE_H_
#define SPIRLOOM_RUNTIME_BASE_MAPPED_FILE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "spirloom/status.h"

namespace spirloom {

// Owns a read-only mapping of a whole file, unmapped by the destructor. Changes of the file show in
// the mapping; if it is truncated, reading the lost part raises SIGBUS. On Windows, nobody can open
// the file for writing until then; it can be renamed and removed.
class MappedFile {
 public:
  // Maps the regular file at `path`. Fails with kNotFound if it does not exist, kPermission if it
  // is not readable or, on Windows, open for writing, kInvalidFile if it is not a regular file. An
  // empty file has an empty span.
  static Result<MappedFile> Open(const std::string& path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_}; }

  // Fails with kInvalidFile if the mapped file is still at its path and was written since Open(),
  // by its size and time of modification. Another file at the path is no change. Always OK on
  // Windows, where a mapped file cannot be written.
  Status CheckUnchanged() const;

  // Releases the physical memory of a part of a mapped file (MADV_DONTNEED). Later accesses read
  // the file again.
  static void ReleasePages(std::span<const std::byte> part);
  // Releases the physical memory of pages of files in any memory, if they are mapped without write
  // access or shared. Other pages keep their contents. Does nothing where the system does not tell
  // pages of files from others.
  static void ReleaseFilePages(std::span<const std::byte> memory);

 private:
  // What tells a version of a file from others: device, inode, and time of modification in ns.
  struct Identity {
    uint64_t device;
    uint64_t inode;
    int64_t modified;
  };

  MappedFile(const std::byte* data, size_t size, std::string path, Identity identity,
             std::shared_ptr<void> handle = nullptr)
      : data_(data),
        size_(size),
        path_(std::move(path)),
        identity_(identity),
        handle_(std::move(handle)) {}

  const std::byte* data_ = nullptr;
  size_t size_ = 0;
  std::string path_;
  Identity identity_{};
  std::shared_ptr<void> handle_;  // Windows: of the open file
};

}  // namespace spirloom

#endif  // SPIRLOOM_RUNTIME_BASE_MAPPED_FILE_H_
