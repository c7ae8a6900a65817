#include "runtime/pack/device_properties.h"

#include <algorithm>

namespace spirloom::pack {

std::array<int64_t, kDevicePropertyNames.size()> DevicePropertyValues(
    const DeviceProperties& device) {
  return {
#define SPIRLOOM_DEVICE_PROPERTY(name, type, initial, values, description) \
  static_cast<int64_t>(device.name),
#include "spec_model/device_properties.inc"
#undef SPIRLOOM_DEVICE_PROPERTY
  };
}

bool SetDeviceProperty(DeviceProperties& device, std::string_view name, int64_t value) {
#define SPIRLOOM_DEVICE_PROPERTY(member, type, initial, values, description) \
  if (name == #member) {                                                     \
    device.member = static_cast<type>(value);                                \
    return true;                                                             \
  }
#include "spec_model/device_properties.inc"
#undef SPIRLOOM_DEVICE_PROPERTY
  return false;
}

std::optional<size_t> FindDeviceProperty(std::string_view name) {
  const auto* const found = std::ranges::find(kDevicePropertyNames, name);
  if (found == kDevicePropertyNames.end()) return std::nullopt;
  return static_cast<size_t>(found - kDevicePropertyNames.begin());
}

}  // namespace spirloom::pack
