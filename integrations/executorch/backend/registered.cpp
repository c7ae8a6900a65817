#include "integrations/executorch/backend/registered.h"

#include <string_view>

#include "integrations/executorch/include/spirloom/executorch.h"

extern "C" int spirloom_executorch_is_registered(const char* name) {
  using namespace spirloom::delegate;
  const std::string_view asked = name;
  if (asked == kVulkanBackend) return IsVulkanBackendRegistered();
  return asked == kGraphBackend && IsGraphBackendRegistered();
}
