// Words of NonSemantic.Shader.DebugInfo.100 (SPIR-V registry):
//   OpExtInst %void %result %set DebugTypeMember %name %type %source %line …
//   OpExtInst %void %result %set DebugSource %file [%text]
#ifndef SPIRLOOM_COMPILER_SPIRV_DEBUG_INFO_H_
#define SPIRLOOM_COMPILER_SPIRV_DEBUG_INFO_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace spirloom::compiler::debug_info {

constexpr std::string_view kSet = "NonSemantic.Shader.DebugInfo.100";
constexpr uint32_t kTypeMember = 11;
constexpr uint32_t kSource = 35;

constexpr size_t kSetWord = 3;
constexpr size_t kInstructionWord = 4;
constexpr size_t kFirstOperand = 5;

}  // namespace spirloom::compiler::debug_info

#endif  // SPIRLOOM_COMPILER_SPIRV_DEBUG_INFO_H_
