// The types of tensors in words and bytes.
#ifndef SPIRLOOM_RUNTIME_GRAPH_FILE_TENSOR_SIZE_H_
#define SPIRLOOM_RUNTIME_GRAPH_FILE_TENSOR_SIZE_H_

#include <cstddef>
#include <string>

#include "runtime/ops/eval.h"
#include "spirloom/status.h"

namespace spirloom::graph {

// Returns e.g. "float32 [2, 3]".
std::string Describe(const ops::TensorDesc& desc);

// The dense size in bytes. Fails with kUnsupported beyond INT32_MAX elements.
Result<size_t> DenseSize(const ops::TensorDesc& desc);

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_FILE_TENSOR_SIZE_H_
