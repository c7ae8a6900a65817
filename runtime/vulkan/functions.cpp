#include "runtime/vulkan/functions.h"

#include <cstddef>
#include <cstring>
#include <string_view>

#include "runtime/base/error.h"

namespace spirloom::vulkan {
namespace {

// Zero-terminated names in the order of the table's members, in one string: it needs no
// relocations.
#define SPIRLOOM_NAME(name) #name "\0"
constexpr char kInstanceNames[] = SPIRLOOM_INSTANCE_FUNCTIONS(SPIRLOOM_NAME);
constexpr char kDeviceNames[] = SPIRLOOM_DEVICE_FUNCTIONS(SPIRLOOM_NAME);
#undef SPIRLOOM_NAME

// Fills `table`, which has a pointer for each name. Loads all functions that exist also on failure,
// as destructors need them.
template <typename Get, typename Object>
Status LoadTable(Get get, Object object, const char* name, void* table) {
  Status status;
  for (auto* slot = static_cast<std::byte*>(table); *name != '\0';
       slot += sizeof(PFN_vkVoidFunction)) {
    const PFN_vkVoidFunction function = get(object, name);
    if (function == nullptr && status.ok()) {
      status = Error(StatusCode::kUnavailable, "The Vulkan driver has no function {}.", name);
    }
    std::memcpy(slot, &function, sizeof(function));
    name += std::string_view(name).size() + 1;
  }
  return status;
}

}  // namespace

Status InstanceFunctions::Load(PFN_vkGetInstanceProcAddr get, VkInstance instance) {
  return LoadTable(get, instance, kInstanceNames, this);
}

Status DeviceFunctions::Load(PFN_vkGetDeviceProcAddr get, VkDevice device) {
  return LoadTable(get, device, kDeviceNames, this);
}

}  // namespace spirloom::vulkan
