// Adds guard bytes around all tensors of a model, and checks them when the memory is freed.
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

// A command buffer, a fence and a host-visible buffer, reused for many tensors because an
// allocation takes milliseconds on GPUs. Must not outlive the device.
class Scratch {
 public:
  explicit Scratch(const vulkan::Device& device) : device_(device) {}

  // Records commands with `record`, submits them, and waits for completion.
  Status Execute(const std::function<void(vulkan::CommandBuffer&)>& record);
  // A host-visible buffer of at least `size` bytes, valid until the next call.
  Result<const vulkan::Buffer*> Bytes(uint64_t size);

  const vulkan::DeviceFunctions& fn() const { return device_.fn(); }

 private:
  const vulkan::Device& device_;
  std::optional<vulkan::CommandBuffer> commands_;
  std::optional<vulkan::Fence> fence_;
  std::optional<vulkan::Buffer> bytes_;
};

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
