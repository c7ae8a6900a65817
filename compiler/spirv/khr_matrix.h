// Opcodes of SPV_KHR_cooperative_matrix. The distribution's SPIR-V headers do not define them.
#ifndef SPIRLOOM_COMPILER_SPIRV_KHR_MATRIX_H_
#define SPIRLOOM_COMPILER_SPIRV_KHR_MATRIX_H_

#include <cstdint>
#include <string_view>

namespace spirloom::compiler::khr {

inline constexpr std::string_view kMatrixExtension = "SPV_KHR_cooperative_matrix";
inline constexpr uint16_t kOpTypeMatrix = 4456;
inline constexpr uint16_t kOpLoad = 4457;
inline constexpr uint16_t kOpStore = 4458;
inline constexpr uint16_t kOpMulAdd = 4459;
inline constexpr uint16_t kOpLength = 4460;

// The uses of matrices: A, B and accumulator.
inline constexpr uint32_t kMatrixUses = 3;

}  // namespace spirloom::compiler::khr

#endif  // SPIRLOOM_COMPILER_SPIRV_KHR_MATRIX_H_
