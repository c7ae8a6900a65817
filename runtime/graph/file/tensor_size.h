// The types of tensors in words and bytes.
#ifndef SPIRLOOM_RUNTIME_GRAPH_FILE_TENSOR_SIZE_H_
#define SPIRLOOM_RUNTIME_GRAPH_FILE_TENSOR_SIZE_H_

#include <cstdint>
#include <limits>
#include <string>

#include "runtime/ops/eval.h"
#include "spirloom/status.h"

namespace spirloom::graph {

// What a tensor has at most: kernels count elements with 32 bits.
inline constexpr uint64_t kMaxElements = std::numeric_limits<int32_t>::max();

// Returns e.g. "float32 [2, 3]".
std::string Describe(const ops::TensorDesc& desc);

// The dense size in bytes, which may be more than a host of 32 bits can address. Fails with
// kUnsupported beyond kMaxElements.
Result<uint64_t> DenseSize(const ops::TensorDesc& desc);

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_FILE_TENSOR_SIZE_H_
