#ifndef SPIRLOOM_COMPILER_SPIRV_SOFTWARE_DEVICE_H_
#define SPIRLOOM_COMPILER_SPIRV_SOFTWARE_DEVICE_H_

#include <cstdint>
#include <span>
#include <vector>

namespace spirloom::compiler {

// Moves loads of push constants with constant indices to the start of the entry point, and merges
// equal ones. Software devices (llvmpipe) load a push constant once in uniform control flow, but
// once per invocation within branches and loops; GPUs do not distinguish the two. Returns modules
// unchanged if the entry point is not the first function, or if other functions access push
// constants.
std::vector<uint32_t> HoistPushConstants(std::span<const uint32_t> module);

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_SPIRV_SOFTWARE_DEVICE_H_
