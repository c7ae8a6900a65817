// Conversions of dtypes on the device. int64, which the runtime lacks, are pairs of int32 there:
// the low word and the high word, in a further dimension.
#ifndef SPIRLOOM_INTEGRATIONS_TORCH_CONVERSIONS_H_
#define SPIRLOOM_INTEGRATIONS_TORCH_CONVERSIONS_H_

#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

namespace spirloom::pytorch {

// The sizes of int64 elements as pairs.
std::vector<int64_t> PairSizes(at::IntArrayRef sizes);

// A copy of a contiguous device tensor in another dtype, rounded as on the CPU. Floats out of the
// range of an integer dtype, which C++ leaves undefined, become other values than on the CPU. None
// if no kernel makes it.
std::optional<at::Tensor> CastTo(const at::Tensor& tensor, c10::ScalarType type);

// Indices for kernels: int32, where indices out of its range become its limits, so that they remain
// out of range. None if no kernel makes it, or for another dtype than int64 and int32.
std::optional<at::Tensor> IndicesOf(const at::Tensor& tensor);

}  // namespace spirloom::pytorch

#endif  // SPIRLOOM_INTEGRATIONS_TORCH_CONVERSIONS_H_
