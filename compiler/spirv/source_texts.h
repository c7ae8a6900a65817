// Adds the texts of source files to the debug information of a module.
#ifndef SPIRLOOM_COMPILER_SPIRV_SOURCE_TEXTS_H_
#define SPIRLOOM_COMPILER_SPIRV_SOURCE_TEXTS_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace spirloom::compiler {

// File names and their texts.
using SourceFiles = std::map<std::string, std::string>;

// Returns `module` with the texts of the files that its debug information names (OpString): as the
// texts of their DebugSource, if the module imports NonSemantic.Shader.DebugInfo.100, otherwise as
// OpSource of GLSL 450. Files that have a text, and files that the module does not name, are
// ignored. `module` must be a well-formed module.
std::vector<uint32_t> WithSourceTexts(std::span<const uint32_t> module, const SourceFiles& sources);

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_SPIRV_SOURCE_TEXTS_H_
