#ifndef SPIRLOOM_RUNTIME_VULKAN_DEVICE_H_
#define SPIRLOOM_RUNTIME_VULKAN_DEVICE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/vulkan/functions.h"
#include "runtime/vulkan/physical_device.h"
#include "runtime/vulkan/vk.h"

namespace spirloom::vulkan {

// Numbers of expensive operations since the creation of a device. A run of a model changes only
// `submits`.
struct DeviceCounters {
  std::atomic<uint64_t> memory_allocations{0};
  std::atomic<uint64_t> memory_frees{0};
  std::atomic<uint64_t> allocated_bytes{0};  // currently
  std::atomic<uint64_t> peak_bytes{0};       // maximum of allocated_bytes
  std::atomic<uint64_t> recordings{0};       // begun command buffers
  std::atomic<uint64_t> descriptor_updates{0};
  std::atomic<uint64_t> pipelines{0};
  std::atomic<uint64_t> submits{0};
};

// Bytes of device memory that can still be allocated: what the driver reports for this process
// (VK_EXT_memory_budget), or the size of the heaps without the bytes in use; at most what remains
// of RuntimeOptions::memory_limit.
struct FreeMemory {
  uint64_t local = 0;  // in the device-local heap with the most free memory
  uint64_t total = 0;  // in all heaps, also those of the host
};

// Options for the creation of a device.
struct DeviceOptions {
  bool import_host_memory = false;
  Priority priority = Priority::kDefault;
};

// An owned or adopted VkDevice with one compute queue and a function table. All objects created
// from it must be destroyed first. Thread-safe.
class Device {
 public:
  // Creates a device with those of `capabilities` (bits, pack::Capability) that the physical device
  // supports. Other features remain disabled, so that they cannot trigger driver or layer problems;
  // buffer access is not robust. `instance` must outlive the device.
  static Result<std::unique_ptr<Device>> Create(const Instance& instance, PhysicalDevice physical,
                                                uint64_t capabilities,
                                                const DeviceOptions& options = {});
  // Adopts the application's device, which must outlive this object and is not destroyed by it.
  // Fails with kUnsupported; the message lists all missing requirements.
  static Result<std::unique_ptr<Device>> Adopt(const Instance& instance, PhysicalDevice physical,
                                               const AdoptedDevice& adopted, uint64_t capabilities);

  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  ~Device();

  VkDevice handle() const { return handle_; }
  const DeviceFunctions& fn() const { return functions_; }
  const VkAllocationCallbacks* allocator() const { return instance_.allocator(); }
  const Host& host() const { return instance_.host(); }
  // Whether the device belongs to the application, which can create objects of it.
  bool adopted() const { return adopted_; }
  bool timeline_semaphores() const { return timeline_semaphores_; }
  // vkGetMemoryHostPointerPropertiesEXT, or null if host memory cannot be imported.
  PFN_vkGetMemoryHostPointerPropertiesEXT host_pointer_properties() const {
    return host_pointer_properties_;
  }
  const PhysicalDevice& physical() const { return physical_; }
  const VkPhysicalDeviceLimits& limits() const { return physical_.properties.limits; }
  // The enabled capabilities.
  uint64_t capabilities() const { return capabilities_; }
  uint32_t queue_family() const { return *physical_.queue_family; }
  bool unified_memory() const { return physical_.unified_memory(); }
  DeviceCounters& counters() const { return counters_; }
  FreeMemory free_memory() const;

  // Submits one recorded command buffer; signals `fence`, if any, when it has completed.
  Status Submit(VkCommandBuffer commands, VkFence fence) const;
  // Submits `info` including its pNext chain.
  Status Submit(const VkSubmitInfo& info, VkFence fence) const;
  // Submits and waits. Also after a failure, the command buffer is no longer in use, unless the
  // device is abandoned.
  Status SubmitAndWait(VkCommandBuffer commands) const;

  // ToStatus() for functions that may return VK_ERROR_DEVICE_LOST, which marks the device as lost.
  Status Check(VkResult result, std::string_view function) const;
  // Fails with kDeviceLost and the remedy if the device is lost.
  Status CheckAlive() const;
  // Called after a failed wait for `fence`: waits again. Returns false if its submission may still
  // be running; the device is then lost, and possibly abandoned.
  bool WaitAgain(VkFence fence, VkResult failure) const noexcept;
  // Waits for all submissions so far, by `fence`, which must not be in use: never under the lock of
  // an adopted queue, which the application may need for work that precedes. Returns as above.
  bool DrainQueue(VkFence fence) const noexcept;
  // True if waiting for the GPU failed, so submitted work may still be running. Vulkan objects are
  // then leaked instead of destroyed.
  bool abandoned() const { return abandoned_; }

  // Names an object in validation messages; does nothing unless a tool uses names.
  template <typename Handle>
  void SetName(VkObjectType type, Handle handle, const std::string& name) const {
    if (set_object_name_ == nullptr) return;
    SetObjectName(type, (uint64_t)handle, name);  // NOLINT: a pointer or an integer
  }

  // Open and close a labeled range of commands, for debuggers and profilers; do nothing
  // unless a tool uses labels (HasDebugTool(), Instance::labels()).
  void BeginLabel(VkCommandBuffer commands, const std::string& label) const;
  void EndLabel(VkCommandBuffer commands) const;

 private:
  class QueueLock;
  Device(const Instance& instance, PhysicalDevice&& physical, uint64_t capabilities);
  Status Initialize(VkDevice handle, bool import_host_memory);
  // Signals `fence` when all submissions so far have completed.
  VkResult SubmitFence(VkFence fence) const;
  // Repeats a failed call, with pauses. Returns whether it succeeds; otherwise the device is lost.
  template <typename Call>
  bool Repeat(VkResult failure, Call call) const noexcept;
  // What VK_EXT_device_fault reports about a lost device, after a space; empty without it.
  std::string FaultDescription() const noexcept;
  void SetObjectName(VkObjectType type, uint64_t handle, const std::string& name) const;

  const Instance& instance_;
  PhysicalDevice physical_;
  uint64_t capabilities_;
  bool adopted_ = false;
  bool timeline_semaphores_ = false;
  VkDevice handle_ = VK_NULL_HANDLE;
  VkQueue queue_ = VK_NULL_HANDLE;
  DeviceFunctions functions_{};
  // Null unless a tool uses names and labels.
  PFN_vkSetDebugUtilsObjectNameEXT set_object_name_ = nullptr;
  PFN_vkCmdBeginDebugUtilsLabelEXT begin_label_ = nullptr;
  PFN_vkCmdEndDebugUtilsLabelEXT end_label_ = nullptr;
  PFN_vkGetMemoryHostPointerPropertiesEXT host_pointer_properties_ = nullptr;
  std::function<void()> lock_queue_;  // of an adopted device; called with queue_mutex_ held
  std::function<void()> unlock_queue_;
  mutable std::mutex queue_mutex_;
  mutable std::atomic<bool> lost_ = false;
  mutable std::atomic<bool> abandoned_ = false;
  mutable DeviceCounters counters_;
};

// Owns one Vulkan object of a device; the GPU must have finished using it. Movable; then empty.
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
    if (handle_ != VK_NULL_HANDLE && !device_->abandoned()) {
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
