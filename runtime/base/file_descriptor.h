#ifndef SPIRLOOM_RUNTIME_BASE_FILE_DESCRIPTOR_H_
#define SPIRLOOM_RUNTIME_BASE_FILE_DESCRIPTOR_H_

#include <unistd.h>

#include <utility>

namespace spirloom {

// Owns a file descriptor, or none (-1); closed by the destructor.
class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.Release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileDescriptor() {
    if (fd_ >= 0) close(fd_);
  }

  int get() const { return fd_; }
  // Transfers ownership to the caller.
  int Release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

}  // namespace spirloom

#endif  // SPIRLOOM_RUNTIME_BASE_FILE_DESCRIPTOR_H_
