// Vulkan buffers over memory of other processes and APIs, as inputs and outputs of models: file
// descriptors (VK_KHR_external_memory_fd, dma-buf) and Android's hardware buffers
// (VK_ANDROID_external_memory_android_hardware_buffer), e.g. of cameras and decoders.
//
//   const ExternalMemoryDevice device{vulkan_device, vkGetDeviceProcAddr};
//   SPIRLOOM_TRY_ASSIGN(const ImportedBuffer frame, ImportHardwareBuffer(device, hardware_buffer));
//   SPIRLOOM_TRY(model.BindInput(0, frame.range()));  // the model runs on an adopted device
//
// The CMake target is spirloom::external_memory. The application creates the device, with the
// extensions, and the runtime adopts it (spirloom/vulkan.h).
#ifndef SPIRLOOM_EXTERNAL_MEMORY_H_
#define SPIRLOOM_EXTERNAL_MEMORY_H_

#include <vulkan/vulkan_core.h>

#include <cstdint>

#include "spirloom/status.h"
#include "spirloom/vulkan.h"

struct AHardwareBuffer;  // android/hardware_buffer.h

namespace spirloom {

// The application's device. Must outlive the buffers.
struct ExternalMemoryDevice {
  VkDevice device = VK_NULL_HANDLE;
  PFN_vkGetDeviceProcAddr get_device_proc_addr = nullptr;
};

// Owns a buffer for transfers from and to imported memory, and a reference to this memory. Must
// outlive its use by models.
class ImportedBuffer {
 public:
  ImportedBuffer(ImportedBuffer&& other) noexcept;
  ImportedBuffer& operator=(ImportedBuffer&& other) noexcept;
  ~ImportedBuffer();

  VkBuffer buffer() const { return buffer_; }
  // The whole buffer, for Model::BindInput() and Model::BindOutput().
  ExternalBuffer range() const { return {buffer_, /*offset=*/0, size_}; }

 private:
  friend class Importer;
  explicit ImportedBuffer(const ExternalMemoryDevice& device) : device_(device) {}

  ExternalMemoryDevice device_;
  VkBuffer buffer_ = VK_NULL_HANDLE;
  VkDeviceMemory memory_ = VK_NULL_HANDLE;
  uint64_t size_ = 0;
};

// Import memory of `size` bytes. All fail with kUnsupported if the device lacks the extension or a
// usable memory type, and with the error of the failed Vulkan call. On success, the device owns the
// file descriptor; on failure, the caller does.

// A descriptor that another Vulkan device or process exported from memory of `memory_type`
// (VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT). `size` is the exporter's allocationSize.
Result<ImportedBuffer> ImportOpaqueFd(const ExternalMemoryDevice& device, int fd, uint64_t size,
                                      uint32_t memory_type);
// A dma-buf, e.g. of V4L2, DRM or GBM (VK_EXT_external_memory_dma_buf).
Result<ImportedBuffer> ImportDmaBuf(const ExternalMemoryDevice& device, int fd, uint64_t size);
// A hardware buffer of the format AHARDWAREBUFFER_FORMAT_BLOB, of which the device keeps a
// reference. The size is that of the allocation.
Result<ImportedBuffer> ImportHardwareBuffer(const ExternalMemoryDevice& device,
                                            AHardwareBuffer* buffer);

}  // namespace spirloom

#endif  // SPIRLOOM_EXTERNAL_MEMORY_H_
