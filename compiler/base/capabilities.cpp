#include "compiler/base/capabilities.h"

#include <cstddef>
#include <spirv/unified1/spirv.hpp>

#include "runtime/pack/capability.h"

namespace spirloom::compiler {
namespace {

using pack::Capability;
using pack::CapabilityBit;

}  // namespace

std::optional<Capability> ParseNeed(std::string_view name) {
  for (uint32_t i = 0; i < pack::kCapabilityCount; ++i) {
    const auto capability = static_cast<Capability>(i);
    if (name == pack::CapabilityName(capability)) return capability;
  }
  return std::nullopt;
}

std::string NeedNames(uint64_t needs) {
  std::string text;
  for (const std::string& name : pack::CapabilityNames(needs))
    text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "nothing" : text;
}

uint64_t WithImpliedNeeds(uint64_t needs) {
#define SPIRLOOM_CAPABILITY(id, name, implies, ...)      \
  if ((needs & CapabilityBit(Capability::k##id)) != 0) { \
    needs |= CapabilityBit(Capability::k##implies);      \
  }
#include "spec_model/capabilities.inc"
  return needs;
}

uint32_t SharedBytesOf(uint64_t needs) {
  needs = WithImpliedNeeds(needs);
  if ((needs & CapabilityBit(Capability::kSharedMemory48k)) != 0) return pack::kSharedBytes48k;
  if ((needs & CapabilityBit(Capability::kSharedMemory32k)) != 0) return pack::kSharedBytes32k;
  return pack::kMinSharedBytes;
}

uint64_t NeedOfSharedBytes(uint64_t bytes) {
  if (bytes <= pack::kMinSharedBytes) return 0;
  return CapabilityBit(bytes <= pack::kSharedBytes32k ? Capability::kSharedMemory32k
                                                      : Capability::kSharedMemory48k);
}

CapabilityNeed NeedOfSpirvCapability(uint32_t capability) {
  const auto need = [](Capability c) { return CapabilityNeed{true, CapabilityBit(c)}; };
  switch (capability) {
    // Every Vulkan device has these.
    case spv::CapabilityMatrix:
    case spv::CapabilityShader:
    case spv::CapabilitySampled1D:
    case spv::CapabilityImage1D:
    case spv::CapabilitySampledBuffer:
    case spv::CapabilityImageBuffer:
    case spv::CapabilityImageQuery:
    case spv::CapabilityDerivativeControl:
      return {true, 0};
#define SPIRLOOM_SPIRV_CAPABILITY(id, spirv) \
  case spv::Capability##spirv:               \
    return need(Capability::k##id);
#include "spec_model/capabilities.inc"
    // Unknown to the distribution's headers.
    case kCooperativeMatrixKhr:
      return need(Capability::kCooperativeMatrix);
    case kBFloat16TypeKhr:
    case kBFloat16CooperativeMatrixKhr:
      return need(Capability::kBFloat16Matrix);
    default:
      return {false, 0};
  }
}

std::string SpirvCapabilityName(uint32_t capability) {
  const std::string value = std::to_string(capability);
  switch (capability) {
    case spv::CapabilityFloat64:
      return "Float64 (" + value + ")";
    case spv::CapabilityUniformAndStorageBuffer16BitAccess:
      return "UniformAndStorageBuffer16BitAccess (" + value + ")";
    case spv::CapabilityStoragePushConstant16:
      return "StoragePushConstant16 (" + value + ")";
    case spv::CapabilityUniformAndStorageBuffer8BitAccess:
      return "UniformAndStorageBuffer8BitAccess (" + value + ")";
    case spv::CapabilityStoragePushConstant8:
      return "StoragePushConstant8 (" + value + ")";
    case spv::CapabilityGroupNonUniformShuffleRelative:
      return "GroupNonUniformShuffleRelative (" + value + ")";
    case spv::CapabilityGroupNonUniformClustered:
      return "GroupNonUniformClustered (" + value + ")";
    case spv::CapabilityGroupNonUniformQuad:
      return "GroupNonUniformQuad (" + value + ")";
    case spv::CapabilityStorageImageExtendedFormats:
      return "StorageImageExtendedFormats (" + value + ")";
    case spv::CapabilityStorageImageReadWithoutFormat:
      return "StorageImageReadWithoutFormat (" + value + ")";
    case spv::CapabilityStorageImageWriteWithoutFormat:
      return "StorageImageWriteWithoutFormat (" + value + ")";
    case spv::CapabilityCooperativeMatrixNV:
      return "CooperativeMatrixNV (" + value + ")";
    default:
      return value;
  }
}

}  // namespace spirloom::compiler
