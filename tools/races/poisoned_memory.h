// Gives each tensor of a model its own memory, filled with a pattern before its use.
#ifndef SPIRLOOM_TOOLS_RACES_POISONED_MEMORY_H_
#define SPIRLOOM_TOOLS_RACES_POISONED_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "runtime/graph/memory/tensor_store.h"
#include "runtime/graph/plan/plan.h"
#include "spirloom/status.h"
#include "tools/races/tensor_memory.h"

namespace spirloom::tools {

// Fills the memory of all tensors with bytes of one value when it is allocated, and that of
// activations and outputs again before each run. Must outlive the observed model; `scratch` must
// outlive this object.
class PoisonedMemory : public graph::TensorWatch {
 public:
  PoisonedMemory(Scratch& scratch, std::byte value) : scratch_(scratch), value_(value) {}

  uint64_t margin() const override { return 0; }
  Status Allocated(const graph::PlanTensor& tensor, const graph::TensorResource& resource) override;
  void Released(const graph::TensorResource& resource) override { transient_.erase(&resource); }

  // Fills the memory of activations and outputs, while no run is in flight.
  Status Refill();

 private:
  Scratch& scratch_;
  const std::byte value_;
  std::unordered_map<const graph::TensorResource*, DType> transient_;
};

}  // namespace spirloom::tools

#endif  // SPIRLOOM_TOOLS_RACES_POISONED_MEMORY_H_
