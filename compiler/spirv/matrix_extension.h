// SPIRV-Tools 2023.1 skips dead-code elimination in modules with unknown extensions. Without this
// workaround, modules with cooperative matrices would keep all their dead code.
#ifndef SPIRLOOM_COMPILER_SPIRV_MATRIX_EXTENSION_H_
#define SPIRLOOM_COMPILER_SPIRV_MATRIX_EXTENSION_H_

#include <cstdint>
#include <span>
#include <vector>

namespace spirloom::compiler {

// Removes the OpExtension of cooperative matrices, for optimization.
std::vector<uint32_t> WithoutMatrixExtension(std::span<const uint32_t> module);

// Adds the OpExtension again.
std::vector<uint32_t> WithMatrixExtension(std::span<const uint32_t> module);

// Whether `after`, the result of dead-code elimination in `before`, has other numbers of writes to
// a shared variable that it still reads. The optimizer does not recognize matrix loads, and removes
// writes to variables without other reads. Reads need no such check: the optimizer removes them
// only with their results, and Validate() rejects uses of a result that does not exist.
bool LosesSharedWrites(std::span<const uint32_t> before, std::span<const uint32_t> after);

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_SPIRV_MATRIX_EXTENSION_H_
