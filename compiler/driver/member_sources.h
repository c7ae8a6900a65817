// Corrects the files of declarations in the debug information of a module.
#ifndef SPIRLOOM_COMPILER_DRIVER_MEMBER_SOURCES_H_
#define SPIRLOOM_COMPILER_DRIVER_MEMBER_SOURCES_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace spirloom::compiler {

// Returns `module`, which glslang made of `glsl`, with the file that declares each member of a
// struct or block as the source of its DebugTypeMember (NonSemantic.Shader.DebugInfo.100): glslang
// writes the line of the declaration, and the file that it reads when it describes the type, where
// that line may not exist. `module` must be a well-formed module.
std::vector<uint32_t> WithMemberSources(std::span<const uint32_t> module, std::string_view glsl);

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_DRIVER_MEMBER_SOURCES_H_
