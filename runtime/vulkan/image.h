#ifndef SPIRLOOM_RUNTIME_VULKAN_IMAGE_H_
#define SPIRLOOM_RUNTIME_VULKAN_IMAGE_H_

#include "runtime/vulkan/device.h"
#include "runtime/vulkan/memory.h"
#include "runtime/vulkan/texture_limits.h"
#include "spirloom/types.h"

namespace spirloom::vulkan {

// The storage and sampled image of a texture tensor with its view, in layout GENERAL after an
// initial barrier from UNDEFINED. Destroyed by the destructor; the GPU must have finished using it.
class Image {
 public:
  // Extents in texels, all > 0; the depth of a texture2d is its number of layers. Fails with
  // kUnsupported beyond the device's limits, with kOutOfMemory.
  static Result<Image> Create(const Device& device, Storage storage, VkExtent3D extent,
                              VkFormat format);
  // Creates an image without memory and view, for Bind().
  static Result<Image> CreateUnbound(const Device& device, Storage storage, VkExtent3D extent,
                                     VkFormat format);

  // Binds the image to `memory`, which must outlive its use, at `offset`, and creates the view.
  Status Bind(const DeviceMemory& memory, VkDeviceSize offset);

  VkImage handle() const { return handle_.get(); }
  VkImageView view() const { return view_.get(); }
  Storage storage() const { return storage_; }
  VkExtent3D extent() const { return extent_; }
  VkFormat format() const { return format_; }
  const VkMemoryRequirements& requirements() const { return requirements_; }

 private:
  Image() = default;

  DeviceMemory memory_;  // empty if the memory is shared
  DeviceHandle<VkImage, &DeviceFunctions::vkDestroyImage> handle_;
  DeviceHandle<VkImageView, &DeviceFunctions::vkDestroyImageView> view_;
  Storage storage_ = Storage::kTexture3D;
  VkExtent3D extent_{};
  VkFormat format_ = VK_FORMAT_UNDEFINED;
  VkMemoryRequirements requirements_{};
};

}  // namespace spirloom::vulkan

#endif  // SPIRLOOM_RUNTIME_VULKAN_IMAGE_H_
