#include "runtime/graph/file/tensor_size.h"

#include <algorithm>
#include <limits>

#include "runtime/base/error.h"

namespace spirloom::graph {

std::string Describe(const ops::TensorDesc& desc) {
  return Concat({LongName(desc.dtype), " ", ToString(Shape(desc.shape.begin(), desc.shape.end()))});
}

Result<size_t> DenseSize(const ops::TensorDesc& desc) {
  constexpr int64_t kMaxElements = std::numeric_limits<int32_t>::max();
  int64_t count = 1;
  for (int64_t dim : desc.shape) {
    if (dim < 0 || dim > kMaxElements || (dim > 0 && count > kMaxElements / dim)) {
      return Error(StatusCode::kUnsupported,
                   {"Tensor ", Describe(desc), " has more than 2147483647 elements."});
    }
    count *= std::max<int64_t>(dim, 1);
  }
  const bool empty = std::find(desc.shape.begin(), desc.shape.end(), 0) != desc.shape.end();
  return empty ? size_t{0} : static_cast<size_t>(count) * ElementSize(desc.dtype);
}
}  // namespace spirloom::graph
