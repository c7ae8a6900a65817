// Copies constants from the host to buffers that it cannot map.
#ifndef SPIRLOOM_RUNTIME_GRAPH_CONSTANTS_CONSTANT_UPLOAD_H_
#define SPIRLOOM_RUNTIME_GRAPH_CONSTANTS_CONSTANT_UPLOAD_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/graph/record/recorder.h"
#include "runtime/vulkan/buffer.h"
#include "spirloom/status.h"

namespace spirloom::graph {

// Gathers pieces of tensors in a staging buffer, which is copied out whenever it is full. Owns that
// buffer; refers to the arguments of its constructor.
class ConstantUpload {
 public:
  // The staging buffer, of `staging_size` bytes, is made at the first Add(). `is_mapped`: the data
  // are of mapped files.
  ConstantUpload(const vulkan::Device& device, const RecorderResources& resources,
                 uint64_t staging_size, bool is_mapped)
      : device_(device),
        resources_(resources),
        staging_size_(staging_size),
        is_mapped_(is_mapped) {}

  // Copies `total` bytes, zeros if `data` is null, to the start of the tensor's buffer, at the
  // latest when Flush() returns.
  Status Add(uint32_t tensor, const std::byte* data, size_t total);
  // Copies out what is gathered, and waits.
  Status Flush();

  // Copies `size` bytes, or zeros. Lets go of pages of a mapped file as it goes, so that what they
  // hold takes memory once.
  static void Fill(std::byte* target, const std::byte* data, size_t size, bool is_mapped);
  // What a tensor of `size` bytes takes of the staging buffer.
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

#endif  // SPIRLOOM_RUNTIME_GRAPH_CONSTANTS_CONSTANT_UPLOAD_H_
