#include "tools/amber/amber_features.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "runtime/pack/spirv_words.h"

namespace spirloom::tools {
namespace {

struct Feature {
  uint32_t capability;  // as numbered by the SPIR-V specification
  std::string_view name;
};

constexpr std::array kFeatures{
    Feature{9, "Float16Int8Features.shaderFloat16"},
    Feature{10, "shaderFloat64"},
    Feature{11, "shaderInt64"},
    Feature{22, "shaderInt16"},
    Feature{39, "Float16Int8Features.shaderInt8"},
    Feature{61, "SubgroupSupportedOperations.basic"},
    Feature{62, "SubgroupSupportedOperations.vote"},
    Feature{63, "SubgroupSupportedOperations.arithmetic"},
    Feature{64, "SubgroupSupportedOperations.ballot"},
    Feature{65, "SubgroupSupportedOperations.shuffle"},
    Feature{66, "SubgroupSupportedOperations.shuffleRelative"},
    Feature{67, "SubgroupSupportedOperations.clustered"},
    Feature{4433, "Storage16BitFeatures.storageBuffer16BitAccess"},
    Feature{4434, "Storage16BitFeatures.uniformAndStorageBuffer16BitAccess"},
    Feature{4448, "Storage8BitFeatures.storageBuffer8BitAccess"},
    Feature{5345, "VulkanMemoryModelFeatures.vulkanMemoryModel"},
    Feature{5346, "VulkanMemoryModelFeatures.vulkanMemoryModelDeviceScope"},
    Feature{6022, "CooperativeMatrixFeaturesKHR.cooperativeMatrix"},
};

}  // namespace

std::vector<std::string> AmberFeaturesOf(std::span<const uint32_t> module) {
  namespace spirv = pack::spirv;
  std::vector<std::string> lines;
  spirv::ForEachInstruction(module, [&](uint32_t opcode, std::span<const uint32_t> words) {
    if (opcode != spirv::kOpCapability || words.size() < 2) return opcode == spirv::kOpCapability;
    const auto* const found = std::ranges::find(kFeatures, words[1], &Feature::capability);
    if (found != kFeatures.end()) lines.push_back("DEVICE_FEATURE " + std::string(found->name));
    return true;
  });
  return lines;
}

}  // namespace spirloom::tools
