// The device properties that formulas of kernels may use.
#ifndef SPIRLOOM_RUNTIME_PACK_DEVICE_PROPERTIES_H_
#define SPIRLOOM_RUNTIME_PACK_DEVICE_PROPERTIES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace spirloom::pack {

// A plain value. The members are the rows of the table.
struct DeviceProperties {
#define SPIRLOOM_DEVICE_PROPERTY(name, type, initial, values, description) type name = initial;
#include "spec_model/device_properties.inc"
#undef SPIRLOOM_DEVICE_PROPERTY

  // max_loop_iterations of devices without a limit.
  static constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();
};

// The names of the properties, in the order of the table.
inline constexpr auto kDevicePropertyNames = std::to_array<const char*>({
#define SPIRLOOM_DEVICE_PROPERTY(name, type, initial, values, description) #name,
#include "spec_model/device_properties.inc"
#undef SPIRLOOM_DEVICE_PROPERTY
});

// The values of the properties in the same order; bools are 0 or 1.
std::array<int64_t, kDevicePropertyNames.size()> DevicePropertyValues(
    const DeviceProperties& device);

// Sets the property of the given name. Returns false if there is none.
bool SetDeviceProperty(DeviceProperties& device, std::string_view name, int64_t value);

// The index of the property of the given name in the table.
std::optional<size_t> FindDeviceProperty(std::string_view name);

}  // namespace spirloom::pack

#endif  // SPIRLOOM_RUNTIME_PACK_DEVICE_PROPERTIES_H_
