#ifndef SPIRLOOM_RUNTIME_VULKAN_PIPELINE_CACHE_H_
#define SPIRLOOM_RUNTIME_VULKAN_PIPELINE_CACHE_H_

#include <cstddef>
#include <span>
#include <string>

#include "runtime/vulkan/device.h"

namespace spirloom::vulkan {

// $XDG_CACHE_HOME/spirloom or ~/.cache/spirloom; empty when neither variable is set.
std::string DefaultCacheFolder();

// Part of the names of a device's files: a driver update starts afresh and devices do not fight.
std::string FileKey(const VkPhysicalDeviceProperties& properties);

// Whether `data` is a pipeline cache that this device's driver wrote: its header names the device.
bool IsOwnPipelineCache(const PhysicalDevice& device, std::span<const std::byte> data);

// A VkPipelineCache that lives in a file of its folder, named after the device and driver. A
// missing, corrupt or foreign file is ignored, and replaced at Save().
class PipelineCache {
 public:
  // Reads the file in `folder`; "" keeps the cache in memory only.
  static Result<PipelineCache> Create(const Device& device, const std::string& folder);

  PipelineCache(PipelineCache&&) noexcept = default;
  PipelineCache& operator=(PipelineCache&&) noexcept = default;

  VkPipelineCache handle() const { return handle_.get(); }
  // The file, or empty.
  const std::string& path() const { return path_; }
  // Bytes taken from the file at Create(); 0 when there was none to use.
  size_t loaded_size() const { return loaded_size_; }

  // Writes the file, replacing it as a whole, if the cache has grown since it was last read or
  // written. A folder that cannot be written is no error: the cache is an optimisation.
  // One call at a time.
  Status Save();

 private:
  PipelineCache() = default;
  DeviceHandle<VkPipelineCache, &DeviceFunctions::vkDestroyPipelineCache> handle_;
  std::string path_;
  size_t loaded_size_ = 0;
  size_t saved_size_ = 0;
};

}  // namespace spirloom::vulkan

#endif  // SPIRLOOM_RUNTIME_VULKAN_PIPELINE_CACHE_H_
