// Uploads constants through a staging buffer.
#ifndef SPIRLOOM_RUNTIME_GRAPH_CONSTANTS_STAGING_UPLOAD_H_
#define SPIRLOOM_RUNTIME_GRAPH_CONSTANTS_STAGING_UPLOAD_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/graph/record/recorder.h"
#include "runtime/vulkan/buffer.h"
#include "spirloom/status.h"

namespace spirloom::graph {

// Collects pieces of tensors in a staging buffer and flushes it when it is full. Owns the staging
// buffer; holds references to the constructor arguments.
class StagingUpload {
 public:
  // The staging buffer of `staging_size` bytes is created by the first Add(). `is_mapped`: the data
  // are in a mapped file.
  StagingUpload(const vulkan::Device& device, const RecorderResources& resources,
                uint64_t staging_size, bool is_mapped)
      : device_(device),
        resources_(resources),
        staging_size_(staging_size),
        is_mapped_(is_mapped) {}

  // Copies `total` bytes to the start of the tensor's buffer. Complete
  // when Flush() has returned.
  Status Add(uint32_t tensor, const std::byte* data, size_t total);
  // Submits the collected copies and waits for them.
  Status Flush();

  // Copies `size` bytes. Releases the pages of a mapped file after
  // copying, so that the data are not resident twice.
  static void Fill(std::byte* target, const std::byte* data, size_t size, bool is_mapped);
  // Returns the bytes that a tensor of `size` bytes occupies in the staging buffer.
  static uint64_t StagedSize(uint64_t size);

 private:
  struct Piece {
    uint32_t tensor;
    uint64_t offset;
    uint64_t staging_offset;
    uint64_t size;
  };

  const vulkan::Device& device_;
  const RecorderResources& resources_;
  const uint64_t staging_size_;
  const bool is_mapped_;
  std::optional<vulkan::Buffer> staging_;
  uint64_t staged_ = 0;
  std::vector<Piece> pieces_;
};

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_CONSTANTS_STAGING_UPLOAD_H_
