// The SPIRV-Tools pass merge-return rewrites each function to a single exit, which inlining
// requires: it wraps the function in a switch and replaces early returns with branches out of it.
// For the entry point, this file reverts the change.
#ifndef SPIRLOOM_COMPILER_SPIRV_EARLY_RETURN_H_
#define SPIRLOOM_COMPILER_SPIRV_EARLY_RETURN_H_

#include <cstdint>
#include <span>
#include <vector>

namespace spirloom::compiler {

// Removes such a switch from the first function if only a return follows it, and restores the early
// returns. Returns other modules unchanged.
std::vector<uint32_t> RestoreEarlyReturns(std::span<const uint32_t> module);

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_SPIRV_EARLY_RETURN_H_
