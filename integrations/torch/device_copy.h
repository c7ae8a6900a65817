// Copies on the device between layouts and dtypes, by the runtime's operators.
#ifndef SPIRLOOM_INTEGRATIONS_TORCH_DEVICE_COPY_H_
#define SPIRLOOM_INTEGRATIONS_TORCH_DEVICE_COPY_H_

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <optional>
#include <string>

#include "spirloom/spirloom.h"

namespace spirloom::pytorch {

// The maximum number of dimensions of a tensor in a call.
inline constexpr size_t kMaxRank = 8;

// The runtime's dtype, and PyTorch's; none for dtypes that the other side lacks.
std::optional<spirloom_dtype> DTypeOf(c10::ScalarType type);
std::optional<c10::ScalarType> TypeOf(spirloom_dtype dtype);

// The index of an operator of the runtime by its name, or none. Opens the device.
std::optional<size_t> FindOperator(const std::string& name);

// A tensor over the block of a result, which it owns. `type` has the size of the result's dtype, or
// a multiple of it.
at::Tensor WrapResult(const spirloom_device_tensor& result, c10::ScalarType type,
                      at::IntArrayRef sizes);

// A row-major copy of a device tensor without conjugate and negative bits. None if no kernel makes
// it.
std::optional<at::Tensor> MakeContiguous(const at::Tensor& tensor);

// A copy of a contiguous device tensor in another dtype, rounded as on the CPU. None if no kernel
// makes it.
std::optional<at::Tensor> CastTo(const at::Tensor& tensor, c10::ScalarType type);

}  // namespace spirloom::pytorch

#endif  // SPIRLOOM_INTEGRATIONS_TORCH_DEVICE_COPY_H_
