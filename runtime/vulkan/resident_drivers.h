#ifndef SPIRLOOM_RUNTIME_VULKAN_RESIDENT_DRIVERS_H_
#define SPIRLOOM_RUNTIME_VULKAN_RESIDENT_DRIVERS_H_

#include "runtime/vulkan/functions.h"

namespace spirloom::vulkan {

// Creates an instance that is never destroyed, so that the loader keeps the Vulkan drivers loaded:
// otherwise it unloads them with the last instance and reloads them with the next one. NVIDIA's
// driver fails after about a dozen reloads: it is not found, or computes wrong results (subgroups).
// Requires an existing instance, so that no driver is loaded. Only the first successful call has an
// effect.
void KeepDriversLoaded(PFN_vkGetInstanceProcAddr get);

}  // namespace spirloom::vulkan

#endif  // SPIRLOOM_RUNTIME_VULKAN_RESIDENT_DRIVERS_H_
