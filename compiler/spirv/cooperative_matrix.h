// Converts cooperative matrices from SPV_NV_cooperative_matrix, which the distribution's glslang
// and SPIRV-Tools support, to SPV_KHR_cooperative_matrix, which devices support.
#ifndef SPIRLOOM_COMPILER_SPIRV_COOPERATIVE_MATRIX_H_
#define SPIRLOOM_COMPILER_SPIRV_COOPERATIVE_MATRIX_H_

#include <cstdint>
#include <span>
#include <vector>

#include "spirloom/status.h"

namespace spirloom::compiler {

// Converts the NV matrices of `words`; returns a module without matrices unchanged. KHR types
// contain a use: matrix A, matrix B or accumulator. The use follows from the multiply-adds, whose
// three types must therefore differ. They do if M, N and K are specialization constants, which are
// replaced by ordinary constants here. Fails with kInvalidFile if a type has no or several uses, or
// a shape that Capability::kCooperativeMatrix does not include. Call Validate() before: rules that
// both extensions share are not checked again.
Result<std::vector<uint32_t>> WithKhrMatrices(std::span<const uint32_t> words);

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_SPIRV_COOPERATIVE_MATRIX_H_
