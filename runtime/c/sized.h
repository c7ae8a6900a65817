// Structs that begin with their size as the caller knows it. Later versions only append members.
#ifndef SPIRLOOM_RUNTIME_C_SIZED_H_
#define SPIRLOOM_RUNTIME_C_SIZED_H_

#include <cstddef>
#include <type_traits>

#include "spirloom/status.h"

namespace spirloom::c {

// The size of T in ABI version 1: the minimum size. Specialized for structs that have grown: the
// offset of the first appended member.
template <typename T>
inline constexpr size_t kFirstSize = sizeof(T);

// Reads the caller's struct at `from` into `size` bytes at `to`; members that the caller's struct
// lacks are not modified. Fails with kInvalidArgument if it has less than `min` or more than
// 4096 bytes, with kUnsupported if it is of a later version and sets unknown members.
Status ReadSized(const char* type, const void* from, void* to, size_t size, size_t min);

// Writes `size` bytes at `from` to the caller's struct at `to`, up to its size. Does not modify
// struct_size; zeroes unknown members. Fails with kInvalidArgument if it has less than `min` or
// more than 4096 bytes.
Status WriteSized(const char* type, const void* from, void* to, size_t size, size_t min);

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
