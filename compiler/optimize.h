// SPIR-V to smaller and faster SPIR-V, by SPIRV-Tools in this process.
#ifndef SPIRLOOM_COMPILER_OPTIMIZE_H_
#define SPIRLOOM_COMPILER_OPTIMIZE_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compiler/target.h"
#include "spirloom/status.h"

namespace spirloom::compiler {

// The performance passes; then no debug names, no non-semantic instructions, compact ids. A pass
// that SPIRV-Tools cannot run on cooperative matrices is left out for a module that has them. Fails
// with kInternal and the tools' message when they refuse the module. Does not validate. With
// `keep_lines` names and line information stay.
Result<std::vector<uint32_t>> Optimize(std::span<const uint32_t> words, Target target,
                                       bool keep_lines = false);

// Checks `words` against the rules of `target`. Fails with kInvalidFile and spirv-val's message.
Status Validate(std::span<const uint32_t> words, Target target);

// e.g. "SPIRV-Tools v2023.1 ...", and the passes in order: what Optimize()'s result depends on
// beside its arguments.
std::string OptimizerVersion();

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_OPTIMIZE_H_
