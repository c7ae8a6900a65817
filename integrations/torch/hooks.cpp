// The hooks of PyTorch's accelerators, and the random generator.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include "integrations/torch/allocator.h"
#include "integrations/torch/device.h"
#include "integrations/torch/generator.h"
#include "integrations/torch/resize.h"

namespace spirloom::pytorch {
namespace {

// The state of PyTorch's CPU generator under this device: operators with random results run on the
// CPU, so that a seed gives the values that it gives there.
class DeviceGenerator final : public at::CPUGeneratorImpl {
 public:
  DeviceGenerator() {
    device_ = c10::Device(kDeviceType, 0);
    key_set_ = c10::DispatchKeySet(kDispatchKey);
  }

 private:
  DeviceGenerator* clone_impl() const override {
    auto* copy = new DeviceGenerator;
    copy->set_state(*get_state());
    return copy;
  }
};

class Hooks final : public at::PrivateUse1HooksInterface {
 public:
  void init() const override { (void)OpenStream(); }
  bool hasPrimaryContext(c10::DeviceIndex /*device*/) const override { return IsOpen(); }
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return IsAvailable(); }
  c10::DeviceIndex deviceCount() const override { return IsAvailable() ? 1 : 0; }
  void setCurrentDevice(c10::DeviceIndex device) const override {
    c10::impl::getDeviceGuardImpl(kDeviceType)->setDevice({kDeviceType, device});
  }
  c10::DeviceIndex getCurrentDevice() const override { return 0; }
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex device) const override {
    setCurrentDevice(device);
    return 0;
  }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex device) const override {
    return exchangeDevice(device);
  }

  at::Allocator* getPinnedMemoryAllocator() const override { return PinnedMemory(); }
  bool isPinnedPtr(const void* data) const override { return IsPinned(data); }
  at::Device getDeviceFromPtr(void* data) const override {
    spirloom_bytes block{};
    Call(spirloom_stream_find, OpenStream(), data, &block);
    return {kDeviceType, 0};
  }

  const at::Generator& getDefaultGenerator(c10::DeviceIndex /*device*/) const override {
    return DefaultGenerator();
  }
  at::Generator getNewGenerator(c10::DeviceIndex /*device*/) const override {
    return at::make_generator<DeviceGenerator>();
  }

  void resizePrivateUse1Bytes(const c10::Storage& storage, size_t size) const override {
    ResizeStorage(*storage.unsafeGetStorageImpl(), size);
  }
};

const bool hooks_registered = [] {
  at::RegisterPrivateUse1HooksInterface(new Hooks);
  return true;
}();

}  // namespace

const at::Generator& DefaultGenerator() {
  (void)hooks_registered;
  static const at::Generator* const generator =
      new at::Generator(at::make_generator<DeviceGenerator>());
  return *generator;
}

}  // namespace spirloom::pytorch
