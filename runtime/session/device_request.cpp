#include "runtime/base/guarded.h"
#include "runtime/ops/op_index.h"
#include "runtime/vulkan/features.h"
#include "runtime/vulkan/instance.h"
#include "runtime/vulkan/physical_device.h"
#include "spirloom/vulkan.h"

namespace spirloom {

struct DeviceRequest::State {
  vulkan::FeatureChain features;
};

Result<DeviceRequest> DeviceRequest::Create(std::span<const ShaderLibrary* const> libraries,
                                            VkInstance instance, uint32_t api_version,
                                            VkPhysicalDevice physical_device,
                                            PFN_vkGetInstanceProcAddr get_instance_proc_addr) {
  return Guarded([&]() -> Result<DeviceRequest> {
    SPIRLOOM_TRY_ASSIGN(const ops::OpIndex index,
                        ops::OpIndex::Create({libraries.begin(), libraries.end()}));
    SPIRLOOM_TRY_ASSIGN(
        const auto adopted,
        vulkan::Instance::Adopt({instance, api_version, get_instance_proc_addr}, {}));
    SPIRLOOM_TRY_ASSIGN(const vulkan::PhysicalDevice physical,
                        vulkan::DescribeDevice(*adopted, physical_device));
    std::unique_ptr<State> state(
        new State{vulkan::FeatureChain(physical.api_version, physical.extensions, index.needs())});
    state->features.Query(adopted->fn(), physical_device);
    state->features.DisableUnrequested();
    return DeviceRequest(std::move(state));
  });
}

DeviceRequest::DeviceRequest(std::unique_ptr<State> state) : state_(std::move(state)) {}
DeviceRequest::DeviceRequest(DeviceRequest&&) noexcept = default;
DeviceRequest& DeviceRequest::operator=(DeviceRequest&&) noexcept = default;
DeviceRequest::~DeviceRequest() = default;

void DeviceRequest::AddTo(VkPhysicalDeviceFeatures2& chain) { state_->features.AddTo(chain); }

const std::vector<const char*>& DeviceRequest::extensions() const {
  return state_->features.extensions();
}

}  // namespace spirloom
