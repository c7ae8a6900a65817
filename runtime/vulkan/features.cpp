#include "runtime/vulkan/features.h"

#include <algorithm>

#include "runtime/pack/capability.h"

namespace spirloom::vulkan {
namespace {

using pack::Capability;

constexpr const char* kCooperativeMatrixExtension = "VK_KHR_cooperative_matrix";
constexpr auto kCooperativeMatrixType = static_cast<VkStructureType>(1000506000);

}  // namespace

template <typename T>
void FeatureChain::Link(T& next, VkStructureType type) {
  next.sType = type;
  *tail_ = &next;
  tail_ = &next.pNext;
}

bool FeatureChain::Wants(Capability capability) const {
  return (wanted_ & pack::CapabilityBit(capability)) != 0;
}

FeatureChain::FeatureChain(uint32_t api_version, const std::vector<std::string>& extensions,
                           uint64_t wanted)
    : wanted_(wanted) {
  // Whether the struct is core since `version`, or else comes with `extension`.
  const auto known = [&](uint32_t version, const char* extension) {
    if (version != 0 && api_version >= version) return true;
    if (std::ranges::find(extensions, extension) == extensions.end()) return false;
    extensions_.push_back(extension);
    return true;
  };
  core_.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  if (Wants(Capability::kStorageBuffer16Bit)) {
    Link(storage16_, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES);
  }
  if (Wants(Capability::kStorageBuffer8Bit) &&
      known(VK_API_VERSION_1_2, VK_KHR_8BIT_STORAGE_EXTENSION_NAME)) {
    Link(storage8_, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES);
  }
  if ((Wants(Capability::kShaderFloat16) || Wants(Capability::kShaderInt8)) &&
      known(VK_API_VERSION_1_2, VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME)) {
    Link(float16_int8_, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES);
  }
  if (Wants(Capability::kIntegerDotProduct) &&
      known(VK_API_VERSION_1_3, VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME)) {
    Link(integer_dot_, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES);
  }
  // Cooperative matrix code is written in the Vulkan memory model.
  if (Wants(Capability::kCooperativeMatrix) && api_version >= VK_API_VERSION_1_2 &&
      known(0, kCooperativeMatrixExtension)) {
    Link(cooperative_matrix_, kCooperativeMatrixType);
    Link(memory_model_, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES);
  }
}

void FeatureChain::Query(VkPhysicalDevice device) { vkGetPhysicalDeviceFeatures2(device, &core_); }

void FeatureChain::KeepWanted() {
  const auto kept = [this](VkBool32 supported, Capability capability) {
    return Wants(capability) ? supported : VK_FALSE;
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
  cooperative_matrix_.cooperativeMatrixRobustBufferAccess = VK_FALSE;
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
  add(cooperative_matrix_.cooperativeMatrix & memory_model_.vulkanMemoryModel,
      Capability::kCooperativeMatrix);
  return bits;
}

}  // namespace spirloom::vulkan
