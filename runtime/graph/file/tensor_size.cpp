#include "runtime/graph/file/tensor_size.h"

#include <algorithm>

#include "runtime/base/error.h"

namespace spirloom::graph {

std::string Describe(const ops::TensorDesc& desc) {
  return Concat(LongName(desc.dtype), " ",
                spirloom::ToString(Shape(desc.shape.begin(), desc.shape.end())));
}

Result<uint64_t> DenseSize(const ops::TensorDesc& desc) {
  uint64_t count = 1;
  for (int64_t signed_dim : desc.shape) {
    const auto dim = static_cast<uint64_t>(signed_dim);  // a negative value exceeds kMaxElements
    if (dim > kMaxElements || (dim > 0 && count > kMaxElements / dim)) {
      return Error(StatusCode::kUnsupported, "Tensor {} has more than {} elements.", Describe(desc),
                   kMaxElements);
    }
    count *= std::max<uint64_t>(dim, 1);
  }
  const bool empty = std::find(desc.shape.begin(), desc.shape.end(), 0) != desc.shape.end();
  return empty ? uint64_t{0} : count * ElementSize(desc.dtype);
}

}  // namespace spirloom::graph
