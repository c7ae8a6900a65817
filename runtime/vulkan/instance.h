#ifndef SPIRLOOM_RUNTIME_VULKAN_INSTANCE_H_
#define SPIRLOOM_RUNTIME_VULKAN_INSTANCE_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "runtime/vulkan/vk.h"

namespace spirloom::vulkan {

// The newest version that is used where a device has it.
inline constexpr uint32_t kApiVersion = VK_API_VERSION_1_3;

struct InstanceOptions {
  // Turns on VK_LAYER_KHRONOS_validation with synchronisation validation.
  bool validation = false;
};

// Loads the Vulkan loader once per process. Fails with kNotFound, naming the remedy.
Status LoadLoader();

// A VkInstance and, with validation, the messenger that counts and prints messages. Devices made
// from it must be destroyed first. Neither moves nor copies: the messenger points into it.
class Instance {
 public:
  // Fails with kNotFound when the loader is absent or too old or the validation layer is asked for
  // and not installed.
  static Result<std::unique_ptr<Instance>> Create(const InstanceOptions& options);

  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;
  ~Instance();

  VkInstance handle() const { return handle_; }
  // Whether VK_EXT_debug_utils is on, so that objects can be named.
  bool debug_utils() const { return debug_utils_; }
  // Warnings and errors of the validation layer so far.
  uint64_t message_count() const { return messages_.load(); }

 private:
  Instance() = default;
  Status Initialize(const InstanceOptions& options);
  Status CreateMessenger();
  static VKAPI_ATTR VkBool32 VKAPI_CALL OnMessage(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                                  VkDebugUtilsMessageTypeFlagsEXT types,
                                                  const VkDebugUtilsMessengerCallbackDataEXT* data,
                                                  void* user);

  VkInstance handle_ = VK_NULL_HANDLE;
  VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
  bool debug_utils_ = false;
  std::atomic<uint64_t> messages_{0};
};

}  // namespace spirloom::vulkan

#endif  // SPIRLOOM_RUNTIME_VULKAN_INSTANCE_H_
