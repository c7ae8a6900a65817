// Cooperative matrices: from GL_NV_cooperative_matrix, which the distribution's glslang and
// SPIRV-Tools know, to SPV_KHR_cooperative_matrix, which devices take.
#ifndef SPIRLOOM_COMPILER_COOPERATIVE_MATRIX_H_
#define SPIRLOOM_COMPILER_COOPERATIVE_MATRIX_H_

#include <cstdint>
#include <span>
#include <vector>

#include "spirloom/status.h"

namespace spirloom::compiler {

// `words` with NV's matrices written as KHR's; a module without any as it is. KHR's types say
// whether they are the left factor, the right one or the sum: that follows from the multiply-adds,
// whose three types must therefore differ. They do where M, N and K are specialisation constants,
// which become plain ones here. Fails with kInvalidFile, naming what is wrong, for a module that is
// no KHR module in other words or multiplies other matrices than Capability::kCooperativeMatrix
// stands for. What KHR's rules share with NV's is left to Validate(), before.
Result<std::vector<uint32_t>> WithKhrMatrices(std::span<const uint32_t> words);

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_COOPERATIVE_MATRIX_H_
