// Copies of constants from a file to mapped device memory, on several threads.
#ifndef SPIRLOOM_RUNTIME_GRAPH_CONSTANTS_PARALLEL_COPY_H_
#define SPIRLOOM_RUNTIME_GRAPH_CONSTANTS_PARALLEL_COPY_H_

#include <cstddef>
#include <span>

#include "runtime/base/host.h"
#include "spirloom/status.h"

namespace spirloom::graph {

struct HostCopy {
  std::byte* target;
  std::span<const std::byte> source;
};

// Performs the copies in chunks, on threads of `host` if they exceed 1 MiB, and returns after all.
// Releases the pages of a mapped file after copying, so that the data are not resident twice. Not
// `is_mapped`: the memory is the application's and may be a mapped file.
Status CopyInParallel(const Host& host, std::span<const HostCopy> copies, bool is_mapped);

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_CONSTANTS_PARALLEL_COPY_H_
