// Descriptor set layouts, pools and updates.
#ifndef SPIRLOOM_RUNTIME_VULKAN_DESCRIPTORS_H_
#define SPIRLOOM_RUNTIME_VULKAN_DESCRIPTORS_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <vector>

#include "runtime/pack/pack_format.h"
#include "runtime/vulkan/buffer.h"
#include "runtime/vulkan/device.h"

namespace spirloom::vulkan {

// VK_DESCRIPTOR_TYPE_MAX_ENUM for kAbsent.
VkDescriptorType ToDescriptorType(pack::BindingType type);

// The pipeline layout of a pipeline, and the layout of its only descriptor set.
struct BindingLayout {
  VkPipelineLayout pipeline = VK_NULL_HANDLE;
  VkDescriptorSetLayout set = VK_NULL_HANDLE;
};

// Creates each distinct layout once and owns them. Thread-safe.
class LayoutCache {
 public:
  explicit LayoutCache(const Device& device) : device_(&device) {}

  // Returns the layout with binding i of type types[i], unless it is absent, and `push_bytes` of
  // push constants, a multiple of 4.
  Result<BindingLayout> Get(std::span<const pack::BindingType> types, uint32_t push_bytes);

 private:
  using SetLayout =
      DeviceHandle<VkDescriptorSetLayout, &DeviceFunctions::vkDestroyDescriptorSetLayout>;
  using Layout = DeviceHandle<VkPipelineLayout, &DeviceFunctions::vkDestroyPipelineLayout>;
  using Types = std::vector<pack::BindingType>;

  Result<VkDescriptorSetLayout> GetSet(const Types& types);

  const Device* device_;
  std::mutex mutex_;
  std::map<Types, SetLayout> sets_;
  std::map<std::pair<Types, uint32_t>, Layout> layouts_;
};

// The numbers of sets and descriptors in a pool.
struct DescriptorCounts {
  uint32_t sets = 0;
  uint32_t storage_buffers = 0;
  uint32_t sampled_images = 0;
  uint32_t storage_images = 0;
  uint32_t texel_buffers = 0;

  // Adds a set with these bindings.
  void Add(std::span<const pack::BindingType> types);
};

// Owns descriptor sets; they are freed with the pool.
class DescriptorPool {
 public:
  static Result<DescriptorPool> Create(const Device& device, const DescriptorCounts& counts);

  Result<VkDescriptorSet> Allocate(VkDescriptorSetLayout layout);

 private:
  DescriptorPool() = default;
  DeviceHandle<VkDescriptorPool, &DeviceFunctions::vkDestroyDescriptorPool> handle_;
};

// The resource of one binding: `buffer` with a byte range, `view` or `texels`, depending on `type`.
struct Descriptor {
  pack::BindingType type = pack::BindingType::kStorageBuffer;
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceSize offset = 0;  // a multiple of minStorageBufferOffsetAlignment
  VkDeviceSize range = VK_WHOLE_SIZE;
  VkImageView view = VK_NULL_HANDLE;
  VkBufferView texels = VK_NULL_HANDLE;
};

// The descriptor of `size` bytes of a buffer from `offset`, both multiples of 16, bound as `type`:
// a storage buffer or texels. A texel view is appended to `views` and must outlive the descriptor.
// `offset` must meet the device's alignment.
Result<Descriptor> BufferDescriptor(const Buffer& buffer, VkDeviceSize offset, VkDeviceSize size,
                                    pack::BindingType type, std::vector<BufferView>& views);

// Writes binding i of `set` from descriptors[i], unless it is absent.
void UpdateDescriptorSet(const Device& device, VkDescriptorSet set,
                         std::span<const Descriptor> descriptors);

}  // namespace spirloom::vulkan

#endif  // SPIRLOOM_RUNTIME_VULKAN_DESCRIPTORS_H_
