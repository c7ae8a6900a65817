// The parts of a delegate blob.
#ifndef SPIRLOOM_INTEGRATIONS_EXECUTORCH_BLOB_BLOB_H_
#define SPIRLOOM_INTEGRATIONS_EXECUTORCH_BLOB_BLOB_H_

#include <cstddef>
#include <span>

#include "spirloom/status.h"

namespace spirloom::delegate {

// Refers to the blob.
struct BlobParts {
  std::span<const std::byte> graph;      // a FlatBuffer, vk_graph.fbs
  std::span<const std::byte> constants;  // what constants without a key lie in
};

// The parts that the header of `blob` names. Fails with kInvalidFile unless both lie in it.
Result<BlobParts> SplitBlob(std::span<const std::byte> blob);

}  // namespace spirloom::delegate

#endif  // SPIRLOOM_INTEGRATIONS_EXECUTORCH_BLOB_BLOB_H_
