#include "runtime/graph/memory/memory_budget.h"

#include "runtime/base/error.h"

namespace spirloom::graph {

Status MemoryBudget::Take(uint64_t bytes) {
  if (bytes <= most_ - taken_) {
    taken_ += bytes;
    return Status();
  }
  return Error(StatusCode::kOutOfMemory,
               {"Device memory for the model (", bytes, " bytes beside the ", taken_,
                " that it has) exceeds its limit (", most_,
                "), which follows from the size of its file. If the file can be trusted, raise "
                "ModelOptions::max_device_bytes."});
}

}  // namespace spirloom::graph
