#include "runtime/vulkan/cooperative_matrix.h"

#include <algorithm>
#include <vector>

#include "runtime/pack/capability.h"

namespace spirloom::vulkan {
namespace {

constexpr auto kShapeType = static_cast<VkStructureType>(1000506001);
constexpr auto kPropertiesType = static_cast<VkStructureType>(1000506002);
// VkComponentTypeKHR and VkScopeKHR.
constexpr uint32_t kFloat16 = 0;
constexpr uint32_t kFloat32 = 1;
constexpr uint32_t kBFloat16 = 1000141000;
constexpr uint32_t kSubgroup = 3;

using GetShapes = VkResult(VKAPI_PTR*)(VkPhysicalDevice, uint32_t*, CooperativeMatrixShape*);

// Whether kernels can use the shape, with operands of VkComponentTypeKHR `operand_type`.
bool IsUsable(const CooperativeMatrixShape& shape, uint32_t operand_type) {
  const auto is_side = [](uint32_t size) { return size == pack::kMatrixSide; };
  return is_side(shape.m) && is_side(shape.n) && is_side(shape.k) && shape.a_type == operand_type &&
         shape.b_type == operand_type && shape.c_type == kFloat32 &&
         shape.result_type == kFloat32 && shape.saturating == VK_FALSE && shape.scope == kSubgroup;
}

std::vector<CooperativeMatrixShape> ShapesOf(const Instance& instance, VkPhysicalDevice device) {
  const auto get = instance.Get<GetShapes>("vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR");
  uint32_t count = 0;
  if (get == nullptr || get(device, &count, nullptr) != VK_SUCCESS) return {};
  CooperativeMatrixShape empty{};
  empty.sType = kShapeType;
  std::vector<CooperativeMatrixShape> shapes(count, empty);
  if (get(device, &count, shapes.data()) < VK_SUCCESS) return {};
  shapes.resize(std::min<size_t>(count, shapes.size()));
  return shapes;
}

}  // namespace

uint64_t MatrixCapabilities(std::span<const CooperativeMatrixShape> shapes,
                            VkShaderStageFlags stages, const VkPhysicalDeviceLimits& limits,
                            const VkPhysicalDeviceSubgroupSizeControlProperties& subgroups) {
  const auto supports = [shapes](uint32_t type) {
    return std::ranges::any_of(shapes, [=](const auto& shape) { return IsUsable(shape, type); });
  };
  const bool usable = supports(kFloat16) && (stages & VK_SHADER_STAGE_COMPUTE_BIT) != 0 &&
                      limits.maxComputeSharedMemorySize >= pack::kSharedBytes32k &&
                      subgroups.minSubgroupSize <= pack::kMatrixSubgroupSize &&
                      subgroups.maxSubgroupSize >= pack::kMatrixSubgroupSize &&
                      (subgroups.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0;
  if (!usable) return 0;
  return pack::CapabilityBit(pack::Capability::kCooperativeMatrix) |
         (supports(kBFloat16) ? pack::CapabilityBit(pack::Capability::kBFloat16Matrix) : 0);
}

uint64_t MatrixCapabilities(const Instance& instance, VkPhysicalDevice device) {
  VkPhysicalDeviceSubgroupSizeControlProperties subgroups{};
  subgroups.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES;
  CooperativeMatrixProperties matrices{};
  matrices.sType = kPropertiesType;
  subgroups.pNext = &matrices;
  VkPhysicalDeviceProperties2 properties{};
  properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  properties.pNext = &subgroups;
  instance.fn().vkGetPhysicalDeviceProperties2(device, &properties);
  return MatrixCapabilities(ShapesOf(instance, device), matrices.stages,
                            properties.properties.limits, subgroups);
}

}  // namespace spirloom::vulkan
