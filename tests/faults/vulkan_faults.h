// A fault-injecting Vulkan loader for tests. It forwards calls to the real loader, except for those
// that must fail. Load it before the runtime opens "libvulkan.so.1", which then resolves to it.
#ifndef SPIRLOOM_TESTS_FAULTS_VULKAN_FAULTS_H_
#define SPIRLOOM_TESTS_FAULTS_VULKAN_FAULTS_H_

#include <vulkan/vulkan_core.h>

#include <cstddef>
#include <cstdint>

namespace spirloom::faults {

// Selects failing calls among the functions that return a VkResult. A failing call does not reach
// the driver; its outputs are garbage, as Vulkan allows.
struct Fault {
  uint64_t first = 1;     // index of the first failing call, from 1 when the fault is set; for
                          // VK_ERROR_DEVICE_LOST among the functions that may return it
  uint64_t count = 1;     // number of failing calls
  const char* only = "";  // name of the function that is counted and fails; "": all
  const char* also = "";  // with `only`: a second such function
  VkResult code = VK_ERROR_OUT_OF_HOST_MEMORY;  // a lost device remains lost until clear()
};

// Thread-safe.
struct VulkanFaults {
  void (*set)(const Fault& fault);
  // Ends the fault. Returns the name of the first function that failed, or null.
  const char* (*clear)();
  // The number of live objects, including device memory.
  size_t (*live)();
  // Whether the calling thread is in the real loader or the driver.
  bool (*in_driver)();
  // The number of destroy calls for objects that do not exist.
  size_t (*wrongly_destroyed)();
  // Duplicates the heaps of devices created from now on, with `first` and `second` bytes in the two
  // sets, until join_heaps(). No device may exist at either call.
  void (*split_heaps)(uint64_t first, uint64_t second);
  void (*join_heaps)();
  // Plays the watchdog of a driver: a call of vkQueueSubmit() whose command buffers dispatch more
  // than `workgroups` loses the device, until clear(). 0: none. Also resets largest_submission().
  void (*set_watchdog)(uint64_t workgroups);
  // Devices have VK_EXT_memory_budget, VK_KHR_global_priority and VK_EXT_device_fault from now on,
  // and every heap this budget and usage in bytes. A budget of 0 ends it.
  void (*emulate_extensions)(uint64_t budget, uint64_t usage);
  // Devices list one tool with these purposes from now on. 0: as the driver does. Also resets
  // labels().
  void (*emulate_tool)(VkToolPurposeFlags purposes);
  // The number of labels in command buffers.
  size_t (*labels)();
  // The VkQueueGlobalPriorityKHR of the last created device; 0: none was requested.
  uint32_t (*priority)();
  // The largest number of workgroups that a call of vkQueueSubmit() dispatched.
  uint64_t (*largest_submission)();
  // The stages of later commands that wait for the last submission: the target of the last barrier
  // in its last command buffer.
  VkPipelineStageFlags (*stages_after)();
};

}  // namespace spirloom::faults

// The entry point, for dlsym().
extern "C" const spirloom::faults::VulkanFaults* spirloom_vulkan_faults();

#endif  // SPIRLOOM_TESTS_FAULTS_VULKAN_FAULTS_H_
