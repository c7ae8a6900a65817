// VK_KHR_cooperative_matrix as far as the runtime uses it, and older headers lack it.
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

// VkCooperativeMatrixPropertiesKHR: sizes, VkComponentTypeKHR and VkScopeKHR of one product.
struct CooperativeMatrixShape {
  VkStructureType sType;
  void* pNext;
  uint32_t m, n, k;
  uint32_t a_type, b_type, c_type, result_type;
  VkBool32 saturating;
  uint32_t scope;
};

// Whether a device of these shapes, limits and subgroup sizes is one that
// pack::Capability::kCooperativeMatrix stands for.
bool TakesMatrixKernels(std::span<const CooperativeMatrixShape> shapes,
                        const VkPhysicalDeviceLimits& limits,
                        const VkPhysicalDeviceSubgroupSizeControlProperties& subgroups);

// The same of a device that has the extension and VK_EXT_subgroup_size_control; false where the
// driver fails to say.
bool TakesMatrixKernels(const Instance& instance, VkPhysicalDevice device);

}  // namespace spirloom::vulkan

#endif  // SPIRLOOM_RUNTIME_VULKAN_COOPERATIVE_MATRIX_H_
