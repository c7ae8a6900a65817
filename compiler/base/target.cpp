#include "compiler/base/target.h"

#include <string>

namespace spirloom::compiler {

Result<Target> ParseTarget(std::string_view name) {
  for (const Target target : {Target::kVulkan11, Target::kVulkan12, Target::kVulkan13}) {
    if (name == TargetName(target)) return target;
  }
  return Status(StatusCode::kInvalidFile, "Target '" + std::string(name) +
                                              "' is not one of: vulkan1.1, vulkan1.2, vulkan1.3.");
}

const char* TargetName(Target target) {
  switch (target) {
    case Target::kVulkan11:
      return "vulkan1.1";
    case Target::kVulkan12:
      return "vulkan1.2";
    case Target::kVulkan13:
      break;
  }
  return "vulkan1.3";
}

uint8_t VulkanMinor(Target target) {
  switch (target) {
    case Target::kVulkan11:
      return 1;
    case Target::kVulkan12:
      return 2;
    case Target::kVulkan13:
      break;
  }
  return 3;
}

spv_target_env SpirvToolsEnvironment(Target target) {
  switch (target) {
    case Target::kVulkan11:
      return SPV_ENV_VULKAN_1_1;
    case Target::kVulkan12:
      return SPV_ENV_VULKAN_1_2;
    case Target::kVulkan13:
      break;
  }
  return SPV_ENV_VULKAN_1_3;
}

}  // namespace spirloom::compiler
