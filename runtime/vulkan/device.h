#ifndef SPIRLOOM_RUNTIME_VULKAN_DEVICE_H_
#define SPIRLOOM_RUNTIME_VULKAN_DEVICE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>

#include "runtime/vulkan/functions.h"
#include "runtime/vulkan/physical_device.h"
#include "runtime/vulkan/vk.h"

namespace spirloom::vulkan {

// How often costly things have happened on a device since it was created. Running a model must
// change none but `submits`.
struct DeviceCounters {
  std::atomic<uint64_t> memory_allocations{0};
  std::atomic<uint64_t> memory_frees{0};
  std::atomic<uint64_t> allocated_bytes{0};  // now, not in total
  std::atomic<uint64_t> peak_bytes{0};       // the most of it so far
  std::atomic<uint64_t> recordings{0};       // command buffers begun
  std::atomic<uint64_t> descriptor_updates{0};
  std::atomic<uint64_t> pipelines{0};
  std::atomic<uint64_t> submits{0};
};

// By how many bytes a view of texels may exceed the tensor that it shows.
inline constexpr uint64_t kTexelSlack = 768;

// A VkDevice, its own or the application's, with one compute queue and a function table. Every
// object below is made from a Device and must be destroyed before it. Thread-safe.
class Device {
 public:
  // Enables those of `capabilities` (bits, pack::Capability) that the physical device reports, and
  // nothing else: what is not enabled cannot trouble drivers and layers. Buffer access is not
  // robust. `instance` must outlive the device.
  static Result<std::unique_ptr<Device>> Create(const Instance& instance,
                                                const PhysicalDevice& physical,
                                                uint64_t capabilities,
                                                bool import_host_memory = false);
  // Uses `adopted`, which must outlive it and is not destroyed with it. Fails with kUnsupported,
  // listing all that it lacks.
  static Result<std::unique_ptr<Device>> Adopt(const Instance& instance,
                                               const PhysicalDevice& physical,
                                               const AdoptedDevice& adopted, uint64_t capabilities);

  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  ~Device();

  VkDevice handle() const { return handle_; }
  const DeviceFunctions& fn() const { return functions_; }
  const VkAllocationCallbacks* allocator() const { return instance_.allocator(); }
  const Host& host() const { return instance_.host(); }
  // Whether the application can make objects of this device.
  bool adopted() const { return adopted_; }
  bool timeline_semaphores() const { return timeline_semaphores_; }
  // vkGetMemoryHostPointerPropertiesEXT, or null where host memory cannot be imported.
  PFN_vkGetMemoryHostPointerPropertiesEXT host_pointer_properties() const {
    return host_pointer_properties_;
  }
  const PhysicalDevice& physical() const { return physical_; }
  const VkPhysicalDeviceLimits& limits() const { return physical_.properties.limits; }
  // Those that are enabled.
  uint64_t capabilities() const { return capabilities_; }
  uint32_t queue_family() const { return *physical_.queue_family; }
  bool unified_memory() const { return physical_.unified_memory(); }
  // Whether kernels should read buffers as texels: software devices fetch those faster. Views of
  // single numbers must reach as far as storage buffers do.
  bool prefers_texels() const {
    return physical_.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU &&
           uint64_t{limits().maxTexelBufferElements} * 4 >=
               uint64_t{limits().maxStorageBufferRange} + kTexelSlack;
  }
  DeviceCounters& counters() const { return counters_; }

  // Submits one recorded command buffer; `fence`, if any, is signalled when it is done.
  Status Submit(VkCommandBuffer commands, VkFence fence) const;
  // Submits what `info` says, its pNext included.
  Status Submit(const VkSubmitInfo& info, VkFence fence) const;
  // Submits and waits until it is done.
  Status SubmitAndWait(VkCommandBuffer commands) const;
  Status WaitIdle() const;

  // Names an object in validation messages; nothing without debug utils.
  template <typename Handle>
  void SetName(VkObjectType type, Handle handle, const std::string& name) const {
    if (set_object_name_ == nullptr) return;
    SetObjectName(type, (uint64_t)handle, name);  // NOLINT: a pointer or an integer
  }

 private:
  class QueueLock;
  Device(const Instance& instance, const PhysicalDevice& physical, uint64_t capabilities);
  Status Initialize(VkDevice handle, bool import_host_memory);
  void SetObjectName(VkObjectType type, uint64_t handle, const std::string& name) const;

  const Instance& instance_;
  PhysicalDevice physical_;
  uint64_t capabilities_;
  bool adopted_ = false;
  bool timeline_semaphores_ = false;
  VkDevice handle_ = VK_NULL_HANDLE;
  VkQueue queue_ = VK_NULL_HANDLE;
  DeviceFunctions functions_{};
  PFN_vkSetDebugUtilsObjectNameEXT set_object_name_ = nullptr;  // null without debug utils
  PFN_vkGetMemoryHostPointerPropertiesEXT host_pointer_properties_ = nullptr;
  std::function<void()> lock_queue_;  // of an adopted device, with queue_mutex_ held
  std::function<void()> unlock_queue_;
  mutable std::mutex queue_mutex_;
  mutable DeviceCounters counters_;
};

// Owns one Vulkan object of a device. Moves; empty after a move.
template <typename T, auto kDestroy>
class DeviceHandle {
 public:
  DeviceHandle() = default;
  DeviceHandle(const Device& device, T handle) : device_(&device), handle_(handle) {}
  DeviceHandle(DeviceHandle&& other) noexcept { swap(other); }
  DeviceHandle& operator=(DeviceHandle&& other) noexcept {
    DeviceHandle(std::move(other)).swap(*this);
    return *this;
  }
  ~DeviceHandle() {
    if (handle_ != VK_NULL_HANDLE) {
      (device_->fn().*kDestroy)(device_->handle(), handle_, device_->allocator());
    }
  }

  T get() const { return handle_; }
  const Device& device() const { return *device_; }

 private:
  void swap(DeviceHandle& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(handle_, other.handle_);
  }

  const Device* device_ = nullptr;
  T handle_ = VK_NULL_HANDLE;
};

}  // namespace spirloom::vulkan

#endif  // SPIRLOOM_RUNTIME_VULKAN_DEVICE_H_
