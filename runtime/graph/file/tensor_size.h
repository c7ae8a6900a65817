// Text and size in bytes of tensor types.
#ifndef SPIRLOOM_RUNTIME_GRAPH_FILE_TENSOR_SIZE_H_
#define SPIRLOOM_RUNTIME_GRAPH_FILE_TENSOR_SIZE_H_

#include <cstdint>
#include <limits>
#include <string>

#include "runtime/ops/eval.h"
#include "spirloom/status.h"

namespace spirloom::graph {

// Maximum number of elements of a tensor: kernels use 32-bit indices.
inline constexpr uint64_t kMaxElements = std::numeric_limits<int32_t>::max();

// Returns e.g. "float32 [2, 3]".
std::string Describe(const ops::TensorDesc& desc);

// Returns the dense size in bytes, which can exceed the address space of a 32-bit host. Fails with
// kUnsupported if there are more than kMaxElements elements.
Result<uint64_t> DenseSize(const ops::TensorDesc& desc);

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_FILE_TENSOR_SIZE_H_
