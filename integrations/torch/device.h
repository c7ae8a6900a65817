// The Vulkan device of the process, opened at its first use, and calls of Spirloom's C API.
#ifndef SPIRLOOM_INTEGRATIONS_TORCH_DEVICE_H_
#define SPIRLOOM_INTEGRATIONS_TORCH_DEVICE_H_

#include <c10/core/Device.h>
#include <c10/core/DispatchKey.h>

#include <string>

#include "spirloom/spirloom.h"

namespace spirloom::pytorch {

// PyTorch's device type for backends of other packages. Its name is set to "vulkan" from Python.
inline constexpr c10::DeviceType kDeviceType = c10::DeviceType::PrivateUse1;
inline constexpr c10::DispatchKey kDispatchKey = c10::DispatchKey::PrivateUse1;

// Raises the exception of a failed call, and destroys `error`: torch.OutOfMemoryError for exhausted
// memory, otherwise RuntimeError.
[[noreturn]] void Raise(spirloom_error* error);

// Calls a function of the C API with these arguments. Raises its error.
template <typename Function, typename... Arguments>
void Call(Function function, Arguments... arguments) {
  spirloom_error* error = nullptr;
  if (function(arguments..., &error) != SPIRLOOM_OK) Raise(error);
}

// Sets the shader library (.slpack) of the device, before it is opened.
void SetShaders(const std::string& path);

// Whether the machine has a Vulkan device. A short-lived child process asks the drivers, so that
// processes that are forked later can open the device. The answer of the first call is kept.
bool IsAvailable() noexcept;
// Whether this process has opened the device.
bool IsOpen() noexcept;
// Whether this process was forked from one that had opened the device: it cannot be used.
bool IsForked() noexcept;

// The device's runtime and stream. Opens the device; raises RuntimeError if that fails, or in a
// forked process. They exist until the process ends: tensors may be freed after everything else.
spirloom_runtime* OpenRuntime();
spirloom_stream* OpenStream();

}  // namespace spirloom::pytorch

#endif  // SPIRLOOM_INTEGRATIONS_TORCH_DEVICE_H_
