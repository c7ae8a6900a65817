#ifndef SPIRLOOM_RUNTIME_VULKAN_FEATURES_H_
#define SPIRLOOM_RUNTIME_VULKAN_FEATURES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/pack/capability.h"
#include "runtime/vulkan/cooperative_matrix.h"
#include "runtime/vulkan/functions.h"

namespace spirloom::vulkan {

// The feature structs of the capabilities, chained for vkGetPhysicalDeviceFeatures2 and
// vkCreateDevice. Contains pointers to itself: neither movable nor copyable.
class FeatureChain {
 public:
  // Links the structs of the `requested` capabilities (bits, pack::Capability) that exist in
  // `api_version` or `extensions` of a device.
  FeatureChain(uint32_t api_version, const std::vector<std::string>& extensions,
               uint64_t requested);
  FeatureChain(const FeatureChain&) = delete;
  FeatureChain& operator=(const FeatureChain&) = delete;

  // Sets all features that the device supports.
  void Query(const InstanceFunctions& fn, VkPhysicalDevice device);
  // After Query(): disables all features except those of the requested capabilities.
  void DisableUnrequested();
  // The capabilities (bits, pack::Capability) of the enabled features.
  uint64_t Capabilities() const;

  // Enables the features of this chain in `chain`: in its existing structs, or in structs that move
  // from this chain to it. May be called once.
  void AddTo(VkPhysicalDeviceFeatures2& chain);

  const VkPhysicalDeviceFeatures2* head() const { return &core_; }
  // The device extensions of the linked structs, and if the device has them
  // VK_KHR_shader_float_controls (part of Vulkan 1.2) and VK_KHR_portability_subset.
  const std::vector<const char*>& extensions() const { return extensions_; }

 private:
  template <typename T>
  void Link(T& next, VkStructureType type);
  bool IsRequested(pack::Capability capability) const;

  uint64_t requested_;
  VkPhysicalDeviceFeatures2 core_{};
  VkPhysicalDevice16BitStorageFeatures storage16_{};
  VkPhysicalDevice8BitStorageFeatures storage8_{};
  VkPhysicalDeviceShaderFloat16Int8Features float16_int8_{};
  VkPhysicalDeviceShaderIntegerDotProductFeatures integer_dot_{};
  VkPhysicalDeviceVulkanMemoryModelFeatures memory_model_{};
  VkPhysicalDeviceSubgroupSizeControlFeatures subgroup_size_{};
  CooperativeMatrixFeatures cooperative_matrix_{};
  ShaderBFloat16Features bfloat16_{};
  void** tail_ = &core_.pNext;
  std::vector<const char*> extensions_;
};

// The capabilities that are Vulkan features and must be enabled at device creation.
inline constexpr uint64_t kFeatureCapabilities = 0
#define SPIRLOOM_CAPABILITY_FEATURE(id, ...) | pack::CapabilityBit(pack::Capability::k##id)
#include "spec_model/capabilities.inc"
    ;

// The capabilities enabled in `chain`, a pNext chain of VkDeviceCreateInfo or null.
uint64_t EnabledCapabilities(const void* chain);
// Whether `chain` enables timeline semaphores.
bool EnablesTimelineSemaphores(const void* chain);

}  // namespace spirloom::vulkan

#endif  // SPIRLOOM_RUNTIME_VULKAN_FEATURES_H_
