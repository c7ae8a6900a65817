// A device whose driver reports the statistics of compiled pipelines.
#ifndef SPIRLOOM_TOOLS_SHADER_STATS_STATISTICS_DEVICE_H_
#define SPIRLOOM_TOOLS_SHADER_STATS_STATISTICS_DEVICE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/vulkan/device.h"
#include "runtime/vulkan/instance.h"
#include "spirloom/status.h"

namespace spirloom::tools {

// A VkDevice with VK_KHR_pipeline_executable_properties. It only compiles pipelines: a device
// without hardware is sufficient, such as that of Mesa's RADV_FORCE_FAMILY.
class StatisticsDevice {
 public:
  // `choice` as RuntimeOptions::device. Enables those of `capabilities` (bits, pack::Capability)
  // that the device supports. Fails with kUnsupported without the extension.
  static Result<std::unique_ptr<StatisticsDevice>> Create(const std::string& choice,
                                                          uint64_t capabilities);

  StatisticsDevice(const StatisticsDevice&) = delete;
  StatisticsDevice& operator=(const StatisticsDevice&) = delete;
  ~StatisticsDevice();

  const vulkan::Device& device() const { return *device_; }
  PFN_vkGetPipelineExecutablePropertiesKHR executables() const { return executables_; }
  PFN_vkGetPipelineExecutableStatisticsKHR statistics() const { return statistics_; }

 private:
  StatisticsDevice() = default;
  Status CreateDevice(const vulkan::PhysicalDevice& physical, uint64_t capabilities);

  std::unique_ptr<vulkan::Instance> instance_;
  VkDevice handle_ = VK_NULL_HANDLE;
  PFN_vkDestroyDevice destroy_ = nullptr;
  std::unique_ptr<vulkan::Device> device_;  // adopts `handle_`
  PFN_vkGetPipelineExecutablePropertiesKHR executables_ = nullptr;
  PFN_vkGetPipelineExecutableStatisticsKHR statistics_ = nullptr;
};

}  // namespace spirloom::tools

#endif  // SPIRLOOM_TOOLS_SHADER_STATS_STATISTICS_DEVICE_H_
