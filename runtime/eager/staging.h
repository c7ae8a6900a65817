// Memory for copies between the host and device memory that the host cannot access.
#ifndef SPIRLOOM_RUNTIME_EAGER_STAGING_H_
#define SPIRLOOM_RUNTIME_EAGER_STAGING_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "runtime/eager/command_ring.h"
#include "runtime/vulkan/buffer.h"
#include "spirloom/status.h"

namespace spirloom::eager {

// Maximum bytes of one staged copy. Longer copies are divided.
inline constexpr uint64_t kMaxStagedBytes = uint64_t{4} << 20;

// A part of a mapped buffer.
struct StagedBytes {
  std::byte* host;
  VkBuffer buffer;
  VkDeviceSize offset;
};

// Buffers that the host fills and the device reads. Owns them; the device must have finished when
// it is destroyed.
class UploadStaging {
 public:
  UploadStaging(const vulkan::Device& device, CommandRing& ring) : device_(device), ring_(ring) {}

  // `size` bytes, at most kMaxStagedBytes, for the next command of the ring, which reads them.
  // Waits for earlier commands if all buffers are in use.
  Result<StagedBytes> Take(uint64_t size);

 private:
  // A filled buffer, and the last command that reads it.
  struct Chunk {
    vulkan::Buffer buffer;
    uint64_t last;
  };

  Status NextChunk();

  const vulkan::Device& device_;
  CommandRing& ring_;
  std::optional<vulkan::Buffer> current_;
  uint64_t used_ = 0;  // bytes of the current buffer
  std::deque<Chunk> filled_;
};

// A buffer that the device fills and the host reads.
class ReadbackStaging {
 public:
  explicit ReadbackStaging(const vulkan::Device& device) : device_(device) {}

  // `size` bytes, at most kMaxStagedBytes. The commands of the previous bytes must have completed.
  Result<StagedBytes> Take(uint64_t size);

 private:
  const vulkan::Device& device_;
  std::optional<vulkan::Buffer> buffer_;
};

}  // namespace spirloom::eager

#endif  // SPIRLOOM_RUNTIME_EAGER_STAGING_H_
