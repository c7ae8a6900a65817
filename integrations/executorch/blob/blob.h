// The header of a delegate blob.
#ifndef SPIRLOOM_INTEGRATIONS_EXECUTORCH_BLOB_BLOB_H_
#define SPIRLOOM_INTEGRATIONS_EXECUTORCH_BLOB_BLOB_H_

#include <cstddef>
#include <span>

#include "spirloom/status.h"

namespace spirloom::delegate {

// The sections of a blob. They point into the blob.
struct BlobParts {
  std::span<const std::byte> graph;      // a FlatBuffer, vk_graph.fbs
  std::span<const std::byte> constants;  // data of the constants without a key
};

// Reads the header of `blob`. Fails with kInvalidFile if a section exceeds the blob.
Result<BlobParts> SplitBlob(std::span<const std::byte> blob);

}  // namespace spirloom::delegate

#endif  // SPIRLOOM_INTEGRATIONS_EXECUTORCH_BLOB_BLOB_H_
