#ifndef SPIRLOOM_RUNTIME_VULKAN_PIPELINE_CACHE_H_
#define SPIRLOOM_RUNTIME_VULKAN_PIPELINE_CACHE_H_

#include <cstddef>
#include <span>
#include <string>

#include "runtime/vulkan/device.h"

namespace spirloom::vulkan {

// $XDG_CACHE_HOME/spirloom or ~/.cache/spirloom; "" if neither variable is set. On Windows,
// %LOCALAPPDATA%\spirloom\cache.
std::string DefaultCacheDirectory();

// Identifies device and driver in file names, so that each driver version has its own files.
std::string FileKey(const VkPhysicalDeviceProperties& properties);

// Whether `data` is a pipeline cache of this device and driver, according to its header.
bool IsOwnPipelineCache(const PhysicalDevice& device, std::span<const std::byte> data);

// A VkPipelineCache backed by a file, whose name contains the device and driver. Missing, corrupt
// and incompatible files are ignored, and replaced by Save().
class PipelineCache {
 public:
  // Reads the file in `directory`; "": the cache is in memory only.
  static Result<PipelineCache> Create(const Device& device, const std::string& directory);

  PipelineCache(PipelineCache&&) noexcept = default;
  PipelineCache& operator=(PipelineCache&&) noexcept = default;

  VkPipelineCache handle() const { return handle_.get(); }
  // The path of the file, or "".
  const std::string& path() const { return path_; }
  // Bytes read from the file by Create(); 0 if there was no valid file.
  size_t loaded_size() const { return loaded_size_; }

  // Replaces the file if the cache has grown since it was read or written. Not an error: a
  // directory that is not writable, or a cache larger than kMaxCacheBytes, which is not written.
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
