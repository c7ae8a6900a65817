// Resource limits of a graph, against malicious files.
#ifndef SPIRLOOM_RUNTIME_GRAPH_PLAN_LIMITS_H_
#define SPIRLOOM_RUNTIME_GRAPH_PLAN_LIMITS_H_

#include <cstdint>

#include "runtime/graph/file/graph.h"

namespace spirloom::graph {

// A node of a few bytes can request any number of dispatches and tensors of any size, so the limits
// depend on the file size. A dispatch occupies about 3 KiB of host memory.
struct Limits {
  uint64_t dispatches = 0;    // of all nodes, including constant nodes
  uint64_t device_bytes = 0;  // at any time

  // Returns the default limits (docs/reference/limits.md): a constant for small models, plus an
  // amount per byte of the file.
  static constexpr Limits Of(const Graph& graph) {
    constexpr uint64_t kDispatches = 16384;
    constexpr uint64_t kFileBytesPerDispatch = 64;
    constexpr uint64_t kDeviceBytes = uint64_t{2} << 30;
    constexpr uint64_t kDeviceBytesPerFileByte = 64;
    return {kDispatches + graph.file_bytes / kFileBytesPerDispatch,
            kDeviceBytes + graph.file_bytes * kDeviceBytesPerFileByte};
  }
};

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_PLAN_LIMITS_H_
