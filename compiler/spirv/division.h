// Integer division for index arithmetic: divide() in lib/prelude.glsl.j2 expands to many
// instructions. Inlined at every call, it would take 10 % of all modules.
#ifndef SPIRLOOM_COMPILER_SPIRV_DIVISION_H_
#define SPIRLOOM_COMPILER_SPIRV_DIVISION_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace spirloom::compiler {

// Replaces each call of `int divide(const int, const int)` by OpUDiv of signed integers, which GLSL
// never generates, so that the optimizer can fold, merge and remove divisions. Keeps the function
// by exporting it. Returns modules without the function unchanged.
std::vector<uint32_t> DivisionsAsInstructions(std::span<const uint32_t> module);

// The number of such instructions.
size_t CountDivisions(std::span<const uint32_t> module);

// Replaces these instructions by calls again. The function is no longer exported, and has the
// function control Inline, which drivers follow.
std::vector<uint32_t> DivisionsAsCalls(std::span<const uint32_t> module);

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_SPIRV_DIVISION_H_
