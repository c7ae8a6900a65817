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

// Whether matrices are loaded from a shared variable without stores. The optimizer does not
// recognize matrix loads, and removes stores to variables without ordinary loads.
bool IsMissingSharedStores(std::span<const uint32_t> module);

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_SPIRV_MATRIX_EXTENSION_H_
