// The implementation of Stream.
#ifndef SPIRLOOM_RUNTIME_EAGER_STREAM_STATE_H_
#define SPIRLOOM_RUNTIME_EAGER_STREAM_STATE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "runtime/eager/allocator.h"
#include "runtime/eager/call_plan.h"
#include "runtime/eager/command_ring.h"
#include "runtime/eager/descriptor_arena.h"
#include "runtime/eager/staging.h"
#include "runtime/session/runtime_state.h"
#include "spirloom/stream.h"

namespace spirloom::internal {

// How a stream copies between host and device.
enum class StreamAccess : uint8_t {
  kMapped,  // segments are mapped: the host copies if no command uses the block
  kStaged,  // through staging buffers
};

// kMapped for devices with unified memory.
StreamAccess StreamAccessOf(const vulkan::Device& device);

// See Stream for its functions; each of them takes the lock.
class StreamState {
 public:
  StreamState(std::shared_ptr<RuntimeState> runtime, const StreamOptions& options,
              StreamAccess access);

  Result<void*> Allocate(size_t size);
  Status Free(void* address);
  Result<StreamBlock> Find(const void* address);
  Status Write(void* target, const void* source, size_t size);
  Status Read(void* target, const void* source, size_t size);
  Status Copy(void* target, const void* source, size_t size);
  Status Fill(void* target, size_t size, uint32_t pattern, size_t pattern_size);
  Result<std::vector<StreamTensor>> Call(size_t op, std::span<const StreamArgument> arguments);
  uint64_t last_command();
  Result<bool> IsDone(uint64_t index);
  Status Wait(uint64_t index);
  Status Submit();
  Status EmptyCache();
  StreamStats Stats();
  void ResetPeaks();
  void ResetTotals();

 private:
  // A range of a block.
  struct Range {
    eager::Block* block;
    uint64_t offset;  // in the block
    uint64_t size;

    VkBuffer buffer() const { return block->segment->buffer.handle(); }
    VkDeviceSize buffer_offset() const {
      return block->segment->buffer.offset() + block->offset + offset;
    }
    std::byte* host() const { return block->segment->buffer.mapped() + block->offset + offset; }
    Range Part(uint64_t begin, uint64_t count) const { return {block, offset + begin, count}; }
  };

  class CallMemory;

  // An access of a command to a block.
  struct Use {
    eager::Block* block;
    bool reads;
    bool writes;
  };

  // The range at a device address. Fails with kInvalidArgument; `what` names the argument.
  Result<Range> FindRange(const char* what, const void* address, size_t size);
  // The command buffer for a command with these accesses, after a barrier if it depends on earlier
  // commands.
  Result<vulkan::CommandBuffer*> Begin(std::span<const Use> uses);
  Status WriteStaged(const Range& target, const std::byte* source);
  Status WriteAny(const Range& target, const std::byte* source);
  Status ReadStaged(std::byte* target, const Range& source);
  Status CopyRange(const Range& target, const Range& source);
  Status FillRange(const Range& target, const uint8_t (&pattern)[4]);
  Result<eager::Block*> AllocateBlock(uint64_t size);
  Status RecordDispatch(const eager::CallPlan& plan, const graph::Dispatch& dispatch,
                        const CallMemory& memory, std::span<const StreamArgument> arguments);

  const std::shared_ptr<RuntimeState> runtime_;
  const StreamAccess access_;
  const uint64_t binding_alignment_;  // of the offsets of bound ranges
  std::mutex mutex_;
  // Destroyed from last to first: the ring waits for the device first.
  eager::Allocator allocator_;
  eager::UploadStaging upload_;
  eager::ReadbackStaging readback_;
  eager::CallPlans plans_;
  eager::DescriptorArena descriptors_;
  eager::CommandRing ring_;
  uint64_t last_barrier_ = 0;       // commands up to this index precede the last barrier
  eager::Block* unused_ = nullptr;  // bound for absent and empty tensors
  std::vector<Use> uses_;           // of the current dispatch
  std::vector<eager::BufferPart> parts_;
  std::vector<std::byte> push_;
  uint64_t expected_ns_ = 0;  // time of the calls since the last submission for their time
  uint64_t retries_ = 0;
  uint64_t out_of_memory_ = 0;
};

}  // namespace spirloom::internal

#endif  // SPIRLOOM_RUNTIME_EAGER_STREAM_STATE_H_
