// Variants that differ only in their default workgroup size share a module.
#ifndef SPIRLOOM_COMPILER_PACK_WORKGROUP_SIZE_H_
#define SPIRLOOM_COMPILER_PACK_WORKGROUP_SIZE_H_

#include <cstdint>
#include <span>

namespace spirloom::compiler {

// Sets the default workgroup size of `module` to 1 x 1 x 1 if specialization constants 0, 1 and 2
// determine it. The runtime specializes them in every pipeline.
void ClearWorkgroupSize(std::span<uint32_t> module);

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_PACK_WORKGROUP_SIZE_H_
