// Interval index: finds the lifetimes that overlap a given one.
#ifndef SPIRLOOM_RUNTIME_GRAPH_MEMORY_LIFETIME_INDEX_H_
#define SPIRLOOM_RUNTIME_GRAPH_MEMORY_LIFETIME_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "runtime/graph/memory/memory_planner.h"

namespace spirloom::graph {

// A set of indices into `requests`, initially empty. Add() takes logarithmic time, and so does each
// overlapping request found.
class LifetimeIndex {
 public:
  explicit LifetimeIndex(std::span<const MemoryRequest> requests);

  void Add(size_t request);
  // Calls `visit` for every request of the set that is live at a step in [first, last].
  void ForEachOverlapping(uint32_t first, uint32_t last,
                          const std::function<void(size_t)>& visit) const;

 private:
  std::span<const MemoryRequest> requests_;
  std::vector<size_t> by_first_;  // request indices, sorted by first step
  std::vector<size_t> rank_;      // position of each request in by_first_
  // Binary tree over by_first_: node n has the children 2 n and 2 n + 1; leaves start at leaves_.
  // The value of a node is 1 + the maximum last step of the set's requests below it, or 0.
  std::vector<uint64_t> ends_;
  size_t leaves_ = 1;
};

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_MEMORY_LIFETIME_INDEX_H_
