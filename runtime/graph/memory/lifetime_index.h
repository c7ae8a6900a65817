// Finds which of many lifetimes overlap one.
#ifndef SPIRLOOM_RUNTIME_GRAPH_MEMORY_LIFETIME_INDEX_H_
#define SPIRLOOM_RUNTIME_GRAPH_MEMORY_LIFETIME_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "runtime/graph/memory/memory_planner.h"

namespace spirloom::graph {

// A set of requests, by position in the list it is made for; empty at first. Adding one takes
// logarithmic time, and so does finding each that overlaps.
class LifetimeIndex {
 public:
  explicit LifetimeIndex(std::span<const MemoryRequest> requests);

  void Add(size_t request);
  // Calls `visit` for every request of the set that lives at one of the steps `first` to `last`.
  void ForEachOverlapping(uint32_t first, uint32_t last,
                          const std::function<void(size_t)>& visit) const;

 private:
  std::span<const MemoryRequest> requests_;
  std::vector<size_t> by_first_;  // requests in order of their first step
  std::vector<size_t> rank_;      // the place of each request in it
  // A tree over by_first_: node n has the children 2 n and 2 n + 1, the leaves begin at leaves_. A
  // node's value is one more than the greatest last step among requests of the set below it; 0:
  // none.
  std::vector<uint64_t> ends_;
  size_t leaves_ = 1;
};

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_MEMORY_LIFETIME_INDEX_H_
