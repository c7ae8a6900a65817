// Target environments of compilation, with their names in manifests.
#ifndef SPIRLOOM_COMPILER_BASE_TARGET_H_
#define SPIRLOOM_COMPILER_BASE_TARGET_H_

#include <spirv-tools/libspirv.h>

#include <cstdint>
#include <string_view>

#include "spirloom/status.h"

namespace spirloom::compiler {

enum class Target { kVulkan11, kVulkan12, kVulkan13 };

// "vulkan1.1", "vulkan1.2" or "vulkan1.3"; other names fail, and the message lists these.
Result<Target> ParseTarget(std::string_view name);
const char* TargetName(Target target);
// The minor version of Vulkan: 1, 2 or 3.
uint8_t VulkanMinor(Target target);
spv_target_env SpirvToolsEnvironment(Target target);

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_BASE_TARGET_H_
