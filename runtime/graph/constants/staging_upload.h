// Uploads constants through staging buffers.
#ifndef SPIRLOOM_RUNTIME_GRAPH_CONSTANTS_STAGING_UPLOAD_H_
#define SPIRLOOM_RUNTIME_GRAPH_CONSTANTS_STAGING_UPLOAD_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "runtime/graph/constants/async_commands.h"
#include "runtime/graph/memory/memory_budget.h"
#include "runtime/graph/record/recorder.h"
#include "runtime/vulkan/buffer.h"
#include "spirloom/status.h"

namespace spirloom::graph {

// Copies tensors through two staging buffers: the device reads one while host threads fill the
// other. Owns the staging buffers, which the destructor waits for; holds references to the
// constructor arguments.
class StagingUpload {
 public:
  // The staging buffers of `staging_size` bytes are created when they are first filled, and charged
  // to `budget`. `is_mapped`: the data are in a mapped file.
  StagingUpload(const vulkan::Device& device, const RecorderResources& resources,
                std::shared_ptr<MemoryBudget> budget, uint64_t staging_size, bool is_mapped)
      : device_(device),
        resources_(resources),
        budget_(std::move(budget)),
        staging_size_(staging_size),
        is_mapped_(is_mapped),
        slots_{Slot(device), Slot(device)} {}

  // Copies `data` to the start of the tensor's buffer. Reads `data`, which must remain valid, until
  // Finish() returns.
  Status Add(uint32_t tensor, std::span<const std::byte> data);
  // Submits the remaining copies and waits for all.
  Status Finish();

  // Returns the bytes that a tensor of `size` bytes occupies in a staging buffer.
  static uint64_t StagedSize(uint64_t size);

 private:
  struct Piece {
    uint32_t tensor;
    uint64_t offset;
    uint64_t staging_offset;
    std::span<const std::byte> data;
  };

  struct Slot {
    explicit Slot(const vulkan::Device& device) : commands(device) {}
    std::optional<Reservation> reservation;
    std::optional<vulkan::Buffer> staging;
    AsyncCommands commands;  // destroyed first
  };

  // Fills the current staging buffer with the collected pieces, submits their copies, and continues
  // with the other buffer.
  Status Flush();

  const vulkan::Device& device_;
  const RecorderResources& resources_;
  const std::shared_ptr<MemoryBudget> budget_;
  const uint64_t staging_size_;
  const bool is_mapped_;
  std::array<Slot, 2> slots_;
  size_t current_ = 0;   // index of the slot of `pieces_`
  uint64_t staged_ = 0;  // bytes of `pieces_` in the staging buffer
  std::vector<Piece> pieces_;
};

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_CONSTANTS_STAGING_UPLOAD_H_
