// Devices, streams and events of PyTorch: the interface by which it switches between them.
//
// All streams are one queue of commands, in which everything runs in order. This is valid for
// PyTorch, where streams may run concurrently, but need not. An event is the index of a command.
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <atomic>

#include "integrations/torch/device.h"

namespace spirloom::pytorch {
namespace {

thread_local c10::StreamId current_stream = 0;  // 0 is the default stream
std::atomic<c10::StreamId> next_stream = 1;

struct Event {
  std::atomic<uint64_t> command = 0;  // the last one before the event
};

const c10::Device kDevice(kDeviceType, 0);

class DeviceGuard final : public c10::impl::DeviceGuardImplInterface {
 public:
  c10::DeviceType type() const override { return kDeviceType; }

  c10::Device exchangeDevice(c10::Device device) const override {
    setDevice(device);
    return kDevice;
  }
  c10::Device getDevice() const override { return kDevice; }
  void setDevice(c10::Device device) const override {
    TORCH_CHECK(device.index() <= 0, "The device index is ", static_cast<int>(device.index()),
                ", and there is one device: 'vulkan:0'. The environment variable SPIRLOOM_DEVICE "
                "selects it.");
  }
  void uncheckedSetDevice(c10::Device /*device*/) const noexcept override {}
  c10::DeviceIndex deviceCount() const noexcept override { return IsAvailable() ? 1 : 0; }

  c10::Stream getStream(c10::Device /*device*/) const override { return StreamOf(current_stream); }
  c10::Stream getDefaultStream(c10::Device /*device*/) const override { return StreamOf(0); }
  c10::Stream getNewStream(c10::Device /*device*/, int /*priority*/) const override {
    return StreamOf(next_stream++);
  }
  c10::Stream getStreamFromGlobalPool(c10::Device device, bool /*high*/) const override {
    return getNewStream(device, 0);
  }
  c10::Stream exchangeStream(c10::Stream stream) const override {
    const c10::Stream before = StreamOf(current_stream);
    current_stream = stream.id();
    return before;
  }
  bool queryStream(const c10::Stream& /*stream*/) const override { return IsDone(UINT64_MAX); }
  void synchronizeStream(const c10::Stream& /*stream*/) const override { Wait(UINT64_MAX); }
  void synchronizeDevice(const c10::DeviceIndex /*device*/) const override { Wait(UINT64_MAX); }

  void record(void** event, const c10::Stream& /*stream*/, const c10::DeviceIndex /*device*/,
              const c10::EventFlag /*flag*/) const override {
    if (*event == nullptr) *event = new Event;
    static_cast<Event*>(*event)->command =
        IsOpen() ? spirloom_stream_last_command(OpenStream()) : 0;
  }
  // Later commands come after the event's in any case.
  void block(void* /*event*/, const c10::Stream& /*stream*/) const override {}
  bool queryEvent(void* event) const override {
    return event == nullptr || IsDone(static_cast<const Event*>(event)->command);
  }
  void synchronizeEvent(void* event) const override {
    if (event != nullptr) Wait(static_cast<const Event*>(event)->command);
  }
  void destroyEvent(void* event, const c10::DeviceIndex /*device*/) const noexcept override {
    delete static_cast<Event*>(event);
  }
  double elapsedTime(void* /*first*/, void* /*second*/,
                     const c10::DeviceIndex /*device*/) const override {
    TORCH_CHECK_NOT_IMPLEMENTED(false,
                                "Events of the device 'vulkan' have no times. Measure with "
                                "time.perf_counter() and torch.vulkan.synchronize().");
  }
  void recordDataPtrOnStream(const c10::DataPtr& /*data*/,
                             const c10::Stream& /*stream*/) const override {}

 private:
  static c10::Stream StreamOf(c10::StreamId id) {
    return c10::Stream(c10::Stream::UNSAFE, kDevice, id);
  }
  // Without an open device, no command exists.
  static bool IsDone(uint64_t command) {
    if (!IsOpen()) return true;
    bool done = false;
    Call(spirloom_stream_is_done, OpenStream(), command, &done);
    return done;
  }
  static void Wait(uint64_t command) {
    if (IsOpen()) Call(spirloom_stream_wait, OpenStream(), command);
  }
};

// For at::kVulkan in C++, whose factories forward to this device (factories.cpp).
using ForwardingGuard = c10::impl::NoOpDeviceGuardImpl<c10::DeviceType::Vulkan>;

C10_REGISTER_GUARD_IMPL(PrivateUse1, DeviceGuard)
C10_REGISTER_GUARD_IMPL(Vulkan, ForwardingGuard)

}  // namespace
}  // namespace spirloom::pytorch
