// bfloat16 operands of cooperative matrices. The distribution's glslang and
// SPV_NV_cooperative_matrix do not have this type, so shaders with Capability::kBFloat16Matrix
// declare 16-bit floats instead.
#ifndef SPIRLOOM_COMPILER_SPIRV_BFLOAT16_OPERANDS_H_
#define SPIRLOOM_COMPILER_SPIRV_BFLOAT16_OPERANDS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "spirloom/status.h"

namespace spirloom::compiler {

// Replaces the 16-bit float operands of matrices by bfloat16 (SPV_KHR_bfloat16), in the result of
// WithKhrMatrices(). Returns a module without matrices unchanged. Operands may be loaded, copied,
// multiplied and stored, which preserves their bits. Fails with kInvalidFile for any other use of
// 16-bit floats, whose result would change; the message names the instruction.
Result<std::vector<uint32_t>> WithBFloat16Operands(std::span<const uint32_t> words);

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_SPIRV_BFLOAT16_OPERANDS_H_
