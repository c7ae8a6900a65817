// The parts of VK_KHR_cooperative_matrix and VK_KHR_shader_bfloat16 that the runtime uses, for
// Vulkan headers that lack them.
#ifndef SPIRLOOM_RUNTIME_VULKAN_COOPERATIVE_MATRIX_H_
#define SPIRLOOM_RUNTIME_VULKAN_COOPERATIVE_MATRIX_H_

#include <span>

#include "runtime/vulkan/instance.h"
#include "runtime/vulkan/vk.h"

namespace spirloom::vulkan {

inline constexpr const char* kCooperativeMatrixExtension = "VK_KHR_cooperative_matrix";

// VkPhysicalDeviceCooperativeMatrixFeaturesKHR.
struct CooperativeMatrixFeatures {
  VkStructureType sType;
  void* pNext;
  VkBool32 cooperativeMatrix;
  VkBool32 cooperativeMatrixRobustBufferAccess;
};

inline constexpr const char* kShaderBFloat16Extension = "VK_KHR_shader_bfloat16";

// VkPhysicalDeviceShaderBfloat16FeaturesKHR.
struct ShaderBFloat16Features {
  VkStructureType sType;
  void* pNext;
  VkBool32 shaderBFloat16Type;
  VkBool32 shaderBFloat16DotProduct;
  VkBool32 shaderBFloat16CooperativeMatrix;
};

// VkCooperativeMatrixPropertiesKHR: a supported shape with VkComponentTypeKHR and VkScopeKHR.
struct CooperativeMatrixShape {
  VkStructureType sType;
  void* pNext;
  uint32_t m, n, k;
  uint32_t a_type, b_type, c_type, result_type;
  VkBool32 saturating;
  uint32_t scope;
};

// VkPhysicalDeviceCooperativeMatrixPropertiesKHR.
struct CooperativeMatrixProperties {
  VkStructureType sType;
  void* pNext;
  VkShaderStageFlags stages;  // cooperativeMatrixSupportedStages
};

// Returns kCooperativeMatrix and kBFloat16Matrix (bits, pack::Capability) if the shapes, shader
// stages, limits and subgroup sizes of a device support them; kBFloat16Matrix only together with
// kCooperativeMatrix.
uint64_t MatrixCapabilities(std::span<const CooperativeMatrixShape> shapes,
                            VkShaderStageFlags stages, const VkPhysicalDeviceLimits& limits,
                            const VkPhysicalDeviceSubgroupSizeControlProperties& subgroups);

// Queries a device that has the extension and VK_EXT_subgroup_size_control, and returns its
// capabilities, not considering its features; 0 if a query fails.
uint64_t MatrixCapabilities(const Instance& instance, VkPhysicalDevice device);

}  // namespace spirloom::vulkan

#endif  // SPIRLOOM_RUNTIME_VULKAN_COOPERATIVE_MATRIX_H_
