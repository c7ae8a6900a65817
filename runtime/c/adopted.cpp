#include "runtime/c/adopted.h"

#include "runtime/c/error.h"
#include "runtime/c/library.h"
#include "runtime/c/sized.h"

using spirloom::DeviceRequest;
using spirloom::Status;
namespace c = spirloom::c;

struct spirloom_device_request {
  DeviceRequest request;
};

namespace spirloom::c {

Result<AdoptedDevice> ReadAdopted(const spirloom_adopted_device* adopted) {
  spirloom_adopted_device given{};
  SPIRLOOM_TRY(Read("spirloom_adopted_device", adopted, given));
  SPIRLOOM_TRY(CheckArray("extensions", given.extensions, given.extension_count));
  AdoptedDevice device{.instance = given.instance,
                       .api_version = given.api_version,
                       .physical_device = given.physical_device,
                       .device = given.device,
                       .queue = given.queue,
                       .queue_family = given.queue_family,
                       .get_instance_proc_addr = given.get_instance_proc_addr,
                       .features = given.features,
                       .extensions = {given.extensions, given.extension_count}};
  if ((given.lock_queue == nullptr) != (given.unlock_queue == nullptr)) {
    return Status(StatusCode::kInvalidArgument,
                  "Only one of `lock_queue` and `unlock_queue` is NULL. Set both or neither.");
  }
  if (given.lock_queue != nullptr) {
    device.lock_queue = [lock = given.lock_queue, data = given.queue_data] { lock(data); };
    device.unlock_queue = [unlock = given.unlock_queue, data = given.queue_data] { unlock(data); };
  }
  return device;
}

}  // namespace spirloom::c

spirloom_status spirloom_device_request_create(const spirloom_library* const* libraries,
                                               size_t library_count, VkInstance instance,
                                               uint32_t api_version,
                                               VkPhysicalDevice physical_device,
                                               PFN_vkGetInstanceProcAddr get_instance_proc_addr,
                                               spirloom_device_request** request,
                                               spirloom_error** error) {
  return c::Guarded(error, [&]() -> Status {
    SPIRLOOM_TRY(c::CheckPointers(
        "spirloom_device_request_create",
        {{"request", request}, {"instance", instance}, {"physical_device", physical_device}}));
    *request = nullptr;
    SPIRLOOM_TRY_ASSIGN(const auto given, c::ReadLibraries(libraries, library_count));
    SPIRLOOM_TRY_ASSIGN(DeviceRequest created,
                        DeviceRequest::Create(given, instance, api_version, physical_device,
                                              get_instance_proc_addr));
    *request = new spirloom_device_request{std::move(created)};
    return Status();
  });
}

void spirloom_device_request_destroy(spirloom_device_request* request) { delete request; }

spirloom_status spirloom_device_request_add_to(spirloom_device_request* request,
                                               VkPhysicalDeviceFeatures2* chain,
                                               spirloom_error** error) {
  return c::Guarded(error, [&]() -> Status {
    SPIRLOOM_TRY(c::CheckPointers("spirloom_device_request_add_to",
                                  {{"request", request}, {"chain", chain}}));
    request->request.AddTo(*chain);
    return Status();
  });
}

const char* const* spirloom_device_request_extensions(const spirloom_device_request* request,
                                                      size_t* count) {
  if (count != nullptr) *count = request == nullptr ? 0 : request->request.extensions().size();
  return request == nullptr ? nullptr : request->request.extensions().data();
}
