// Copies on the device between layouts, by the runtime's operators.
#ifndef SPIRLOOM_INTEGRATIONS_TORCH_DEVICE_COPY_H_
#define SPIRLOOM_INTEGRATIONS_TORCH_DEVICE_COPY_H_

#include <ATen/core/Tensor.h>

#include <optional>

namespace spirloom::pytorch {

// The number of elements of the storage from the first to the last one of the tensor.
int64_t SpanOf(const at::Tensor& tensor);

// A row-major copy of a device tensor without conjugate and negative bits. None if no kernel makes
// it.
std::optional<at::Tensor> MakeContiguous(const at::Tensor& tensor);

// Copies a row-major device tensor to a strided one of the same sizes and dtype, whose elements do
// not overlap. False if no kernel does.
bool StoreStrided(const at::Tensor& to, const at::Tensor& from);

}  // namespace spirloom::pytorch

#endif  // SPIRLOOM_INTEGRATIONS_TORCH_DEVICE_COPY_H_
