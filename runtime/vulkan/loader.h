// The parts of LoadLoader() (functions.h) that differ between platforms.
#ifndef SPIRLOOM_RUNTIME_VULKAN_LOADER_H_
#define SPIRLOOM_RUNTIME_VULKAN_LOADER_H_

#include "runtime/vulkan/vk.h"

namespace spirloom::vulkan {

// vkGetInstanceProcAddr of the system's Vulkan loader, which stays loaded; null without a loader.
PFN_vkGetInstanceProcAddr OpenLoader();

// The error message without a loader: its name, and how to install it.
extern const char* const kNoLoader;

}  // namespace spirloom::vulkan

#endif  // SPIRLOOM_RUNTIME_VULKAN_LOADER_H_
