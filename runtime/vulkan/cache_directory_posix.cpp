#include <cstdlib>

#include "runtime/base/text.h"
#include "runtime/vulkan/pipeline_cache.h"

namespace spirloom::vulkan {

std::string DefaultCacheDirectory() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && cache[0] == '/') return Concat(cache, "/spirloom");
  const char* home = std::getenv("HOME");
  if (home != nullptr && home[0] != '\0') return Concat(home, "/.cache/spirloom");
  return {};
}

}  // namespace spirloom::vulkan
