// Random inputs.
#ifndef SPIRLOOM_TOOLS_COMMON_RANDOM_H_
#define SPIRLOOM_TOOLS_COMMON_RANDOM_H_

#include <cstddef>
#include <random>
#include <span>

#include "spirloom/model.h"

namespace spirloom::tools {

// Fills an input with uniformly distributed values: within the bounds of the input if it has any,
// else -1 to 1 for floats, 0 or 1 for int32 (a valid index for most tensors) and bool, and the full
// range for 8-bit integers. Equal generators give equal bytes on every machine.
void FillRandom(const TensorInfo& input, std::mt19937_64& generator, std::span<std::byte> bytes);

}  // namespace spirloom::tools

#endif  // SPIRLOOM_TOOLS_COMMON_RANDOM_H_
