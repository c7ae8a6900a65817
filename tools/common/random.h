// Numbers for inputs that nothing is given for.
#ifndef SPIRLOOM_TOOLS_COMMON_RANDOM_H_
#define SPIRLOOM_TOOLS_COMMON_RANDOM_H_

#include <cstddef>
#include <random>
#include <span>

#include "spirloom/model.h"

namespace spirloom::tools {

// Fills an input's bytes. Every number is as likely: within the input's bounds where it has some,
// else from -1 to 1 for floats, 0 or 1 for int32 (which counts as an index of anything) and bools,
// and all that there are for 8-bit integers. Equal generators give equal bytes on every machine.
void FillAtRandom(const TensorInfo& input, std::mt19937_64& generator, std::span<std::byte> bytes);

}  // namespace spirloom::tools

#endif  // SPIRLOOM_TOOLS_COMMON_RANDOM_H_
