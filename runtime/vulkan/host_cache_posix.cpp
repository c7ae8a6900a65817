#include <unistd.h>

#include <algorithm>

#include "runtime/vulkan/host_cache.h"

namespace spirloom::vulkan {

int64_t HostCacheSize() {
#ifdef _SC_LEVEL3_CACHE_SIZE
  return std::max<int64_t>(sysconf(_SC_LEVEL3_CACHE_SIZE), 0);
#else
  return 0;
#endif
}

}  // namespace spirloom::vulkan
