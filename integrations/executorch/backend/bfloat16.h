// bfloat16 tensors at the border of a delegate, which computes in float32.
#ifndef SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_BFLOAT16_H_
#define SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_BFLOAT16_H_

#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>

#include <optional>
#include <vector>

#include "integrations/executorch/backend/delegate_values.h"
#include "spirloom/status.h"
#include "spirloom/types.h"

namespace spirloom::delegate {

bool IsBfloat16(const EValue& value);

// A float32 tensor in place of a bfloat16 tensor: the same sizes, with memory of its own.
class F32Tensor {
 public:
  // The values of a bfloat16 tensor. Valid until the next call.
  EValue& From(const EValue& source);
  // A tensor for results of `shape`, to which `target` is resized. Valid until the next call. Fails
  // with kInvalidArgument if the shape exceeds the memory of `target`.
  Result<EValue*> For(EValue& target, const Shape& shape);
  // Rounds the elements to `target`, the tensor of the last call of For().
  void StoreTo(EValue& target) const;

 private:
  void Reset(const ::executorch::aten::Tensor& like);

  std::vector<float> data_;
  std::vector<::executorch::aten::SizesType> sizes_;
  std::vector<::executorch::aten::DimOrderType> dim_order_;
  std::vector<::executorch::aten::StridesType> strides_;
  std::optional<::executorch::aten::TensorImpl> impl_;
  EValue value_;
};

}  // namespace spirloom::delegate

#endif  // SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_BFLOAT16_H_
