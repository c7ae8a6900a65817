#include "tools/spirloom-ops/device_file.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "runtime/base/error.h"
#include "runtime/base/path.h"
#include "runtime/pack/capability.h"

namespace spirloom::tools {
namespace {

using nlohmann::json;

// Reads the members of one device; keeps the first error.
class DeviceReader {
 public:
  explicit DeviceReader(DescribedDevice& device) : device_(device) {}

  Status Read(const json& members) {
    if (!members.is_object()) return InvalidFile("A device is not an object.");
    for (const auto& [key, value] : members.items()) {
      if (!Member(key, value) && status_.ok()) Fail(key, "is not a key of devices");
    }
    graph::DeviceTraits& traits = device_.traits;
    traits.max_workgroup_invocations = static_cast<uint32_t>(traits.properties.max_workgroup);
    traits.capabilities |=
        pack::SharedMemoryCapabilities(static_cast<uint64_t>(traits.properties.shared_memory));
    traits.buffer_offset_alignment =
        std::max<uint64_t>(16, static_cast<uint64_t>(traits.properties.storage_alignment));
    return status_;
  }

 private:
  void Fail(const std::string& key, const char* problem) {
    if (status_.ok()) status_ = InvalidFile("Device {}: '{}' {}.", device_.name, key, problem);
  }

  template <typename T>
  void Number(const std::string& key, const json& value, T& target) {
    if (value.is_number_integer() && value >= 0) {
      target = value.get<T>();
    } else {
      Fail(key, "is not a number of at least 0");
    }
  }

  template <typename... T>
  void Three(const std::string& key, const json& value, T&... targets) {
    if (!value.is_array() || value.size() != 3) return Fail(key, "is not a list of three numbers");
    size_t i = 0;
    (Number(key, value[i++], targets), ...);
  }

  bool Member(const std::string& key, const json& value) {
    graph::DeviceTraits& traits = device_.traits;
    if (key == "name") {
      if (!value.is_string()) Fail(key, "is not text");
      if (value.is_string()) device_.name = value;
    } else if (key == "vulkan_minor") {
      Number(key, value, traits.vulkan_minor);
    } else if (key == "max_storage_buffer_range") {
      Number(key, value, traits.max_storage_buffer_range);
    } else if (key == "max_storage_buffers") {
      Number(key, value, traits.bindings.storage_buffers);
    } else if (key == "max_sampled_images") {
      Number(key, value, traits.bindings.sampled_images);
    } else if (key == "max_storage_images") {
      Number(key, value, traits.bindings.storage_images);
    } else if (key == "max_resources") {
      Number(key, value, traits.bindings.resources);
    } else if (key == "capabilities") {
      Capabilities(value);
    } else if (key == "properties") {
      Properties(value);
    } else if (key == "max_group_count") {
      Three(key, value, traits.max_group_count[0], traits.max_group_count[1],
            traits.max_group_count[2]);
    } else if (key == "max_workgroup") {
      Three(key, value, traits.max_workgroup[0], traits.max_workgroup[1], traits.max_workgroup[2]);
    } else if (key == "texture3d") {
      Three(key, value, traits.texture3d.width, traits.texture3d.height, traits.texture3d.depth);
    } else if (key == "texture2d") {
      Three(key, value, traits.texture2d.width, traits.texture2d.height, traits.texture2d.depth);
    } else {
      return false;
    }
    return true;
  }

  void Capabilities(const json& names) {
    for (const json& name : names) {
      uint64_t found = 0;
      for (uint32_t i = 0; i < pack::kCapabilityCount; ++i) {
        const auto capability = static_cast<pack::Capability>(i);
        if (name == pack::CapabilityName(capability)) found = pack::CapabilityBit(capability);
      }
      if (found == 0) Fail("capabilities", "has an unknown name");
      device_.traits.capabilities |= found;
    }
  }

  void Properties(const json& values) {
    if (!values.is_object()) return Fail("properties", "is not an object");
    for (const auto& [name, value] : values.items()) {
      int64_t number = 0;
      if (value.is_boolean()) {
        number = value.get<bool>() ? 1 : 0;
      } else {
        Number(name, value, number);
      }
      if (name == "cores" && number == 0) Fail(name, "is not a number of at least 1");
      if (!pack::SetDeviceProperty(device_.traits.properties, name, number))
        Fail(name, "is not a device property");
    }
  }

  DescribedDevice& device_;
  Status status_;
};

}  // namespace

Result<std::vector<DescribedDevice>> ReadDevices(const std::string& path) {
  std::ifstream file(ToPath(path));
  if (!file) return Error(StatusCode::kNotFound, "The file '{}' cannot be read.", path);
  const json root = json::parse(file, /*cb=*/nullptr, /*allow_exceptions=*/false);
  if (!root.is_array()) return InvalidFile("The file '{}' is not a JSON list of devices.", path);
  std::vector<DescribedDevice> devices;
  for (const json& members : root) {
    DescribedDevice& device = devices.emplace_back();
    if (members.is_object() && members.contains("name") && members["name"].is_string())
      device.name = members["name"];
    SPIRLOOM_TRY(DeviceReader(device).Read(members));
  }
  return devices;
}

}  // namespace spirloom::tools
