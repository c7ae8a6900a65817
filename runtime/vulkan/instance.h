#ifndef SPIRLOOM_RUNTIME_VULKAN_INSTANCE_H_
#define SPIRLOOM_RUNTIME_VULKAN_INSTANCE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "runtime/base/host.h"
#include "runtime/vulkan/functions.h"
#include "runtime/vulkan/vk.h"

namespace spirloom::vulkan {

// The maximum Vulkan version that the runtime uses.
inline constexpr uint32_t kApiVersion = VK_API_VERSION_1_3;

struct InstanceOptions {
  // Enables VK_LAYER_KHRONOS_validation with synchronization validation.
  bool validation = false;
  // For all objects of the instance and its devices; null: the driver's allocator. Copied.
  const VkAllocationCallbacks* allocator = nullptr;
  Host host = {};
};

// The application's instance.
struct AdoptedInstance {
  VkInstance handle = VK_NULL_HANDLE;
  uint32_t api_version = 0;                 // VkApplicationInfo::apiVersion
  PFN_vkGetInstanceProcAddr get = nullptr;  // null: that of the Vulkan loader
};

// A VkInstance, its functions and, with validation, the messenger that counts and forwards
// messages. Its devices must be destroyed first. Neither movable nor copyable: the messenger points
// to it.
class Instance {
 public:
  // Fails with kUnavailable if there is no loader, if it is too old, or if validation is requested
  // and the layer is not installed.
  static Result<std::unique_ptr<Instance>> Create(const InstanceOptions& options);
  // Adopts the application's instance, which must outlive this object and is not destroyed by it.
  // Without validation.
  static Result<std::unique_ptr<Instance>> Adopt(const AdoptedInstance& adopted,
                                                 const InstanceOptions& options);

  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;
  ~Instance();

  VkInstance handle() const { return handle_; }
  const InstanceFunctions& fn() const { return functions_; }
  // A function that is not in the table, or null. Extension functions may be non-null although the
  // extension is not enabled.
  template <typename Function>
  Function Get(const char* name) const {
    return reinterpret_cast<Function>(get_(handle_, name));
  }
  // The version of the instance: an upper bound of the version that devices are used with.
  uint32_t api_version() const { return api_version_; }
  const VkAllocationCallbacks* allocator() const { return allocator_ ? &*allocator_ : nullptr; }
  const Host& host() const { return host_; }
  // Whether VK_EXT_debug_utils is enabled, so that objects can be named.
  bool debug_utils() const { return debug_utils_; }
  // Whether names and labels are requested although no tool is attached to the device.
  bool labels() const { return labels_; }
  // The destructor will not destroy the VkInstance, as one of its devices is leaked.
  void Leak() const { leaked_ = true; }
  // Number of warnings and errors of the validation layer.
  uint64_t message_count() const { return messages_.load(); }

 private:
  explicit Instance(const InstanceOptions& options);
  Status Initialize(bool validation);
  Status CreateMessenger();
  static VKAPI_ATTR VkBool32 VKAPI_CALL OnMessage(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                                  VkDebugUtilsMessageTypeFlagsEXT types,
                                                  const VkDebugUtilsMessengerCallbackDataEXT* data,
                                                  void* user);

  Host host_;
  std::optional<VkAllocationCallbacks> allocator_;
  PFN_vkGetInstanceProcAddr get_ = nullptr;
  VkInstance handle_ = VK_NULL_HANDLE;
  bool owned_ = true;
  mutable std::atomic<bool> leaked_ = false;
  uint32_t api_version_ = kApiVersion;
  InstanceFunctions functions_;
  VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
  bool debug_utils_ = false;
  bool labels_ = false;
  std::atomic<uint64_t> messages_{0};
};

}  // namespace spirloom::vulkan

#endif  // SPIRLOOM_RUNTIME_VULKAN_INSTANCE_H_
