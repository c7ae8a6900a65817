#include "runtime/c/device.h"

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "runtime/c/error.h"
#include "runtime/c/sized.h"

using spirloom::Status;
namespace c = spirloom::c;

struct spirloom_devices {
  std::deque<c::DeviceView> devices;
};

namespace spirloom::c {

DeviceView::DeviceView(DeviceInfo info) : info_(std::move(info)) {
  for (const std::string& feature : info_.features) features_.push_back(feature.c_str());
  for (const auto& [name, value] : info_.properties) properties_.push_back({name.c_str(), value});
}

spirloom_device_info DeviceView::Info() const {
  return {.struct_size = sizeof(spirloom_device_info),
          .name = info_.name.c_str(),
          .type = info_.type.c_str(),
          .api_version = info_.api_version.c_str(),
          .driver = info_.driver.c_str(),
          .uuid = info_.uuid.c_str(),
          .luid = info_.luid.c_str(),
          .pci = info_.pci.c_str(),
          .features = features_.data(),
          .feature_count = features_.size(),
          .usable = info_.usable,
          .device_memory = info_.device_memory,
          .max_storage_buffer_range = info_.max_storage_buffer_range,
          .max_image_dimension_3d = info_.max_image_dimension_3d,
          .subgroup_size = info_.subgroup_size,
          .api_version_number = info_.api_version_number,
          .driver_version_number = info_.driver_version_number,
          .vendor_id = info_.vendor_id,
          .device_id = info_.device_id,
          .driver_id = info_.driver_id,
          .max_loop_iterations = info_.max_loop_iterations,
          .properties = properties_.data(),
          .property_count = properties_.size()};
}

}  // namespace spirloom::c

bool spirloom_is_available() {
  bool available = false;
  (void)c::Guarded(/*error=*/nullptr, [&] {
    available = spirloom::IsAvailable();
    return Status();
  });
  return available;
}

spirloom_status spirloom_devices_list(spirloom_devices** devices, spirloom_error** error) {
  return c::Guarded(error, [&]() -> Status {
    SPIRLOOM_TRY(c::CheckPointers("spirloom_devices_list", {{"devices", devices}}));
    *devices = nullptr;
    SPIRLOOM_TRY_ASSIGN(std::vector<spirloom::DeviceInfo> infos, spirloom::ListDevices());
    auto list = std::make_unique<spirloom_devices>();
    for (spirloom::DeviceInfo& info : infos) list->devices.emplace_back(std::move(info));
    *devices = list.release();
    return Status();
  });
}

void spirloom_devices_destroy(spirloom_devices* devices) { delete devices; }

size_t spirloom_devices_count(const spirloom_devices* devices) {
  return devices == nullptr ? 0 : devices->devices.size();
}

spirloom_status spirloom_devices_get(const spirloom_devices* devices, size_t i,
                                     spirloom_device_info* info, spirloom_error** error) {
  return c::Guarded(error, [&]() -> Status {
    SPIRLOOM_TRY(c::CheckPointers("spirloom_devices_get", {{"devices", devices}, {"info", info}}));
    SPIRLOOM_TRY(c::CheckIndex("devices", i, devices->devices.size()));
    return c::Write("spirloom_device_info", devices->devices[i].Info(), info);
  });
}

namespace {

// Empty if there is no memory for them.
const std::vector<std::string>& KnownFeatures() {
  static const std::vector<std::string> features = [] {
    std::vector<std::string> known;
    (void)c::Guarded(/*error=*/nullptr, [&] {
      known = spirloom::KnownFeatures();
      return Status();
    });
    return known;
  }();
  return features;
}

}  // namespace

size_t spirloom_known_feature_count(void) { return KnownFeatures().size(); }

const char* spirloom_known_feature(size_t i) {
  const std::vector<std::string>& known = KnownFeatures();
  return i < known.size() ? known[i].c_str() : nullptr;
}
