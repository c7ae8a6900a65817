#include "runtime/vulkan/pipeline_cache.h"

#include <cstring>
#include <vector>

#include "runtime/base/cache_file.h"
#include "runtime/base/text.h"

namespace spirloom::vulkan {
namespace {

// Returns the data of the cache; none if the driver returns them incompletely. Those are a valid
// cache by the specification, but damaged on drivers of Pixel 10 and Samsung's Xclipse.
Result<std::vector<std::byte>> ReadData(const Device& device, VkPipelineCache cache) {
  size_t size = 0;
  SPIRLOOM_TRY(
      ToStatus(device.fn().vkGetPipelineCacheData(device.handle(), cache, &size, /*pData=*/nullptr),
               "vkGetPipelineCacheData"));
  std::vector<std::byte> data(size);
  const VkResult result =
      device.fn().vkGetPipelineCacheData(device.handle(), cache, &size, data.data());
  if (result == VK_INCOMPLETE) return std::vector<std::byte>();
  SPIRLOOM_TRY(ToStatus(result, "vkGetPipelineCacheData"));
  data.resize(size);
  return data;
}

}  // namespace

std::string FileKey(const VkPhysicalDeviceProperties& properties) {
  return Format("{}-{}-{}-{}", Hex(properties.vendorID), Hex(properties.deviceID),
                Hex(properties.driverVersion), Hex(properties.pipelineCacheUUID));
}

bool IsOwnPipelineCache(const PhysicalDevice& device, std::span<const std::byte> data) {
  // VkPipelineCacheHeaderVersionOne with an integer instead of the enum: the file may contain any
  // value.
  struct Header {
    uint32_t size;
    uint32_t version;
    uint32_t vendor_id;
    uint32_t device_id;
    uint8_t uuid[VK_UUID_SIZE];
  };
  static_assert(sizeof(Header) == sizeof(VkPipelineCacheHeaderVersionOne));
  Header header{};
  if (data.size() < sizeof(header)) return false;
  std::memcpy(&header, data.data(), sizeof(header));
  const VkPhysicalDeviceProperties& properties = device.properties;
  return header.size == sizeof(header) && header.version == VK_PIPELINE_CACHE_HEADER_VERSION_ONE &&
         header.vendor_id == properties.vendorID && header.device_id == properties.deviceID &&
         std::memcmp(header.uuid, properties.pipelineCacheUUID, VK_UUID_SIZE) == 0;
}

Result<PipelineCache> PipelineCache::Create(const Device& device, const std::string& directory) {
  PipelineCache cache;
  std::vector<std::byte> data;
  if (!directory.empty()) {
    cache.path_ = Format("{}/pipelines-{}.bin", directory, FileKey(device.physical().properties));
    data = ReadCacheFile(cache.path_);
    if (!IsOwnPipelineCache(device.physical(), data)) data.clear();
  }
  VkPipelineCacheCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO;
  info.initialDataSize = data.size();
  info.pInitialData = data.data();
  VkPipelineCache handle = VK_NULL_HANDLE;
  SPIRLOOM_TRY(ToStatus(
      device.fn().vkCreatePipelineCache(device.handle(), &info, device.allocator(), &handle),
      "vkCreatePipelineCache"));
  cache.handle_ = {device, handle};
  cache.loaded_size_ = data.size();
  cache.saved_size_ = data.size();
  return cache;
}

Status PipelineCache::Save() {
  if (path_.empty()) return {};
  SPIRLOOM_TRY_ASSIGN(const std::vector<std::byte> data, ReadData(handle_.device(), handle_.get()));
  if (data.size() <= saved_size_) return {};
  if (WriteCacheFile(path_, data)) {
    saved_size_ = data.size();
  } else {
    handle_.device().host().Log(
        LogLevel::kWarning,
        "The pipeline cache '{}' cannot be written. Later processes compile the kernels again.",
        path_);
  }
  return {};
}

}  // namespace spirloom::vulkan
