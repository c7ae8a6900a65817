// Structs that begin with their size as the caller knows it. Versions of one only differ in what
// they have at their ends.
#ifndef SPIRLOOM_RUNTIME_C_SIZED_H_
#define SPIRLOOM_RUNTIME_C_SIZED_H_

#include <cstddef>
#include <type_traits>

#include "spirloom/status.h"

namespace spirloom::c {

// The size of T in ABI version 1, which no caller's is below. A struct that has grown since has a
// specialisation: the offset of its first newer member.
template <typename T>
inline constexpr size_t kFirstSize = sizeof(T);

// Reads the caller's struct at `from` into the `size` bytes at `to`, which stay as they are where
// the caller's ends. Fails with kInvalidArgument, naming `type`, for one below `least` bytes, and
// with kUnsupported for one of a later version that says what this library does not know.
Status ReadSized(const char* type, const void* from, void* to, size_t size, size_t least);

// Writes the `size` bytes at `from` to the caller's struct at `to`, as far as that goes: its size
// stays, what it has beyond becomes zero. Fails with kInvalidArgument for one below `least` bytes.
Status WriteSized(const char* type, const void* from, void* to, size_t size, size_t least);

template <typename T>
Status Read(const char* type, const T* from, T& to) {
  static_assert(std::is_trivially_copyable_v<T> && offsetof(T, struct_size) == 0);
  return ReadSized(type, from, &to, sizeof(T), kFirstSize<T>);
}

template <typename T>
Status Write(const char* type, const T& from, T* to) {
  static_assert(std::is_trivially_copyable_v<T> && offsetof(T, struct_size) == 0);
  return WriteSized(type, &from, to, sizeof(T), kFirstSize<T>);
}

}  // namespace spirloom::c

#endif  // SPIRLOOM_RUNTIME_C_SIZED_H_
