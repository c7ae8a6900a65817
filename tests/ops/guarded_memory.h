// Puts guard bytes around every tensor of a model and looks at them when the memory is freed.
#ifndef SPIRLOOM_TESTS_OPS_GUARDED_MEMORY_H_
#define SPIRLOOM_TESTS_OPS_GUARDED_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/graph/memory/tensor_store.h"
#include "runtime/vulkan/buffer.h"
#include "runtime/vulkan/command_buffer.h"
#include "runtime/vulkan/device.h"
#include "runtime/vulkan/fence.h"
#include "spirloom/status.h"
#include "spirloom/types.h"

namespace spirloom::testing {

// What filling and reading memory takes, made once for many tensors: drivers of GPUs take
// milliseconds for each allocation. Must not outlive the device.
class Scratch {
 public:
  explicit Scratch(const vulkan::Device& device) : device_(device) {}

  // Records with `record` and waits for the execution.
  Status Execute(const std::function<void(vulkan::CommandBuffer&)>& record);
  // A buffer of at least so many bytes that the host sees too, until the next call.
  Result<const vulkan::Buffer*> Bytes(uint64_t size);

  const vulkan::DeviceFunctions& fn() const { return device_.fn(); }

 private:
  const vulkan::Device& device_;
  std::optional<vulkan::CommandBuffer> commands_;
  std::optional<vulkan::Fence> fence_;
  std::optional<vulkan::Buffer> bytes_;
};

// Fills all memory, guards included (which begin where a buffer, padded to 16 bytes, ends), with
// one value before it is used, and complains of
//   - a guard byte that has another value when the memory is freed: something wrote there;
//   - a lane of a texel beyond the tensor's channels that does not hold zero.
// Reads outside a tensor show in what the model computes, which then depends on the value. Must
// outlive the model that it watches, and `scratch` must outlive it.
class GuardedMemory : public graph::TensorWatch {
 public:
  GuardedMemory(Scratch& scratch, std::byte value) : scratch_(scratch), value_(value) {}

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

  Scratch& scratch_;
  const std::byte value_;
  std::map<const graph::TensorResource*, Tensor> tensors_;
  std::string complaints_;
};

}  // namespace spirloom::testing

#endif  // SPIRLOOM_TESTS_OPS_GUARDED_MEMORY_H_
