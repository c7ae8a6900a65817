// Descriptor set layouts, pools and updates for sets of buffers and images.
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

VkDescriptorType ToDescriptorType(pack::BindingType type);

// What a pipeline is called with: its pipeline layout, and the layout of its one descriptor set.
struct BindingLayout {
  VkPipelineLayout pipeline = VK_NULL_HANDLE;
  VkDescriptorSetLayout set = VK_NULL_HANDLE;
};

// Makes each distinct layout once and owns them all. Thread-safe.
class LayoutCache {
 public:
  explicit LayoutCache(const Device& device) : device_(&device) {}

  // The layout with binding i of type types[i] and `push_bytes` of push constants (a multiple of
  // 4).
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

// How many sets and descriptors a pool must hold.
struct DescriptorCounts {
  uint32_t sets = 0;
  uint32_t storage_buffers = 0;
  uint32_t sampled_images = 0;
  uint32_t storage_images = 0;
  uint32_t texel_buffers = 0;

  // Counts one more set with these bindings.
  void Add(std::span<const pack::BindingType> types);
};

// Owns descriptor sets, which live as long as it does.
class DescriptorPool {
 public:
  static Result<DescriptorPool> Create(const Device& device, const DescriptorCounts& counts);

  Result<VkDescriptorSet> Allocate(VkDescriptorSetLayout layout);

 private:
  DescriptorPool() = default;
  DeviceHandle<VkDescriptorPool, &DeviceFunctions::vkDestroyDescriptorPool> handle_;
};

// What one binding refers to: `buffer` (a byte range), `view` or `texels`, by `type`.
struct Descriptor {
  pack::BindingType type = pack::BindingType::kStorageBuffer;
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceSize offset = 0;  // a multiple of minStorageBufferOffsetAlignment
  VkDeviceSize range = VK_WHOLE_SIZE;
  VkImageView view = VK_NULL_HANDLE;
  VkBufferView texels = VK_NULL_HANDLE;
};

// The descriptor of `size` bytes of a buffer from `offset` on, both multiples of 16, bound as
// `type`: a storage buffer or texels, whose view is added to `views` and must live as long as the
// descriptor. `offset` is one that the device lets bindings begin at.
Result<Descriptor> BufferDescriptor(const Buffer& buffer, VkDeviceSize offset, VkDeviceSize size,
                                    pack::BindingType type, std::vector<BufferView>& views);

// Writes binding i of `set` from descriptors[i].
void UpdateDescriptorSet(const Device& device, VkDescriptorSet set,
                         std::span<const Descriptor> descriptors);

}  // namespace spirloom::vulkan

#endif  // SPIRLOOM_RUNTIME_VULKAN_DESCRIPTORS_H_
