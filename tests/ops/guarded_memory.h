// Puts guard bytes around every tensor of a model and looks at them when the memory is freed.
#ifndef SPIRLOOM_TESTS_OPS_GUARDED_MEMORY_H_
#define SPIRLOOM_TESTS_OPS_GUARDED_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/graph/memory/tensor_store.h"
#include "runtime/vulkan/device.h"
#include "spirloom/status.h"
#include "spirloom/types.h"

namespace spirloom::testing {

// Fills all memory, guards included (which begin where a buffer, padded to 16 bytes, ends), with
// one value before it is used, and complains of
//   - a guard byte that has another value when the memory is freed: something wrote there;
//   - a lane of a texel beyond the tensor's channels that does not hold zero.
// Reads outside a tensor show in what the model computes, which then depends on the value. Must
// outlive the model that it watches.
class GuardedMemory : public graph::TensorWatch {
 public:
  GuardedMemory(const vulkan::Device& device, std::byte value) : device_(device), value_(value) {}

  uint64_t margin() const override { return 4096; }
  Status Allocated(const graph::PlanTensor& tensor, const graph::TensorResource& resource) override;
  void Released(const graph::TensorResource& resource) override;

  // A line for each tensor that something is wrong with; complete when the model is gone.
  const std::string& complaints() const { return complaints_; }

 private:
  struct Tensor {
    std::string name;
    Storage storage;
    DType dtype;
    ops::Ints shape;
    uint64_t size;  // of its buffer, in bytes
  };

  Result<std::vector<std::byte>> Read(const graph::TensorResource& resource) const;
  std::string CheckBuffer(const Tensor& tensor, const std::vector<std::byte>& bytes) const;
  std::string CheckTexels(const Tensor& tensor, const std::vector<std::byte>& texels) const;

  const vulkan::Device& device_;
  const std::byte value_;
  std::map<const graph::TensorResource*, Tensor> tensors_;
  std::string complaints_;
};

}  // namespace spirloom::testing

#endif  // SPIRLOOM_TESTS_OPS_GUARDED_MEMORY_H_
