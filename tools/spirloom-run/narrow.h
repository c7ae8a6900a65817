// Numbers of .npy files in the types and bounds that a model's inputs have.
#ifndef SPIRLOOM_TOOLS_SPIRLOOM_RUN_NARROW_H_
#define SPIRLOOM_TOOLS_SPIRLOOM_RUN_NARROW_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "spirloom/status.h"
#include "tools/spirloom-run/npy.h"

namespace spirloom::run {

// Numbers that tensors do not have, for which int32 stands in, and float32 for the last.
enum class WideType : uint8_t { kInt64, kUint64, kUint32, kInt16, kUint16, kFloat64 };

// In bytes.
size_t ElementSize(WideType type);

// The same numbers as int32; float64 rounded to float32. Fails with kInvalidFile naming the first
// that does not fit. `data` holds whole elements.
Result<std::vector<std::byte>> Narrowed(std::span<const std::byte> data, WideType type);

// Fails with kInvalidArgument naming the first number below `least` or above `greatest`. Halves and
// bools have no bounds.
Status CheckBounds(const Array& array, int64_t least, int64_t greatest);

}  // namespace spirloom::run

#endif  // SPIRLOOM_TOOLS_SPIRLOOM_RUN_NARROW_H_
