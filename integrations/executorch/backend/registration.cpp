#include "integrations/executorch/backend/registration.h"

#include <string_view>

#include "integrations/executorch/include/spirloom/executorch.h"

extern "C" int spirloom_executorch_is_registered(const char* name) {
  using namespace spirloom::delegate;
  const std::string_view backend = name;
  if (backend == kVulkanBackend) return IsVulkanBackendRegistered();
  return backend == kGraphBackend && IsGraphBackendRegistered();
}
