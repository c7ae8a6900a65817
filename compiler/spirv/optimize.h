// Optimizes and validates SPIR-V with SPIRV-Tools, in this process.
#ifndef SPIRLOOM_COMPILER_SPIRV_OPTIMIZE_H_
#define SPIRLOOM_COMPILER_SPIRV_OPTIMIZE_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compiler/base/target.h"
#include "spirloom/status.h"

namespace spirloom::compiler {

// Runs the performance passes; removes debug names and non-semantic instructions, and compacts ids.
// Modules with cooperative matrices skip the passes that do not support them. Fails with kInternal
// and the message of SPIRV-Tools if a pass fails. Does not validate. With `keep_lines`, names and
// line information are kept.
Result<std::vector<uint32_t>> Optimize(std::span<const uint32_t> words, Target target,
                                       bool keep_lines = false);

// Validates `words` for `target`. Fails with kInvalidFile and the message of spirv-val.
Status Validate(std::span<const uint32_t> words, Target target);

// The version of SPIRV-Tools and the passes in order: the inputs of Optimize() besides its
// arguments.
std::string OptimizerVersion();

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_SPIRV_OPTIMIZE_H_
