// The passes of SPIRV-Tools 2023.1 that remove code leave a module alone that declares an extension
// they have no rules for. Those of cooperative matrices would keep all that nothing uses.
#ifndef SPIRLOOM_COMPILER_MATRIX_EXTENSION_H_
#define SPIRLOOM_COMPILER_MATRIX_EXTENSION_H_

#include <cstdint>
#include <span>
#include <vector>

namespace spirloom::compiler {

// The module as passes are to see it: without the word that it has matrices.
std::vector<uint32_t> WithoutMatrixExtension(std::span<const uint32_t> module);

// The module, which has matrices, with that word again.
std::vector<uint32_t> WithMatrixExtension(std::span<const uint32_t> module);

// Whether matrices are loaded from shared memory that nothing is stored into: the passes know no
// loads but plain ones, and remove stores that none of these reads.
bool LacksSharedStores(std::span<const uint32_t> module);

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_MATRIX_EXTENSION_H_
