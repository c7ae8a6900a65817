// Conversion of device properties to the C API.
#ifndef SPIRLOOM_RUNTIME_C_DEVICE_H_
#define SPIRLOOM_RUNTIME_C_DEVICE_H_

#include <vector>

#include "spirloom/runtime.h"
#include "spirloom/spirloom.h"

namespace spirloom::c {

// Owns a DeviceInfo and the arrays of the corresponding C struct. Not movable.
class DeviceView {
 public:
  explicit DeviceView(DeviceInfo info);
  DeviceView(const DeviceView&) = delete;
  DeviceView& operator=(const DeviceView&) = delete;

  // The C struct, which refers to this object.
  spirloom_device_info Info() const;

 private:
  DeviceInfo info_;
  std::vector<const char*> features_;
  std::vector<spirloom_device_property> properties_;
};

}  // namespace spirloom::c

#endif  // SPIRLOOM_RUNTIME_C_DEVICE_H_
