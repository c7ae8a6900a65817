// Host access to the memory of single tensors on a device, for checks of its contents.
#ifndef SPIRLOOM_TOOLS_RACES_TENSOR_MEMORY_H_
#define SPIRLOOM_TOOLS_RACES_TENSOR_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "runtime/graph/memory/tensor_store.h"
#include "runtime/vulkan/buffer.h"
#include "runtime/vulkan/command_buffer.h"
#include "runtime/vulkan/device.h"
#include "runtime/vulkan/fence.h"
#include "spirloom/status.h"
#include "spirloom/types.h"

namespace spirloom::tools {

// A command buffer, a fence and a host-visible buffer, reused for many tensors because an
// allocation takes milliseconds on GPUs. Must not outlive the device.
class Scratch {
 public:
  explicit Scratch(const vulkan::Device& device) : device_(device) {}

  // Records commands with `record`, submits them, and waits for completion.
  Status Execute(const std::function<void(vulkan::CommandBuffer&)>& record);
  // A host-visible buffer of at least `size` bytes, valid until the next call.
  Result<const vulkan::Buffer*> Bytes(uint64_t size);

  const vulkan::DeviceFunctions& fn() const { return device_.fn(); }

 private:
  const vulkan::Device& device_;
  std::optional<vulkan::CommandBuffer> commands_;
  std::optional<vulkan::Fence> fence_;
  std::optional<vulkan::Buffer> bytes_;
};

// Records a barrier that makes all earlier writes available to all later accesses.
void FullBarrier(vulkan::CommandBuffer& commands,
                 std::span<const VkImageMemoryBarrier> images = {});

// The transition of an image between layouts, for FullBarrier().
VkImageMemoryBarrier Transition(VkImage image, VkImageLayout from, VkImageLayout to);

// The number of bytes of a tensor's memory: the entire VkBuffer with the margins of a TensorWatch,
// or all texels.
uint64_t MemoryBytes(const graph::TensorResource& resource, DType dtype);

// Sets all bytes of a tensor's memory to `value`. An image is then in VK_IMAGE_LAYOUT_GENERAL.
Status FillMemory(Scratch& scratch, const graph::TensorResource& resource, DType dtype,
                  std::byte value);

// Returns bytes [offset, offset + size) of a tensor's memory, valid until the next use of
// `scratch`. An image must be in VK_IMAGE_LAYOUT_GENERAL.
Result<std::span<const std::byte>> ReadMemory(Scratch& scratch,
                                              const graph::TensorResource& resource, DType dtype,
                                              uint64_t offset, uint64_t size);

}  // namespace spirloom::tools

#endif  // SPIRLOOM_TOOLS_RACES_TENSOR_MEMORY_H_
