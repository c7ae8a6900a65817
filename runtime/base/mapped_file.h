// A file mapped read-only.
#ifndef SPIRLOOM_RUNTIME_BASE_MAPPED_FILE_H_
#define SPIRLOOM_RUNTIME_BASE_MAPPED_FILE_H_

#include <cstddef>
#include <span>
#include <string>

#include "spirloom/status.h"

namespace spirloom {

// Owns a read-only mapping of a whole file; unmapped on destruction. The bytes are the file's, so a
// file that another process truncates meanwhile makes reads of the lost part fail with SIGBUS.
class MappedFile {
 public:
  // Maps the regular file at `path`. Fails with kNotFound if it does not exist, kInvalidFile if it
  // cannot be read or is no regular file. An empty file maps to an empty span.
  static Result<MappedFile> Open(const std::string& path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_}; }

  // Lets go of the memory that a part of some mapped file takes; whoever reads it again has it read
  // from the file again.
  static void LetGo(std::span<const std::byte> part);

 private:
  MappedFile(const std::byte* data, size_t size) : data_(data), size_(size) {}

  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace spirloom

#endif  // SPIRLOOM_RUNTIME_BASE_MAPPED_FILE_H_
