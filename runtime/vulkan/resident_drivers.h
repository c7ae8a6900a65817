#ifndef SPIRLOOM_RUNTIME_VULKAN_RESIDENT_DRIVERS_H_
#define SPIRLOOM_RUNTIME_VULKAN_RESIDENT_DRIVERS_H_

#include "runtime/vulkan/functions.h"

namespace spirloom::vulkan {

// Keeps Vulkan's drivers in the process until it ends, by an instance that is never destroyed: the
// loader unloads them with a process's last instance and loads them again with its next. NVIDIA's
// driver bears that about a dozen times; then it is not found any more, or computes wrongly
// (subgroups). To be called when an instance is there, so that nothing has to be loaded; does so
// once. Without memory for it, the next call tries again.
void KeepDriversLoaded(PFN_vkGetInstanceProcAddr get);

}  // namespace spirloom::vulkan

#endif  // SPIRLOOM_RUNTIME_VULKAN_RESIDENT_DRIVERS_H_
