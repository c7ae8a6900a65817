#ifndef SPIRLOOM_RUNTIME_VULKAN_HOST_CACHE_H_
#define SPIRLOOM_RUNTIME_VULKAN_HOST_CACHE_H_

#include <cstdint>

namespace spirloom::vulkan {

// The size in bytes of the host's level 3 cache, which a device that is a CPU uses; 0 if unknown.
int64_t HostCacheSize();

}  // namespace spirloom::vulkan

#endif  // SPIRLOOM_RUNTIME_VULKAN_HOST_CACHE_H_
