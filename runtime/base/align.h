#ifndef SPIRLOOM_RUNTIME_BASE_ALIGN_H_
#define SPIRLOOM_RUNTIME_BASE_ALIGN_H_

#include <cstdint>

namespace spirloom {

// Rounds `value` up to a multiple of `alignment`, a power of two.
constexpr uint64_t AlignUp(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) & ~(alignment - 1);
}

}  // namespace spirloom

#endif  // SPIRLOOM_RUNTIME_BASE_ALIGN_H_
