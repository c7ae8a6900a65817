#ifndef SPIRLOOM_RUNTIME_BASE_WINDOWS_HANDLE_H_
#define SPIRLOOM_RUNTIME_BASE_WINDOWS_HANDLE_H_

#include <utility>

#include "runtime/base/windows_api.h"

namespace spirloom {

// Owns a handle of a file or mapping, or none; closed by the destructor.
class WindowsHandle {
 public:
  WindowsHandle() = default;
  // CreateFileW() returns INVALID_HANDLE_VALUE on failure, other functions return null.
  explicit WindowsHandle(HANDLE handle)
      : handle_(handle == INVALID_HANDLE_VALUE ? nullptr : handle) {}
  WindowsHandle(WindowsHandle&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  WindowsHandle& operator=(WindowsHandle&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~WindowsHandle() {
    if (handle_ != nullptr) CloseHandle(handle_);
  }

  explicit operator bool() const { return handle_ != nullptr; }
  HANDLE get() const { return handle_; }

 private:
  HANDLE handle_ = nullptr;
};

}  // namespace spirloom

#endif  // SPIRLOOM_RUNTIME_BASE_WINDOWS_HANDLE_H_
