// Numbers as arguments of kernels that take tensors.
#ifndef SPIRLOOM_INTEGRATIONS_TORCH_NUMBERS_H_
#define SPIRLOOM_INTEGRATIONS_TORCH_NUMBERS_H_

#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>
#include <c10/core/ScalarType.h>

namespace spirloom::pytorch {

// A device tensor without dimensions that has this value; it is kept for further calls, and must
// not be written. The number is not complex.
at::Tensor NumberOnDevice(const at::Scalar& value, c10::ScalarType type);

}  // namespace spirloom::pytorch

#endif  // SPIRLOOM_INTEGRATIONS_TORCH_NUMBERS_H_
