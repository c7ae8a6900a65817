#ifndef SPIRLOOM_COMPILER_SOFTWARE_DEVICE_H_
#define SPIRLOOM_COMPILER_SOFTWARE_DEVICE_H_

#include <cstdint>
#include <span>
#include <vector>

namespace spirloom::compiler {

// Moves what a module reads of its push constants, at fixed places, to the start of its first
// function, which is the entry point and alone reads any, each once. Software devices read a push
// constant with one instruction where all invocations run for sure; within branches and loops they
// gather it, one invocation after the other. To GPUs both are alike. Other modules come back as
// they are.
std::vector<uint32_t> HoistPushConstants(std::span<const uint32_t> module);

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_SOFTWARE_DEVICE_H_
