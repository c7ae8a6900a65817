#ifndef SPIRLOOM_RUNTIME_VULKAN_FEATURES_H_
#define SPIRLOOM_RUNTIME_VULKAN_FEATURES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/pack/capability.h"
#include "runtime/vulkan/cooperative_matrix.h"
#include "runtime/vulkan/functions.h"

namespace spirloom::vulkan {

// The feature structs that capabilities come from, chained for vkGetPhysicalDeviceFeatures2 and
// vkCreateDevice. Points into itself: neither moves nor copies.
class FeatureChain {
 public:
  // Links the structs of the `wanted` capabilities (bits, pack::Capability) that a device of
  // `api_version` with `extensions` knows.
  FeatureChain(uint32_t api_version, const std::vector<std::string>& extensions, uint64_t wanted);
  FeatureChain(const FeatureChain&) = delete;
  FeatureChain& operator=(const FeatureChain&) = delete;

  // Fills the chain with what the device supports.
  void Query(const InstanceFunctions& fn, VkPhysicalDevice device);
  // Turns off, after Query(), every feature but those of the wanted capabilities.
  void KeepWanted();
  // The capabilities (bits, pack::Capability) of the features that are on.
  uint64_t Capabilities() const;

  // Turns on in `chain` what is on in this one, once: in structs that it has, or in own ones that
  // leave this chain for that one.
  void AddTo(VkPhysicalDeviceFeatures2& chain);

  const VkPhysicalDeviceFeatures2* head() const { return &core_; }
  // The device extensions that the linked structs belong to.
  const std::vector<const char*>& extensions() const { return extensions_; }

 private:
  template <typename T>
  void Link(T& next, VkStructureType type);
  bool Wants(pack::Capability capability) const;

  uint64_t wanted_;
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

// The capabilities that are features, which a device has off unless they are asked for.
inline constexpr uint64_t kFeatureCapabilities =
    pack::CapabilityBit(pack::Capability::kStorageBuffer16Bit) |
    pack::CapabilityBit(pack::Capability::kStorageBuffer8Bit) |
    pack::CapabilityBit(pack::Capability::kShaderFloat16) |
    pack::CapabilityBit(pack::Capability::kShaderInt8) |
    pack::CapabilityBit(pack::Capability::kShaderInt16) |
    pack::CapabilityBit(pack::Capability::kShaderInt64) |
    pack::CapabilityBit(pack::Capability::kIntegerDotProduct) |
    pack::CapabilityBit(pack::Capability::kCooperativeMatrix) |
    pack::CapabilityBit(pack::Capability::kBFloat16Matrix);

// Those that `chain`, a pNext chain of VkDeviceCreateInfo or null, turns on.
uint64_t EnabledCapabilities(const void* chain);
// Whether it turns on timeline semaphores.
bool EnablesTimelineSemaphores(const void* chain);

}  // namespace spirloom::vulkan

#endif  // SPIRLOOM_RUNTIME_VULKAN_FEATURES_H_
