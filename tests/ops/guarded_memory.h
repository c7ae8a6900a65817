// Adds guard bytes around all tensors of a model, and checks them when the memory is freed.
#ifndef SPIRLOOM_TESTS_OPS_GUARDED_MEMORY_H_
#define SPIRLOOM_TESTS_OPS_GUARDED_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/graph/memory/tensor_store.h"
#include "spirloom/status.h"
#include "spirloom/types.h"
#include "tools/races/tensor_memory.h"

namespace spirloom::testing {

using tools::Scratch;

// Fills all memory with one value before its first use, including the guard bytes (which begin at
// the end of a buffer, padded to 16 bytes). Reports an error for
//   - a guard byte with another value when the memory is freed: an out-of-bounds write;
//   - a nonzero component of a texel beyond the tensor's channels.
// Out-of-bounds reads make the outputs of the model depend on the value. Must outlive the observed
// model; `scratch` must outlive this object.
class GuardedMemory : public graph::TensorWatch {
 public:
  GuardedMemory(Scratch& scratch, std::byte value) : scratch_(scratch), value_(value) {}

  uint64_t margin() const override { return 4096; }
  Status Allocated(const graph::PlanTensor& tensor, const graph::TensorResource& resource) override;
  void Released(const graph::TensorResource& resource) override;

  // One line for each tensor with an error; complete after the model is destroyed.
  const std::string& errors() const { return errors_; }

 private:
  struct Tensor {
    std::string name;
    Storage storage;
    DType dtype;
    ops::Ints shape;
    uint64_t size;  // of the buffer, in bytes
  };

  Result<std::vector<std::byte>> Read(const graph::TensorResource& resource) const;
  std::string CheckBuffer(const Tensor& tensor, const std::vector<std::byte>& bytes) const;
  std::string CheckTexels(const Tensor& tensor, const std::vector<std::byte>& texels) const;

  Scratch& scratch_;
  const std::byte value_;
  std::map<const graph::TensorResource*, Tensor> tensors_;
  std::string errors_;
};

}  // namespace spirloom::testing

#endif  // SPIRLOOM_TESTS_OPS_GUARDED_MEMORY_H_
