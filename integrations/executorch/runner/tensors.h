// Input tensors of a method, and text of its outputs.
#ifndef SPIRLOOM_INTEGRATIONS_EXECUTORCH_RUNNER_TENSORS_H_
#define SPIRLOOM_INTEGRATIONS_EXECUTORCH_RUNNER_TENSORS_H_

#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/executor/method_meta.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "spirloom/status.h"

namespace spirloom::runner {

// A tensor and its memory.
struct OwnedTensor {
  std::vector<std::byte> bytes;
  std::vector<::executorch::aten::SizesType> sizes;
  std::vector<::executorch::aten::DimOrderType> dim_order;
  std::vector<::executorch::aten::StridesType> strides;
  std::unique_ptr<::executorch::aten::TensorImpl> impl;
};

// The inputs of a method.
struct Inputs {
  std::vector<std::unique_ptr<OwnedTensor>> tensors;
  std::vector<::executorch::runtime::EValue> values;
};

// Tensors of the method's declared sizes, read from `files` or filled with ones; other inputs
// are 1. Fails if a file cannot be read or has another size.
Result<Inputs> MakeInputs(const ::executorch::runtime::MethodMeta& method,
                          std::span<const std::string> files);

// E.g. "tensor(sizes=[1, 3], [0.5, 1, 2])". With more than `edge_items` elements at both ends,
// omits those between.
std::string Describe(const ::executorch::runtime::EValue& value, size_t edge_items);

}  // namespace spirloom::runner

#endif  // SPIRLOOM_INTEGRATIONS_EXECUTORCH_RUNNER_TENSORS_H_
