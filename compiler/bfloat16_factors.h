// Factors of bfloat16: GLSL of the distribution's glslang, and NV's matrices, have no such type, so
// that shaders of Capability::kBFloat16Matrix say 16-bit floats where they mean it.
#ifndef SPIRLOOM_COMPILER_BFLOAT16_FACTORS_H_
#define SPIRLOOM_COMPILER_BFLOAT16_FACTORS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "spirloom/status.h"

namespace spirloom::compiler {

// `words`, as WithKhrMatrices() gives them, with factors of SPV_KHR_bfloat16 instead of halves; a
// module without matrices as it is. Factors may be loaded, passed on, multiplied and stored, which
// moves their bits. Fails with kInvalidFile, naming the instruction, where the module does anything
// else with halves, which would then mean other numbers.
Result<std::vector<uint32_t>> WithBFloat16Factors(std::span<const uint32_t> words);

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_BFLOAT16_FACTORS_H_
