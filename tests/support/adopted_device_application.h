// An application with its own Vulkan instance and device, with validation layers.
#ifndef SPIRLOOM_TESTS_SUPPORT_ADOPTED_DEVICE_APPLICATION_H_
#define SPIRLOOM_TESTS_SUPPORT_ADOPTED_DEVICE_APPLICATION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/vulkan/functions.h"
#include "spirloom/vulkan.h"

namespace spirloom::testing {

// A mapped transfer buffer, freed by its Application.
struct HostBuffer {
  VkBuffer buffer = VK_NULL_HANDLE;
  void* mapped = nullptr;
  float* floats() const { return static_cast<float*>(mapped); }
};

// A mapped allocation, freed by its Application, and a file descriptor that refers to it, which
// belongs to the caller.
struct ExportedBuffer {
  void* mapped = nullptr;
  int fd = -1;
  uint64_t size = 0;  // bytes
  uint32_t memory_type = 0;
};

// Owns all Vulkan objects that it creates.
class Application {
 public:
  // Null if the device, the validation layer or timeline semaphores are missing.
  static std::unique_ptr<Application> Create();
  Application(const Application&) = delete;
  Application& operator=(const Application&) = delete;
  ~Application();

  AdoptedDevice Adoptable();
  VkDevice device() const { return device_; }
  PFN_vkGetDeviceProcAddr get_device_proc_addr() const { return functions_.vkGetDeviceProcAddr; }
  // Whether the device has VK_KHR_external_memory_fd.
  bool exports_fds() const { return exports_fds_; }
  // The validation messages so far.
  const std::vector<std::string>& messages() const { return messages_; }
  int locks() const { return locks_; }
  bool locked() const { return locked_; }

  HostBuffer MakeBuffer(VkDeviceSize size);
  // Allocates memory for a buffer of `size` bytes and exports it; requires exports_fds().
  ExportedBuffer ExportBuffer(VkDeviceSize size);
  VkSemaphore MakeTimeline();
  VkSemaphore MakeBinary();
  // Submits a copy of `size` bytes, which waits for and signals the semaphores.
  void Copy(const HostBuffer& source, VkDeviceSize source_offset, const HostBuffer& target,
            VkDeviceSize target_offset, VkDeviceSize size, std::optional<SemaphorePoint> wait,
            std::optional<SemaphorePoint> signal);
  void WaitFor(VkSemaphore timeline, uint64_t value);

 private:
  Application() = default;
  bool MakeInstance();
  bool MakeDevice();
  // Allocates mapped memory for the buffer; `next` is VkMemoryAllocateInfo::pNext.
  VkMemoryAllocateInfo Allocate(VkBuffer buffer, const void* next, void** mapped);
  template <typename Function>
  Function Get(const char* name) const {
    return reinterpret_cast<Function>(get_(instance_, name));
  }
  VkSemaphore MakeSemaphore(const void* next);

  PFN_vkGetInstanceProcAddr get_ = nullptr;
  VkInstance instance_ = VK_NULL_HANDLE;
  VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
  vulkan::InstanceFunctions functions_;
  VkPhysicalDevice physical_ = VK_NULL_HANDLE;
  uint32_t family_ = 0;
  VkPhysicalDeviceVulkan11Features features11_{};
  VkPhysicalDeviceVulkan12Features features12_{};
  VkPhysicalDeviceFeatures2 features_{};
  std::vector<const char*> extensions_;
  VkDevice device_ = VK_NULL_HANDLE;
  vulkan::DeviceFunctions fn_;
  VkQueue queue_ = VK_NULL_HANDLE;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  std::vector<VkBuffer> buffers_;
  std::vector<VkDeviceMemory> memories_;
  std::vector<VkSemaphore> semaphores_;
  std::vector<std::string> messages_;
  bool exports_fds_ = false;
  int locks_ = 0;
  bool locked_ = false;
};

}  // namespace spirloom::testing

#endif  // SPIRLOOM_TESTS_SUPPORT_ADOPTED_DEVICE_APPLICATION_H_
