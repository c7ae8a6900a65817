#include "tests/faults/intercepted.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>

namespace spirloom::faults {
namespace {

constexpr std::array kDeviceLostFunctions = {"vkDeviceWaitIdle", "vkGetFenceStatus",
                                             "vkGetQueryPoolResults", "vkQueueSubmit",
                                             "vkWaitForFences"};

bool MayReturnDeviceLost(std::string_view name) {
  return std::ranges::find(kDeviceLostFunctions, name) != kDeviceLostFunctions.end();
}

}  // namespace

State state;
Heaps heaps;
thread_local int depth = 0;

PFN_vkGetInstanceProcAddr RealLoader() {
  static const auto get = reinterpret_cast<PFN_vkGetInstanceProcAddr>(
      dlsym(dlopen(REAL_VULKAN_LOADER, RTLD_NOW | RTLD_LOCAL), "vkGetInstanceProcAddr"));
  return get;
}

std::optional<VkResult> FailureOf(const char* name) {
  const std::scoped_lock lock(state.mutex);
  if (!state.fault) return std::nullopt;
  const Fault& fault = *state.fault;
  const bool losing = fault.code == VK_ERROR_DEVICE_LOST;
  if (losing && !MayReturnDeviceLost(name)) return std::nullopt;
  if (losing && state.failed != nullptr) return fault.code;
  if (*fault.only != '\0' && std::string_view(fault.only) != name &&
      std::string_view(fault.also) != name) {
    return std::nullopt;
  }
  ++state.calls;
  if (state.calls < fault.first || state.calls - fault.first >= fault.count) return std::nullopt;
  if (state.failed == nullptr) state.failed = name;
  // A lost device executes no further work.
  if (losing) Real<PFN_vkDeviceWaitIdle>("vkDeviceWaitIdle")(state.device);
  return fault.code;
}

}  // namespace spirloom::faults
