// The parts of LoadLoader() (functions.h) that differ between platforms.
#ifndef SPIRLOOM_RUNTIME_VULKAN_LOADER_H_
#define SPIRLOOM_RUNTIME_VULKAN_LOADER_H_

#include "runtime/vulkan/vk.h"

namespace spirloom::vulkan {

// vkGetInstanceProcAddr of the system's Vulkan loader, which stays loaded; null without a loader.
PFN_vkGetInstanceProcAddr OpenLoader();

// What is missing and how to install it, as two sentences.
extern const char* const kNoLoader;

}  // namespace spirloom::vulkan

#endif  // SPIRLOOM_RUNTIME_VULKAN_LOADER_H_
