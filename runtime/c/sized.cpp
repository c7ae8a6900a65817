#include "runtime/c/sized.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "runtime/base/error.h"

namespace spirloom::c {
namespace {

// The caller may have reserved less than the whole struct, so no T is read.
size_t StructSize(const void* sized) {
  size_t size = 0;
  std::memcpy(&size, sized, sizeof(size));
  return size;
}

Status CheckSize(const char* type, size_t given, size_t least) {
  if (given >= least) return Status();
  return Error(StatusCode::kInvalidArgument,
               {"struct_size (", given, ") of the ", type, " is below its first version's (", least,
                "). Begin with SPIRLOOM_INIT(", type, ")."});
}

}  // namespace

Status ReadSized(const char* type, const void* from, void* to, size_t size, size_t least) {
  const size_t given = StructSize(from);
  SPIRLOOM_TRY(CheckSize(type, given, least));
  if (given > size) {
    const std::span beyond(static_cast<const std::byte*>(from) + size, given - size);
    if (std::ranges::any_of(beyond, [](std::byte byte) { return byte != std::byte{0}; })) {
      return Error(
          StatusCode::kUnsupported,
          {"The ", type, " (", given, " bytes) sets members that this library, which knows ", size,
           " bytes of it, does not have. Use a later version of the library."});
    }
  }
  std::memcpy(to, from, std::min(given, size));
  return Status();
}

Status WriteSized(const char* type, const void* from, void* to, size_t size, size_t least) {
  const size_t given = StructSize(to);
  SPIRLOOM_TRY(CheckSize(type, given, least));
  constexpr size_t kSkipped = sizeof(size_t);  // the size itself
  auto* bytes = static_cast<std::byte*>(to);
  const size_t known = std::min(given, size);
  std::memcpy(bytes + kSkipped, static_cast<const std::byte*>(from) + kSkipped, known - kSkipped);
  std::memset(bytes + known, 0, given - known);
  return Status();
}

}  // namespace spirloom::c
