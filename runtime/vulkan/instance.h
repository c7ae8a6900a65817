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

// The newest version that is used where a device has it.
inline constexpr uint32_t kApiVersion = VK_API_VERSION_1_3;

struct InstanceOptions {
  // Turns on VK_LAYER_KHRONOS_validation with synchronisation validation.
  bool validation = false;
  // For every object of the instance and its devices; null: the driver's. Copied.
  const VkAllocationCallbacks* allocator = nullptr;
  Host host = {};
};

// An instance of the application's.
struct AdoptedInstance {
  VkInstance handle = VK_NULL_HANDLE;
  uint32_t api_version = 0;                 // that it was made for
  PFN_vkGetInstanceProcAddr get = nullptr;  // null: the loader's
};

// A VkInstance, its functions and, with validation, the messenger that counts messages and passes
// them on. Devices made from it must be destroyed first. Neither moves nor copies: the messenger
// points into it.
class Instance {
 public:
  // Fails with kUnavailable when the loader is absent or too old or the validation layer is asked
  // for and not installed.
  static Result<std::unique_ptr<Instance>> Create(const InstanceOptions& options);
  // Uses `adopted`, which must outlive it and is not destroyed with it; without validation.
  static Result<std::unique_ptr<Instance>> Adopt(const AdoptedInstance& adopted,
                                                 const InstanceOptions& options);

  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;
  ~Instance();

  VkInstance handle() const { return handle_; }
  const InstanceFunctions& fn() const { return functions_; }
  // A function that is not in the table, or null; of an extension it may be there without it.
  template <typename Function>
  Function Get(const char* name) const {
    return reinterpret_cast<Function>(get_(handle_, name));
  }
  // What it was made for: devices must not be used beyond this version.
  uint32_t api_version() const { return api_version_; }
  const VkAllocationCallbacks* allocator() const { return allocator_ ? &*allocator_ : nullptr; }
  const Host& host() const { return host_; }
  // Whether VK_EXT_debug_utils is on, so that objects can be named.
  bool debug_utils() const { return debug_utils_; }
  // Warnings and errors of the validation layer so far.
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
  uint32_t api_version_ = kApiVersion;
  InstanceFunctions functions_;
  VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
  bool debug_utils_ = false;
  std::atomic<uint64_t> messages_{0};
};

}  // namespace spirloom::vulkan

#endif  // SPIRLOOM_RUNTIME_VULKAN_INSTANCE_H_
