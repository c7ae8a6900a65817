#include <algorithm>
#include <vector>

#include "runtime/base/windows_api.h"
#include "runtime/vulkan/host_cache.h"

namespace spirloom::vulkan {

int64_t HostCacheSize() {
  DWORD bytes = 0;
  GetLogicalProcessorInformation(nullptr, &bytes);
  std::vector<SYSTEM_LOGICAL_PROCESSOR_INFORMATION> entries(
      bytes / sizeof(SYSTEM_LOGICAL_PROCESSOR_INFORMATION));
  if (entries.empty() || GetLogicalProcessorInformation(entries.data(), &bytes) == 0) return 0;
  int64_t size = 0;
  for (const SYSTEM_LOGICAL_PROCESSOR_INFORMATION& entry : entries) {
    if (entry.Relationship == RelationCache && entry.Cache.Level == 3) {
      size = std::max<int64_t>(size, entry.Cache.Size);
    }
  }
  return size;
}

}  // namespace spirloom::vulkan
