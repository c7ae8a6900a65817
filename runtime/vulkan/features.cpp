#include "runtime/vulkan/features.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "runtime/pack/capability.h"

namespace spirloom::vulkan {
namespace {

using pack::Capability;

// Of <vulkan/vulkan_beta.h>.
constexpr const char* kPortabilitySubset = "VK_KHR_portability_subset";

constexpr auto kCooperativeMatrixType = static_cast<VkStructureType>(1000506000);
constexpr auto kBFloat16Type = static_cast<VkStructureType>(1000141000);

// The location of a feature: in the struct of its extension, and in that of a Vulkan version.
struct FeatureLocation {
  Capability capability;
  VkStructureType type;
  size_t offset;
  VkStructureType version_type;
  size_t version_offset;
};

#define SPIRLOOM_TYPE(name) VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_##name
#define SPIRLOOM_FEATURE(capability, type, own, field, version_type, version, version_field) \
  {                                                                                          \
    Capability::capability, type, offsetof(own, field), version_type,                        \
        offsetof(version, version_field)                                                     \
  }
constexpr FeatureLocation kFeatures[] = {
#define SPIRLOOM_CAPABILITY_FEATURE(id, ...) SPIRLOOM_FEATURE(k##id, __VA_ARGS__),
#include "spec_model/capabilities.inc"
};

// Further features that capabilities require.
constexpr FeatureLocation kRequirements[] = {
#define SPIRLOOM_CAPABILITY_REQUIREMENT(id, ...) SPIRLOOM_FEATURE(k##id, __VA_ARGS__),
#include "spec_model/capabilities.inc"
};

constexpr FeatureLocation kTimeline = SPIRLOOM_FEATURE(
    kCooperativeMatrix, SPIRLOOM_TYPE(TIMELINE_SEMAPHORE_FEATURES),
    VkPhysicalDeviceTimelineSemaphoreFeatures, timelineSemaphore,
    SPIRLOOM_TYPE(VULKAN_1_2_FEATURES), VkPhysicalDeviceVulkan12Features, timelineSemaphore);
#undef SPIRLOOM_FEATURE
#undef SPIRLOOM_TYPE

// The link to the struct of this type, or to the end of the chain if there is none.
VkBaseOutStructure** Find(VkBaseOutStructure*& chain, VkStructureType type) {
  VkBaseOutStructure** link = &chain;
  while (*link != nullptr && (*link)->sType != type) link = &(*link)->pNext;
  return link;
}

void Enable(VkBaseOutStructure* target, size_t offset) {
  const VkBool32 value = VK_TRUE;
  std::memcpy(reinterpret_cast<std::byte*>(target) + offset, &value, sizeof(value));
}

bool IsEnabled(const FeatureLocation& feature, const void* chain) {
  for (auto* next = static_cast<const VkBaseInStructure*>(chain); next != nullptr;
       next = next->pNext) {
    size_t offset = 0;
    if (next->sType == feature.type) offset = feature.offset;
    if (next->sType == feature.version_type) offset = feature.version_offset;
    if (offset == 0) continue;
    VkBool32 value = VK_FALSE;
    std::memcpy(&value, reinterpret_cast<const std::byte*>(next) + offset, sizeof(value));
    if (value == VK_TRUE) return true;
  }
  return false;
}

}  // namespace

uint64_t EnabledCapabilities(const void* chain) {
  uint64_t bits = 0;
  for (const FeatureLocation& feature : kFeatures) {
    if (IsEnabled(feature, chain)) bits |= pack::CapabilityBit(feature.capability);
  }
  for (const FeatureLocation& feature : kRequirements) {
    if (!IsEnabled(feature, chain)) bits &= ~pack::CapabilityBit(feature.capability);
  }
  return bits;
}

bool EnablesTimelineSemaphores(const void* chain) { return IsEnabled(kTimeline, chain); }

template <typename T>
void FeatureChain::Link(T& next, VkStructureType type) {
  next.sType = type;
  *tail_ = &next;
  tail_ = &next.pNext;
}

bool FeatureChain::IsRequested(Capability capability) const {
  return (requested_ & pack::CapabilityBit(capability)) != 0;
}

FeatureChain::FeatureChain(uint32_t api_version, const std::vector<std::string>& extensions,
                           uint64_t requested)
    : requested_(requested) {
  // Whether the struct is core in `version` or, otherwise, part of `extension`.
  const auto known = [&](uint32_t version, const char* extension) {
    if (version != 0 && api_version >= version) return true;
    if (std::ranges::find(extensions, extension) == extensions.end()) return false;
    extensions_.push_back(extension);
    return true;
  };
  const auto has = [&](const char* extension) {
    return std::ranges::find(extensions, extension) != extensions.end();
  };
  core_.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  if (IsRequested(Capability::kStorageBuffer16Bit)) {
    Link(storage16_, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES);
  }
  if (IsRequested(Capability::kStorageBuffer8Bit) &&
      known(VK_API_VERSION_1_2, VK_KHR_8BIT_STORAGE_EXTENSION_NAME)) {
    Link(storage8_, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES);
  }
  if ((IsRequested(Capability::kShaderFloat16) || IsRequested(Capability::kShaderInt8)) &&
      known(VK_API_VERSION_1_2, VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME)) {
    Link(float16_int8_, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES);
  }
  if (IsRequested(Capability::kIntegerDotProduct) &&
      known(VK_API_VERSION_1_3, VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME)) {
    Link(integer_dot_, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES);
  }
  // Vulkan requires that it is enabled where it is supported. The features of its struct, which are
  // not enabled, concern graphics, image views of other formats, and events: kernels need none.
  if (has(kPortabilitySubset)) extensions_.push_back(kPortabilitySubset);
  // For the rounding mode of fp16 (pack/f16_rounding.h).
  known(VK_API_VERSION_1_2, VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME);
  // Cooperative matrix kernels require the Vulkan memory model and a fixed subgroup size.
  if (IsRequested(Capability::kCooperativeMatrix) && api_version >= VK_API_VERSION_1_2 &&
      has(kCooperativeMatrixExtension) &&
      known(VK_API_VERSION_1_3, VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME)) {
    extensions_.push_back(kCooperativeMatrixExtension);
    Link(cooperative_matrix_, kCooperativeMatrixType);
    Link(subgroup_size_, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES);
    Link(memory_model_, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES);
    if (IsRequested(Capability::kBFloat16Matrix) && known(/*version=*/0, kShaderBFloat16Extension))
      Link(bfloat16_, kBFloat16Type);
  }
}

void FeatureChain::Query(const InstanceFunctions& fn, VkPhysicalDevice device) {
  fn.vkGetPhysicalDeviceFeatures2(device, &core_);
}

void FeatureChain::AddTo(VkPhysicalDeviceFeatures2& chain) {
  const uint64_t bits = Capabilities();
  auto* target = reinterpret_cast<VkBaseOutStructure*>(&chain);
  auto* source = reinterpret_cast<VkBaseOutStructure*>(&core_);
  const auto add = [&](const FeatureLocation& feature) {
    if ((bits & pack::CapabilityBit(feature.capability)) == 0) return;
    if (VkBaseOutStructure* version = *Find(target, feature.version_type)) {
      Enable(version, feature.version_offset);
      return;
    }
    VkBaseOutStructure** extension = Find(target, feature.type);
    if (*extension == nullptr) {
      VkBaseOutStructure** link = Find(source, feature.type);
      *extension = *link;
      *link = (*extension)->pNext;
      (*extension)->pNext = nullptr;
    }
    Enable(*extension, feature.offset);
  };
  for (const FeatureLocation& feature : kFeatures) add(feature);
  for (const FeatureLocation& feature : kRequirements) add(feature);
}

void FeatureChain::DisableUnrequested() {
  const auto kept = [this](VkBool32 supported, Capability capability) {
    return IsRequested(capability) ? supported : VK_FALSE;
  };
  VkPhysicalDeviceFeatures core{};
  core.shaderInt16 = kept(core_.features.shaderInt16, Capability::kShaderInt16);
  core.shaderInt64 = kept(core_.features.shaderInt64, Capability::kShaderInt64);
  core_.features = core;
  storage16_.uniformAndStorageBuffer16BitAccess = VK_FALSE;
  storage16_.storagePushConstant16 = VK_FALSE;
  storage16_.storageInputOutput16 = VK_FALSE;
  storage8_.uniformAndStorageBuffer8BitAccess = VK_FALSE;
  storage8_.storagePushConstant8 = VK_FALSE;
  float16_int8_.shaderFloat16 = kept(float16_int8_.shaderFloat16, Capability::kShaderFloat16);
  float16_int8_.shaderInt8 = kept(float16_int8_.shaderInt8, Capability::kShaderInt8);
  memory_model_.vulkanMemoryModelAvailabilityVisibilityChains = VK_FALSE;
  cooperative_matrix_.cooperativeMatrixRobustBufferAccess = VK_FALSE;
  bfloat16_.shaderBFloat16DotProduct = VK_FALSE;
  // With the memory model enabled, the atomics of all kernels need the scope of the device, too.
  if ((Capabilities() & pack::CapabilityBit(Capability::kCooperativeMatrix)) == 0) {
    memory_model_.vulkanMemoryModel = VK_FALSE;
    memory_model_.vulkanMemoryModelDeviceScope = VK_FALSE;
  }
}

uint64_t FeatureChain::Capabilities() const {
  uint64_t bits = 0;
  const auto add = [&bits](VkBool32 supported, Capability capability) {
    if (supported == VK_TRUE) bits |= pack::CapabilityBit(capability);
  };
  add(storage16_.storageBuffer16BitAccess, Capability::kStorageBuffer16Bit);
  add(storage8_.storageBuffer8BitAccess, Capability::kStorageBuffer8Bit);
  add(float16_int8_.shaderFloat16, Capability::kShaderFloat16);
  add(float16_int8_.shaderInt8, Capability::kShaderInt8);
  add(core_.features.shaderInt16, Capability::kShaderInt16);
  add(core_.features.shaderInt64, Capability::kShaderInt64);
  add(integer_dot_.shaderIntegerDotProduct, Capability::kIntegerDotProduct);
  const VkBool32 matrices =
      cooperative_matrix_.cooperativeMatrix & memory_model_.vulkanMemoryModel &
      memory_model_.vulkanMemoryModelDeviceScope & subgroup_size_.subgroupSizeControl &
      subgroup_size_.computeFullSubgroups;
  add(matrices, Capability::kCooperativeMatrix);
  add(matrices & bfloat16_.shaderBFloat16Type & bfloat16_.shaderBFloat16CooperativeMatrix,
      Capability::kBFloat16Matrix);
  return bits;
}

}  // namespace spirloom::vulkan
