// Checks converted cooperative matrices. The distribution's spirv-val does not know
// SPV_KHR_cooperative_matrix and SPV_KHR_bfloat16, so it validates modules before the conversion.
#ifndef SPIRLOOM_COMPILER_SPIRV_MATRIX_CHECK_H_
#define SPIRLOOM_COMPILER_SPIRV_MATRIX_CHECK_H_

#include <cstdint>
#include <span>

#include "spirloom/status.h"

namespace spirloom::compiler {

// Checks `after`, the result of WithKhrMatrices() and WithBFloat16Operands() for the valid module
// `before`: all instructions that both extensions do not concern are unchanged and in the same
// order, new ids are within the bound and defined once, and the matrix instructions follow the
// rules of SPV_KHR_cooperative_matrix for types, uses, shapes, layouts and storage classes. Fails
// with kInternal, naming the instruction.
Status CheckConvertedMatrices(std::span<const uint32_t> before, std::span<const uint32_t> after);

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_SPIRV_MATRIX_CHECK_H_
