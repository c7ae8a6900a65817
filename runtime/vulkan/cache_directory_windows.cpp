#include "runtime/base/text.h"
#include "runtime/base/windows_text.h"
#include "runtime/vulkan/pipeline_cache.h"

namespace spirloom::vulkan {

std::string DefaultCacheDirectory() {
  const std::string data = WindowsVariable(L"LOCALAPPDATA");
  return data.empty() ? std::string() : Concat(data, "\\spirloom\\cache");
}

}  // namespace spirloom::vulkan
