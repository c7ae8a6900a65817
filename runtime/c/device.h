// What a device reports, as C wants it.
#ifndef SPIRLOOM_RUNTIME_C_DEVICE_H_
#define SPIRLOOM_RUNTIME_C_DEVICE_H_

#include <vector>

#include "spirloom/runtime.h"
#include "spirloom/spirloom.h"

namespace spirloom::c {

// A device's info with the array that C's has beside it. Its address must stay.
class DeviceView {
 public:
  explicit DeviceView(DeviceInfo info);
  DeviceView(const DeviceView&) = delete;
  DeviceView& operator=(const DeviceView&) = delete;

  // Refers to this.
  spirloom_device_info Info() const;

 private:
  DeviceInfo info_;
  std::vector<const char*> features_;
};

}  // namespace spirloom::c

#endif  // SPIRLOOM_RUNTIME_C_DEVICE_H_
