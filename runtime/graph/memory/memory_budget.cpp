#include "runtime/graph/memory/memory_budget.h"

#include "runtime/base/error.h"

namespace spirloom::graph {

Status MemoryBudget::Reserve(uint64_t bytes) {
  if (bytes <= limit_ - reserved_) {
    reserved_ += bytes;
    return Status();
  }
  return Error(StatusCode::kOutOfMemory,
               {"Device memory of the model (", reserved_, " bytes, ", bytes,
                " more requested) exceeds the limit (", limit_,
                " bytes), which depends on the file size. Raise ModelOptions::max_device_bytes for "
                "trusted files."});
}

}  // namespace spirloom::graph
