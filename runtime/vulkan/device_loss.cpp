// Errors of a lost device, and whether its objects may be destroyed.
#include <chrono>
#include <thread>

#include "runtime/base/error.h"
#include "runtime/vulkan/device.h"

namespace spirloom::vulkan {
namespace {

// Every other attempt doubles the pause: 510 ms in total.
constexpr int kAttempts = 16;

}  // namespace

Status Device::Check(VkResult result, std::string_view function) const {
  if (result == VK_SUCCESS) return {};
  if (result == VK_ERROR_DEVICE_LOST) lost_ = true;
  if (!lost_) return ToStatus(result, function);
  return Error(StatusCode::kDeviceLost,
               {function, " returns ", ResultName(result), ". ", CheckAlive().message()});
}

Status Device::CheckAlive() const {
  if (!lost_) return {};
  return Error(StatusCode::kDeviceLost,
               {"The device '", physical_.info.name,
                "' is lost, with all its data. Destroy its models and their runtime, create a new "
                "runtime and load the models again."});
}

bool Device::DrainQueue(VkResult failure) const noexcept {
  auto pause = std::chrono::milliseconds(1);
  for (int attempt = 0; attempt < kAttempts && failure != VK_ERROR_DEVICE_LOST; ++attempt) {
    failure = WaitForQueue();
    if (failure == VK_SUCCESS) return true;
    std::this_thread::sleep_for(pause);
    if (attempt % 2 == 1) pause *= 2;
  }
  // A lost device has finished all work.
  if (failure != VK_ERROR_DEVICE_LOST) {
    abandoned_ = true;
    instance_.Leak();
  }
  lost_ = true;
  return false;
}

}  // namespace spirloom::vulkan
