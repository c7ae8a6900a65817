// The lengths of cooperative matrices. glslang declares `m.length()` of an NV matrix as a
// specialization constant. Of a KHR matrix it is an instruction in a function, and drivers do not
// implement the constant: Mesa's crash.
#ifndef SPIRLOOM_COMPILER_SPIRV_MATRIX_LENGTH_H_
#define SPIRLOOM_COMPILER_SPIRV_MATRIX_LENGTH_H_

#include <cstdint>
#include <span>
#include <vector>

namespace spirloom::compiler {

// Replaces constants that are computed from the length of an NV matrix by instructions at the start
// of each function that uses them. Returns a module without such constants unchanged, and one that
// also uses them outside of functions, such as the size of an array: WithKhrMatrices() rejects it.
std::vector<uint32_t> WithLengthsInFunctions(std::span<const uint32_t> words);

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_SPIRV_MATRIX_LENGTH_H_
