// Copies of tensors between the host and the device.
#ifndef SPIRLOOM_INTEGRATIONS_TORCH_COPY_H_
#define SPIRLOOM_INTEGRATIONS_TORCH_COPY_H_

#include <ATen/core/Tensor.h>

namespace spirloom::pytorch {

// A tensor on the CPU with the elements, sizes, strides, and the conjugate and negative bits of a
// device tensor. Waits for the device.
at::Tensor ToHost(const at::Tensor& tensor);

// Copies the elements of a tensor on the CPU, which may have another dtype and other strides and
// may be broadcast, to a device tensor. Elements of the storage between those of a view keep their
// values.
void FromHost(const at::Tensor& to, const at::Tensor& from);

}  // namespace spirloom::pytorch

#endif  // SPIRLOOM_INTEGRATIONS_TORCH_COPY_H_
