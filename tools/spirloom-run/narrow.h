// Converts values of .npy files to tensor types, and checks bounds.
#ifndef SPIRLOOM_TOOLS_SPIRLOOM_RUN_NARROW_H_
#define SPIRLOOM_TOOLS_SPIRLOOM_RUN_NARROW_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "spirloom/status.h"
#include "tools/spirloom-run/npy.h"

namespace spirloom::run {

// Element types without a tensor type. Integers are converted to int32, kFloat64 to float32.
enum class WideType : uint8_t { kInt64, kUint64, kUint32, kInt16, kUint16, kFloat64 };

// The size of an element in bytes.
size_t ElementSize(WideType type);

// Converts integers to int32, and float64 to float32 with rounding. Fails with kInvalidFile for a
// value out of range; the message names the first. The size of `data` is a multiple of the element
// size.
Result<std::vector<std::byte>> Narrowed(std::span<const std::byte> data, WideType type);

// Fails with kInvalidArgument for a value below `min` or above `max`; the message names the first.
// Does not check float16 and bool.
Status CheckBounds(const Array& array, int64_t min, int64_t max);

}  // namespace spirloom::run

#endif  // SPIRLOOM_TOOLS_SPIRLOOM_RUN_NARROW_H_
