#include "runtime/c/sized.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "runtime/base/error.h"

namespace spirloom::c {
namespace {

// Reads only the size, as the caller's struct may be shorter than a T.
size_t StructSize(const void* sized) {
  size_t size = 0;
  std::memcpy(&size, sized, sizeof(size));
  return size;
}

// No version of a struct is longer. A larger size is that of an uninitialized struct.
constexpr size_t kMaxStructSize = 4096;

Status CheckSize(const char* type, size_t given, size_t min) {
  if (given > kMaxStructSize) {
    return Error(StatusCode::kInvalidArgument,
                 "struct_size ({}) of the {} exceeds {}. Initialize it with SPIRLOOM_INIT({}).",
                 given, type, kMaxStructSize, type);
  }
  if (given >= min) return Status();
  return Error(StatusCode::kInvalidArgument,
               "struct_size ({}) of the {} is less than that of its first version ({}). Initialize "
               "it with SPIRLOOM_INIT({}).",
               given, type, min, type);
}

}  // namespace

Status ReadSized(const char* type, const void* from, void* to, size_t size, size_t min) {
  const size_t given = StructSize(from);
  SPIRLOOM_TRY(CheckSize(type, given, min));
  if (given > size) {
    const std::span beyond(static_cast<const std::byte*>(from) + size, given - size);
    if (std::ranges::any_of(beyond, [](std::byte byte) { return byte != std::byte{0}; })) {
      return Error(StatusCode::kUnsupported,
                   "The {} ({} bytes) sets members beyond the {} bytes that this library supports. "
                   "Use a later version of the library.",
                   type, given, size);
    }
  }
  std::memcpy(to, from, std::min(given, size));
  return Status();
}

Status WriteSized(const char* type, const void* from, void* to, size_t size, size_t min) {
  const size_t given = StructSize(to);
  SPIRLOOM_TRY(CheckSize(type, given, min));
  constexpr size_t kSkipped = sizeof(size_t);  // the size itself
  auto* bytes = static_cast<std::byte*>(to);
  const size_t known = std::min(given, size);
  std::memcpy(bytes + kSkipped, static_cast<const std::byte*>(from) + kSkipped, known - kSkipped);
  std::memset(bytes + known, 0, given - known);
  return Status();
}

}  // namespace spirloom::c
