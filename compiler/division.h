// Most index arithmetic is divisions by sizes, and what the templates write for one is long
// (divide() of lib/prelude.glsl.j2). Written out at every use they would be a tenth of all modules.
#ifndef SPIRLOOM_COMPILER_DIVISION_H_
#define SPIRLOOM_COMPILER_DIVISION_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace spirloom::compiler {

// The module with an OpUDiv of signed integers, which GLSL has none of, for each call of
// `int divide(const int, const int)`: the optimiser folds, shares and drops these like any other
// instruction. The function stays, as exported. A module without it comes back as it is.
std::vector<uint32_t> DivisionsAsInstructions(std::span<const uint32_t> module);

// How many such instructions the module has.
size_t CountDivisions(std::span<const uint32_t> module);

// The module with calls again, of a function that is exported no longer and asks to be inlined,
// as drivers do.
std::vector<uint32_t> DivisionsAsCalls(std::span<const uint32_t> module);

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_DIVISION_H_
