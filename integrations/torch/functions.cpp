// Functions of the device for Python: torch.ops.spirloom_vulkan.
#include <ATen/ATen.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>

#include <string>
#include <tuple>
#include <vector>

#include "integrations/torch/device.h"
#include "integrations/torch/fallback.h"
#include "integrations/torch/generator.h"

namespace spirloom::pytorch {
namespace {

// Names, numbers of calls, and reasons.
using CallLists =
    std::tuple<std::vector<std::string>, std::vector<int64_t>, std::vector<std::string>>;

CallLists CpuCallLists() {
  CallLists lists;
  auto& [names, counts, reasons] = lists;
  for (const CpuCalls& each : CallsOnCpu()) {
    names.push_back(each.name);
    counts.push_back(each.count);
    reasons.push_back(each.reason);
  }
  return lists;
}

std::string DeviceName() {
  spirloom_device_info info = SPIRLOOM_INIT(spirloom_device_info);
  Call(spirloom_runtime_device, OpenRuntime(), &info);
  return info.name;
}

// The tensor as C++ code makes it that names PyTorch's older device type; for tests.
at::Tensor ToVulkanType(const at::Tensor& tensor) { return tensor.to(at::kVulkan); }

// PyTorch's thread for backward passes on this device releases objects of Python after backward()
// has returned. If Python ends meanwhile, the thread cannot take the interpreter's lock, and the
// process aborts. The thread takes the tasks of this pass, which has no such objects, after that.
void FinishBackward() {
  if (!IsOpen() || IsForked()) return;
  const at::AutoGradMode enabled(true);
  const auto options = at::TensorOptions().dtype(at::kFloat).device(kDeviceType);
  at::Tensor leaf = at::empty({1}, options).zero_().set_requires_grad(true);
  at::alias(leaf).backward();
}

TORCH_LIBRARY(spirloom_vulkan, m) {
  m.def("set_shaders(str path) -> ()", [](const std::string& path) { SetShaders(path); });
  m.def("is_available() -> bool", [] { return IsAvailable(); });
  m.def("is_open() -> bool", [] { return IsOpen(); });
  m.def("is_forked() -> bool", [] { return IsForked(); });
  m.def("device_name() -> str", DeviceName);
  m.def("synchronize() -> ()",
        [] { c10::impl::getDeviceGuardImpl(kDeviceType)->synchronizeDevice(0); });
  m.def("finish_backward() -> ()", FinishBackward);
  m.def("default_generator() -> Generator?", [] { return DefaultGenerator(); });
  m.def("cpu_calls() -> (str[], int[], str[])", CpuCallLists);
  m.def("reset_cpu_calls() -> ()", [] { ResetCallsOnCpu(); });
  m.def("to_vulkan_type(Tensor tensor) -> Tensor", ToVulkanType);
}

}  // namespace
}  // namespace spirloom::pytorch
