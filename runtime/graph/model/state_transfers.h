#ifndef SPIRLOOM_RUNTIME_GRAPH_MODEL_STATE_TRANSFERS_H_
#define SPIRLOOM_RUNTIME_GRAPH_MODEL_STATE_TRANSFERS_H_

#include <cstddef>
#include <memory>
#include <span>

#include "runtime/graph/constants/async_commands.h"
#include "runtime/graph/memory/memory_budget.h"
#include "runtime/vulkan/buffer.h"
#include "spirloom/status.h"

namespace spirloom::internal {

// Copies between the host and buffers that may be in memory of the device alone, each completed
// when the function returns. Keeps its commands, and a staging buffer for small downloads (a
// decoder reads tokens after each run). Staging buffers are charged to the budget. Not thread-safe.
//
// Runs end with a barrier, so that copies see their writes; later runs and the host see the copies.
class StateTransfers {
 public:
  StateTransfers(const vulkan::Device& device, std::shared_ptr<graph::MemoryBudget> budget);
  ~StateTransfers();
  StateTransfers(const StateTransfers&) = delete;
  StateTransfers& operator=(const StateTransfers&) = delete;

  // Those that the host cannot map are filled in one submission.
  Status FillWithZeros(std::span<const vulkan::Buffer* const> buffers);
  // `bytes` are all of the buffer.
  Status Upload(std::span<const std::byte> bytes, const vulkan::Buffer& buffer);
  // `bytes` become those of the buffer from `offset` on.
  Status Download(const vulkan::Buffer& buffer, size_t offset, std::span<std::byte> bytes);

 private:
  class Staging;

  template <typename Record>
  Status OnDevice(const Record& record);
  template <typename Copy>
  Status InPieces(const vulkan::Buffer& staging, size_t total, const Copy& copy);

  const vulkan::Device& device_;
  const std::shared_ptr<graph::MemoryBudget> budget_;
  graph::AsyncCommands commands_;
  std::unique_ptr<const Staging> readback_;
};

}  // namespace spirloom::internal

#endif  // SPIRLOOM_RUNTIME_GRAPH_MODEL_STATE_TRANSFERS_H_
