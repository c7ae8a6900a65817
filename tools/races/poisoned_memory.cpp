#include "tools/races/poisoned_memory.h"

namespace spirloom::tools {

Status PoisonedMemory::Allocated(const graph::PlanTensor& tensor,
                                 const graph::TensorResource& resource) {
  if (tensor.is_temporary() || tensor.output >= 0) transient_[&resource] = tensor.desc.dtype;
  return FillMemory(scratch_, resource, tensor.desc.dtype, value_);
}

Status PoisonedMemory::Refill() {
  for (const auto& [resource, dtype] : transient_) {
    SPIRLOOM_TRY(FillMemory(scratch_, *resource, dtype, value_));
  }
  return Status();
}

}  // namespace spirloom::tools
