// SPIRV-Tools inlines functions of one exit, so they give every function one: `return` becomes a
// branch out of a switch around all of it. The entry point needs none.
#ifndef SPIRLOOM_COMPILER_EARLY_RETURN_H_
#define SPIRLOOM_COMPILER_EARLY_RETURN_H_

#include <cstdint>
#include <span>
#include <vector>

namespace spirloom::compiler {

// The module without such a switch around the code of its first function, when all that follows it
// is the function's end; other modules as they are.
std::vector<uint32_t> ReturnsInPlace(std::span<const uint32_t> module);

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_EARLY_RETURN_H_
