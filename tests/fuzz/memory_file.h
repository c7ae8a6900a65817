// An in-memory file, for readers that require a path.
#ifndef SPIRLOOM_TESTS_FUZZ_MEMORY_FILE_H_
#define SPIRLOOM_TESTS_FUZZ_MEMORY_FILE_H_

#include <cstddef>
#include <span>
#include <string>

namespace spirloom::fuzz {

// Exists until the process ends. Linux only.
class MemoryFile {
 public:
  MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  const std::string& path() const { return path_; }
  void Write(std::span<const std::byte> bytes);

 private:
  int file_;
  std::string path_;
};

}  // namespace spirloom::fuzz

#endif  // SPIRLOOM_TESTS_FUZZ_MEMORY_FILE_H_
