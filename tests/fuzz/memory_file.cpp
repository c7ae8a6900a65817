#include "tests/fuzz/memory_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/fuzzing.h"

namespace spirloom::fuzz {

MemoryFile::MemoryFile() : file_(memfd_create("fuzzed", /*flags=*/0)) {
  Require(file_ >= 0, "a file in memory");
  path_ = "/proc/self/fd/" + std::to_string(file_);
}

void MemoryFile::Write(std::span<const std::byte> bytes) {
  Require(ftruncate(file_, static_cast<off_t>(bytes.size())) == 0, "the file's size");
  const ssize_t written = pwrite(file_, bytes.data(), bytes.size(), /*offset=*/0);
  Require(written == static_cast<ssize_t>(bytes.size()), "the file's bytes");
}

}  // namespace spirloom::fuzz
