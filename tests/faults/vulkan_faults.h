// A Vulkan loader for tests: it passes everything on to the real one, except calls that are to
// fail. Loaded before the runtime looks for "libvulkan.so.1", it is what the runtime finds.
#ifndef SPIRLOOM_TESTS_FAULTS_VULKAN_FAULTS_H_
#define SPIRLOOM_TESTS_FAULTS_VULKAN_FAULTS_H_

#include <vulkan/vulkan_core.h>

#include <cstddef>
#include <cstdint>

namespace spirloom::faults {

// Which calls fail, of those functions that return a VkResult. A failing call does not reach the
// driver, and its outputs are garbage, as Vulkan allows.
struct Fault {
  uint64_t first = 1;     // counted from 1 when the fault is set; of VK_ERROR_DEVICE_LOST, among
                          // the functions that may return it
  uint64_t count = 1;     // how many
  const char* only = "";  // a function's name: others do not count and do not fail
  const char* also = "";  // with `only`, another function that does
  VkResult code = VK_ERROR_OUT_OF_HOST_MEMORY;  // a lost device stays so until Clear()
};

// Thread-safe.
struct VulkanFaults {
  void (*set)(const Fault& fault);
  // From now on no call fails. Returns the first function that has failed, or null.
  const char* (*clear)();
  // Objects created and not destroyed, device memory included.
  size_t (*live)();
  // Whether the calling thread is in the real loader or driver.
  bool (*in_driver)();
  // Calls to destroy what is not there.
  size_t (*wrongly_destroyed)();
  // From the next device on it has each of its heaps twice, with so many bytes of room in either
  // set, until join_heaps(); no device may live then.
  void (*split_heaps)(uint64_t first, uint64_t second);
  void (*join_heaps)();
};

}  // namespace spirloom::faults

// The only way in: dlsym() of this name.
extern "C" const spirloom::faults::VulkanFaults* spirloom_vulkan_faults();

#endif  // SPIRLOOM_TESTS_FAULTS_VULKAN_FAULTS_H_
